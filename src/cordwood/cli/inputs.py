"""Reading of the argument DATA, for all commands that have it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Self, cast

import typer

from cordwood.cli.console import Console, count
from cordwood.cli.options import ReadOptions
from cordwood.datasets import readers
from cordwood.datasets._rows import RowStream
from cordwood.datasets.corpus import Corpus, FeatureMatrix, split_labels
from cordwood.datasets.registry import load_dataset
from cordwood.exceptions import DataError

PREFIX = "dataset:"

_COLUMNS = ("text", "label", "id", "label_separator")
_FILE_OPTIONS = ("format", "delimiter", "n_features", "max_bytes", "max_row_length")
_FORMATS_WITHOUT_COLUMNS = ("folder", "svmlight")

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Data file or data set with its reading options.

    Parameters
    ----------
    data : str
        Argument DATA.
    options : ReadOptions
        Reading options; the record of the command.
    subset : str, optional
        Subset of the predefined split to use.
    """

    data: str
    options: ReadOptions
    subset: str | None = None

    def __post_init__(self) -> None:
        given = [*self.columns, *(n for n in _FILE_OPTIONS if getattr(self.options, n))]
        if self.dataset is not None and given:
            option = given[0].replace("_", "-")
            raise typer.BadParameter(f"--{option} does not apply to {self.data}; omit it")

    @property
    def dataset(self) -> str | None:
        """Name of the data set, or None for a file."""
        return self.data.removeprefix(PREFIX) if self.data.startswith(PREFIX) else None

    @property
    def label(self) -> str | None:
        """Column with the label, if given."""
        return getattr(self.options, "label", None)

    @property
    def columns(self) -> dict[str, Any]:
        """Columns that were given, to be stored in the model file."""
        found = {name: getattr(self.options, name, None) for name in _COLUMNS}
        return {name: column for name, column in found.items() if column}

    def with_columns(self, columns: Mapping[str, Any]) -> Self:
        """Return a copy that reads the columns of a model, unless others were given."""
        if self.dataset is not None or self._format() in _FORMATS_WITHOUT_COLUMNS:
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
        with console.progress(f"reading {self.data}") as progress:
            if self.dataset is not None:
                samples = load_dataset(
                    self.dataset, data_dir=self.options.data_dir, progress=progress
                )
            elif two_classes or self._format() == "svmlight":
                samples = readers.read_dataset(
                    self.data, label=self.label, progress=progress, **self._file_options()
                )
            else:
                stream = readers.stream_dataset(
                    self.data, label=self.label, progress=progress, **self._file_options()
                )
                samples = replace(readers.corpus_from_rows(stream), skipped=stream.skipped)
        separator = getattr(self.options, "label_separator", None)
        if separator is not None and not samples.multilabel:
            samples = split_labels(samples, separator)
        if self.subset is None:
            return samples
        try:
            return samples.subset(self.subset)
        except ValueError as error:
            raise DataError(f"{self.data}: {error}") from error

    def open(self, progress: Progress | None) -> RowStream | Corpus | FeatureMatrix:
        """Open the samples without their labels; text files are streamed."""
        if self.dataset is not None:
            return load_dataset(self.dataset, data_dir=self.options.data_dir, progress=progress)
        open_file = readers.read_dataset if self._format() == "svmlight" else readers.stream_dataset
        return open_file(self.data, require_labels=False, progress=progress, **self._file_options())

    def show(self, console: Console, samples: Corpus | FeatureMatrix) -> None:
        """Print a summary of the samples and the number of skipped rows."""
        subset = "" if self.subset is None else f", subset {self.subset}"
        console.field("read", f"{self.data}{subset}: {_summarize(samples)}")
        if self.subset is None and samples.split is not None:
            subsets = ", ".join(
                f"{name} ({n:,})" for name, n in Counter(samples.split).most_common()
            )
            console.field("split", f"all subsets are used; --subset selects one of: {subsets}")
        if samples.skipped:
            console.field("skipped", skipped_message(len(samples.skipped), samples.skipped[0]))

    def _format(self) -> str:
        return readers.detect_format(self.data, cast(Any, self.options.format))

    def _file_options(self) -> dict[str, Any]:
        options = self.options
        given = {name: getattr(options, name) for name in ("text", "id", *_FILE_OPTIONS)}
        return {
            **{name: value for name, value in given.items() if value is not None},
            "encoding": options.encoding,
            "on_bad_rows": options.on_bad_rows.value,
        }


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
