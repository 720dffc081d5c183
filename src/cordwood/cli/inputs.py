"""Reading of the argument DATA, for all commands that have it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import typer

from cordwood._base.wording import count, show_label
from cordwood.cli.console import Console
from cordwood.datasets import readers
from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_split_labels
from cordwood.datasets.csv_records import DELIMITERS, Dialect, find_dialect
from cordwood.datasets.file_source import detect_format, expand_folders
from cordwood.datasets.lines import STANDARD_INPUT, open_bytes
from cordwood.datasets.options import ExtraColumns, ReadOptions
from cordwood.datasets.registry import load_dataset
from cordwood.datasets.rows import RowStream
from cordwood.datasets.values import InvalidValue, TimeParser
from cordwood.exceptions import DataError

PREFIX = "dataset:"

# Columns that are stored in the model file, and how its files are written, by the formats that
# have it.
_MODEL_COLUMNS = ("text", "label", "id", "label_separator")
_MODEL_OPTIONS = {
    "encoding": ("csv", "tsv", "json", "jsonl"),
    "delimiter": ("csv",),
    "sheet": ("excel",),
}
_CSV = ("csv", "tsv")
_MAX_SHOWN_ROWS = 10
_OPTIONS_OF_NAMED = ("group", "encoding", "on_bad_rows")
_FORMATS_WITHOUT_COLUMNS = ("folder", "svmlight")

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """The argument DATA of a command with its reading options."""

    data: str | Sequence[str]
    options: ReadOptions
    data_dir: Path | None = None
    subset: str | None = None  # of the predefined split
    # Limits of the times, --before and --since, of commands that have these options.
    period: tuple[str | None, str | None] | None = None

    def __post_init__(self) -> None:
        given = [name for name in self.options.given if name not in _OPTIONS_OF_NAMED]
        if self.dataset is not None and given:
            option = "no-header" if given[0] == "header" else given[0].replace("_", "-")
            raise typer.BadParameter(f"--{option} does not apply to {self.name}; omit it")
        for path in self.paths if len(self.paths) > 1 else ():
            if path.startswith(PREFIX) or path == STANDARD_INPUT:
                raise typer.BadParameter(
                    f"{path} cannot be combined with other files; give it alone"
                )
        if self.period is not None and self.options.time is not None and not self._limits:
            raise typer.BadParameter(
                "--time requires --before or --since; `cordwood compare --quick --time` trains on "
                "the past and tests on the future"
            )
        if self._limits and self.options.time is None:
            raise typer.BadParameter(f"--{min(self._limits)} requires --time COLUMN")

    @property
    def paths(self) -> list[str]:
        """Files, folders, or one name of a data set."""
        return [self.data] if isinstance(self.data, str) else list(self.data)

    @property
    def name(self) -> str:
        """Name of the data for messages."""
        first, *more = self.paths
        return f"{first} and {count(len(more), 'more file')}" if more else first

    @property
    def record(self) -> str | list[str]:
        """Name of the data for JSON output: a string, or a list of several."""
        return self.paths[0] if len(self.paths) == 1 else self.paths

    @property
    def dataset(self) -> str | None:
        """Name of the data set, or None for a file."""
        first = self.paths[0]
        return first.removeprefix(PREFIX) if first.startswith(PREFIX) else None

    @property
    def columns(self) -> dict[str, Any]:
        """Columns and properties of files that were given, to be stored in the model file."""
        given = self.options.given
        stored = (*_MODEL_COLUMNS, *_MODEL_OPTIONS)
        found = {name: given[name] for name in stored if name in given}
        return found | ({"text": list(found["text"])} if "text" in found else {})

    @property
    def has_columns(self) -> bool:
        """Whether the data have named columns."""
        return self.dataset is None and self._format() not in _FORMATS_WITHOUT_COLUMNS

    def with_columns(self, columns: Mapping[str, Any]) -> Self:
        """Return a copy that reads the columns of a model, unless others were given.

        A byte order mark, and a delimiter that separates the columns, precede what the model knows.
        """
        if not self.has_columns:
            return self
        format = self._format()
        known = {name: columns[name] for name in _MODEL_COLUMNS if name in columns}
        for name, formats in _MODEL_OPTIONS.items():
            if name in columns and format in formats:
                known[name] = columns[name]
        if known.get("delimiter") in DELIMITERS and self.options.header:
            del known["delimiter"]
        dialect = self.find_dialect() if "encoding" in known else None
        if dialect is not None and dialect.has_mark:
            del known["encoding"]
        return replace(self, options=replace(self.options, **{**known, **self.columns}))

    def find_dialect(self) -> Dialect | None:
        """Return how the first file is written; None unless it is a CSV or TSV file."""
        if self.dataset is not None or self.paths[0] == STANDARD_INPUT:
            return None
        path = expand_folders(self.paths[:1], self.options.format)[0]
        format = detect_format(path, self.options.format)
        if format not in _CSV or not Path(path).is_file():  # a pipe can be read only once
            return None
        with open_bytes(path, max_bytes=self.options.max_bytes) as content:
            return find_dialect(content.peek(), format, self.options)  # type: ignore[attr-defined]

    def with_table(self, columns: ExtraColumns) -> Self:
        """Return a copy that reads columns of a table instead of texts."""
        return replace(self, options=replace(self.options, text=(), extra_columns=columns))

    def read(self, console: Console, *, two_classes: bool) -> Corpus | FeatureMatrix:
        """Read all labelled samples of the subset, of at least two classes if these are needed."""
        options = self.options
        with console.progress(f"reading {self.name}") as progress:
            if self.dataset is not None:
                samples = self._load(progress)
            elif two_classes or self._format() == "svmlight":
                samples = readers.read_dataset(self.paths, options, progress=progress)
            else:
                samples = readers.read_corpus(self.paths, options, progress)
        if options.label_separator is not None and not samples.multilabel:
            samples = with_split_labels(samples, options.label_separator)
        samples = self._select_times(samples)
        if self.subset is None:
            return samples
        try:
            return samples.subset(self.subset)
        except ValueError as error:
            raise DataError(f"{self.name}: {error}") from error

    def open(
        self, progress: Progress | None, *, extra_columns: ExtraColumns = ()
    ) -> RowStream | Corpus | FeatureMatrix:
        """Open the samples without their labels; text files are streamed.

        `extra_columns` are read from files that have columns, instead of those of a table.
        """
        if self.dataset is not None:
            return self._load(progress)
        format = self._format()
        options = replace(
            self.options, require_labels=False, label=None, label_separator=None, group=None
        )
        if format not in _FORMATS_WITHOUT_COLUMNS and extra_columns:
            options = replace(options, extra_columns=extra_columns)
        open_file = readers.read_dataset if format == "svmlight" else readers.stream_dataset
        return open_file(self.paths, options, progress=progress)

    def show(self, console: Console, samples: Corpus | FeatureMatrix) -> None:
        """Print a summary of the samples and the number of skipped rows."""
        subset = "" if self.subset is None else f", subset {self.subset}"
        console.field("read", f"{self.name}{subset}: {_summarize(samples)}")
        for note in samples.notes:
            console.field("note", note)
        if self.subset is None and samples.split is not None:
            subsets = ", ".join(
                f"{name} ({n:,})" for name, n in Counter(samples.split).most_common()
            )
            console.field("split", f"all subsets are used; --subset selects one of: {subsets}")
        if samples.skipped:
            console.field("skipped", skipped_message(samples.skipped))

    def _load(self, progress: Progress | None) -> Corpus | FeatureMatrix:
        return load_dataset(
            str(self.dataset),
            data_dir=self.data_dir,
            group=self.options.group,
            progress=progress,
        )

    def _format(self) -> str:
        first = expand_folders(self.paths[:1], self.options.format)[0]
        return detect_format(first, self.options.format)

    @property
    def _limits(self) -> dict[str, str]:
        """Limits of the times that were given."""
        limits = zip(("before", "since"), self.period or (), strict=False)
        return {name: value for name, value in limits if value is not None}

    def _select_times(self, samples: Corpus | FeatureMatrix) -> Corpus | FeatureMatrix:
        """Select the samples in the range of the options --before and --since."""
        if not self._limits:
            return samples
        times = cast(tuple[Any, ...], samples.times)
        parse = TimeParser()
        parse(times[0])  # determines whether times are dates
        chosen: Any = np.ones(len(samples), dtype=bool)
        for name, value in self._limits.items():
            try:
                limit: Any = parse(value)
            except InvalidValue:
                kind = "an ISO 8601 date" if isinstance(times[0], datetime) else "a number"
                raise typer.BadParameter(
                    f"--{name} must be {kind}, as the times of the data are; got {value}"
                ) from None
            is_before = np.array([time < limit for time in times])
            chosen &= is_before if name == "before" else ~is_before
        if not chosen.any():
            shown = " and ".join(f"--{name} {value}" for name, value in self._limits.items())
            raise DataError(
                f"{self.name} has no samples with {shown}; the times are from {min(times)} to "
                f"{max(times)}"
            )
        return samples.select(np.flatnonzero(chosen))


def iter_batches(
    samples: RowStream | Corpus | FeatureMatrix, size: int
) -> Iterator[Corpus | FeatureMatrix]:
    """Yield batches of at most `size` samples, in their order."""
    if isinstance(samples, RowStream):
        while batch := list(islice(samples, size)):
            yield readers.corpus_from_rows(batch)
        return
    for start in range(0, len(samples), size):
        yield samples.select(range(start, min(start + size, len(samples))))


def skipped_message(skipped: Sequence[str], n_skipped: int | None = None) -> str:
    """Format the number of skipped rows and the errors of the first."""
    n_skipped = len(skipped) if n_skipped is None else n_skipped
    n_more = n_skipped - len(skipped[:_MAX_SHOWN_ROWS])
    more = f"; and {n_more:,} more" if n_more else ""
    # Only the first of them has the name of the file.
    name = skipped[0].partition(", ")[0]
    others = [each.removeprefix(f"{name}, ") for each in skipped[1:_MAX_SHOWN_ROWS]]
    return f"{count(n_skipped, 'invalid row')}: {'; '.join([skipped[0], *others])}{more}"


def _summarize(samples: Corpus | FeatureMatrix) -> str:
    found = count(len(samples), "text" if isinstance(samples, Corpus) else "sample")
    if isinstance(samples, FeatureMatrix):
        found += f" with {count(samples.X.shape[1], 'feature')}"
    if samples.multilabel:
        n_labels = Counter(chain.from_iterable(samples.labels or ()))
        mean = n_labels.total() / max(len(samples), 1)
        return f"{found}, {count(len(n_labels), 'label')}, {mean:.1f} per sample"
    counts = Counter(samples.labels).most_common()
    (most, n_most), (least, n_least) = counts[0], counts[-1]
    if len(counts) == 1:
        return f"{found}, all of class {show_label(most)}"
    if n_most == n_least:
        return f"{found}, {len(counts):,} classes of {n_most:,}"
    return (
        f"{found}, {len(counts):,} classes "
        f"(largest: {show_label(most)}, {n_most:,}; smallest: {show_label(least)}, {n_least:,})"
    )
