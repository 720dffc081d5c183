"""Reading of the argument DATA, for all commands that have it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any, Self, cast

import numpy as np
import typer

from cordwood.cli.console import Console, count
from cordwood.cli.options import ReadOptions
from cordwood.datasets import readers
from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_split_labels
from cordwood.datasets.file_source import expand_folders
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.datasets.registry import load_dataset
from cordwood.datasets.rows import RowStream
from cordwood.datasets.values import InvalidValue, TimeParser
from cordwood.exceptions import DataError

PREFIX = "dataset:"

_COLUMNS = ("text", "label", "id", "label_separator")
_FILE_OPTIONS = (
    "format",
    "delimiter",
    "no_header",
    "sheet",
    "table",
    "query",
    "n_features",
    "max_bytes",
    "max_row_length",
)
_FORMATS_WITHOUT_COLUMNS = ("folder", "svmlight")

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Data file or data set with its reading options.

    Parameters
    ----------
    data : str or sequence of str
        Argument DATA, one or several files.
    options : ReadOptions
        Reading options; the record of the command.
    subset : str, optional
        Subset of the predefined split to use.
    extra_columns : sequence of str or "other", default=()
        Columns of a table to read instead of the texts.
    """

    data: str | Sequence[str]
    options: ReadOptions
    subset: str | None = None
    extra_columns: readers.ExtraColumns = ()

    def __post_init__(self) -> None:
        names = (*_FILE_OPTIONS, "weight", "time")
        given = [*self.columns, *(name for name in names if getattr(self.options, name, None))]
        if self.dataset is not None and given:
            option = given[0].replace("_", "-")
            raise typer.BadParameter(f"--{option} does not apply to {self.name}; omit it")
        for path in self.paths if len(self.paths) > 1 else ():
            if path.startswith(PREFIX) or path == STANDARD_INPUT:
                raise typer.BadParameter(
                    f"{path} cannot be combined with other files; give it alone"
                )

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
        """Columns that were given, to be stored in the model file."""
        found = {name: getattr(self.options, name, None) for name in _COLUMNS}
        return {name: column for name, column in found.items() if column}

    @property
    def has_columns(self) -> bool:
        """Whether the data have named columns."""
        return self.dataset is None and self._format() not in _FORMATS_WITHOUT_COLUMNS

    def with_columns(self, columns: Mapping[str, Any]) -> Self:
        """Return a copy that reads the columns of a model, unless others were given."""
        if not self.has_columns:
            return self
        known = {
            name: columns[name]
            for name in _COLUMNS
            if name in columns and hasattr(self.options, name)
        }
        return replace(self, options=replace(self.options, **{**known, **self.columns}))

    def read(self, console: Console, *, two_classes: bool) -> Corpus | FeatureMatrix:
        """Read all labelled samples of the subset.

        Parameters
        ----------
        console : Console
            Shows the progress.
        two_classes : bool
            Whether to raise if there is only one class.
        """
        with console.progress(f"reading {self.name}") as progress:
            if self.dataset is not None:
                samples = self._load(progress)
            elif two_classes or self._format() == "svmlight":
                samples = readers.read_dataset(
                    self.paths, progress=progress, **self._file_options(labelled=True)
                )
            else:
                stream = readers.stream_dataset(
                    self.paths, progress=progress, **self._file_options(labelled=True)
                )
                samples = readers.corpus_from_rows(stream)
                samples = replace(samples, skipped=stream.skipped, notes=stream.notes)
        separator = getattr(self.options, "label_separator", None)
        if separator is not None and not samples.multilabel:
            samples = with_split_labels(samples, separator)
        samples = self._select_times(samples)
        if self.subset is None:
            return samples
        try:
            return samples.subset(self.subset)
        except ValueError as error:
            raise DataError(f"{self.name}: {error}") from error

    def open(
        self, progress: Progress | None, *, extra_columns: readers.ExtraColumns = ()
    ) -> RowStream | Corpus | FeatureMatrix:
        """Open the samples without their labels; text files are streamed.

        `extra_columns` are read from files that have columns.
        """
        if self.dataset is not None:
            return self._load(progress)
        format = self._format()
        options = self._file_options(labelled=False)
        if format not in _FORMATS_WITHOUT_COLUMNS:
            options["extra_columns"] = extra_columns or self.extra_columns
        open_file = readers.read_dataset if format == "svmlight" else readers.stream_dataset
        return open_file(self.paths, require_labels=False, progress=progress, **options)

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
            console.field("skipped", skipped_message(len(samples.skipped), samples.skipped[0]))

    def _load(self, progress: Progress | None) -> Corpus | FeatureMatrix:
        return load_dataset(
            str(self.dataset),
            data_dir=self.options.data_dir,
            group=getattr(self.options, "group", None),
            progress=progress,
        )

    def _format(self) -> str:
        first = expand_folders(self.paths[:1], cast(Any, self.options.format))[0]
        return readers.detect_format(first, cast(Any, self.options.format))

    def _file_options(self, *, labelled: bool) -> dict[str, Any]:
        options = self.options
        names = ["text", "id", *_FILE_OPTIONS]
        if labelled:
            names += ["label", "label_separator", "group", "weight", "time"]
        given = {name: getattr(options, name, None) for name in names}
        has_header = not given.pop("no_header")
        if self.extra_columns:
            given |= {"text": [], "extra_columns": self.extra_columns}
        return {
            **{name: value for name, value in given.items() if value is not None},
            "header": has_header,
            "encoding": options.encoding,
            "on_bad_rows": options.on_bad_rows.value,
        }

    def _select_times(self, samples: Corpus | FeatureMatrix) -> Corpus | FeatureMatrix:
        """Select the samples in the range of the options --before and --since."""
        limits = {
            name: value
            for name in ("before", "since")
            if (value := getattr(self.options, name, None)) is not None
        }
        if not limits:
            if hasattr(self.options, "before") and samples.times is not None:
                raise typer.BadParameter(
                    "--time requires --before or --since; `cordwood compare --quick --time` trains "
                    "on the past and tests on the future"
                )
            return samples
        if samples.times is None:
            raise typer.BadParameter(f"--{min(limits)} requires --time COLUMN")
        parse = TimeParser()
        parse(samples.times[0])  # determines whether times are dates
        chosen: Any = np.ones(len(samples), dtype=bool)
        for name, value in limits.items():
            try:
                limit: Any = parse(value)
            except InvalidValue:
                kind = "an ISO 8601 date" if isinstance(samples.times[0], datetime) else "a number"
                raise typer.BadParameter(
                    f"--{name} must be {kind}, as the times of the data are; got {value}"
                ) from None
            is_before = np.array([time < limit for time in cast(Any, samples.times)])
            chosen &= is_before if name == "before" else ~is_before
        if not chosen.any():
            shown = " and ".join(f"--{name} {value}" for name, value in limits.items())
            raise DataError(
                f"{self.name} has no samples with {shown}; the times are from "
                f"{min(cast(Any, samples.times))} to {max(cast(Any, samples.times))}"
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


def skipped_message(n_skipped: int, first: str) -> str:
    """Format the number of skipped rows and the error of the first."""
    return f"{count(n_skipped, 'invalid row')}{', the first' if n_skipped > 1 else ''}: {first}"


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
        return f"{found}, all of class {most}"
    if n_most == n_least:
        return f"{found}, {len(counts):,} classes of {n_most:,}"
    return (
        f"{found}, {len(counts):,} classes "
        f"(largest: {most}, {n_most:,}; smallest: {least}, {n_least:,})"
    )
