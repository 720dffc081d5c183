"""Where rows come from: what DATA and its options mean, for every command that reads."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self, cast

import typer

from cordwood.cli.commands import Evaluate, Predict, Train
from cordwood.cli.console import Console, count
from cordwood.cli.options import OnBadRows
from cordwood.datasets import readers
from cordwood.datasets._rows import RowStream
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.registry import load_dataset
from cordwood.exceptions import DataError

PREFIX = "dataset:"

_COLUMNS = ("text", "label", "id")
_WITHOUT_COLUMNS = ("folder", "svmlight")

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """DATA and the options that say how to read it; None leaves it to the reader."""

    data: str
    text: list[str] | None = None
    label: str | None = None
    id: str | None = None
    part: str | None = None
    encoding: str = "utf-8"
    format: str | None = None
    delimiter: str | None = None
    on_bad_rows: OnBadRows = OnBadRows.RAISE
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        given = [name for name in (*_COLUMNS, "format", "delimiter") if getattr(self, name)]
        if self.dataset is not None and given:
            raise typer.BadParameter(f"{self.data} needs no --{given[0]}; leave it out")

    @classmethod
    def of(cls, asked: Train | Predict | Evaluate) -> Self:
        """Take what a command was asked to read; its options are called as the fields are."""
        names = [field.name for field in fields(cls) if hasattr(asked, field.name)]
        return cls(**{name: getattr(asked, name) for name in names})

    @property
    def dataset(self) -> str | None:
        """The name of the data set that was asked for, if it was not a file."""
        return self.data.removeprefix(PREFIX) if self.data.startswith(PREFIX) else None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that were named, for a model to remember."""
        return {name: column for name in _COLUMNS if (column := getattr(self, name))}

    def remember(self, columns: Mapping[str, Any]) -> Self:
        """Fill in the columns that a model was trained on where none were named."""
        if self.dataset is not None or self._format() in _WITHOUT_COLUMNS:
            return self
        known = {name: columns[name] for name in _COLUMNS if name in columns}
        return replace(self, **{**known, **self.columns})

    def read(self, console: Console, *, two_classes: bool) -> Corpus | FeatureMatrix:
        """Read all rows, with their labels, and keep those of the part that was asked for."""
        with console.progress(f"reading {self.data}") as progress:
            if self.dataset is not None:
                rows = load_dataset(self.dataset, data_dir=self.data_dir, progress=progress)
            elif two_classes or self._format() == "svmlight":
                rows = readers.read_dataset(
                    self.data, label=self.label, progress=progress, **self._how()
                )
            else:
                stream = readers.stream_dataset(
                    self.data, label=self.label, progress=progress, **self._how()
                )
                rows = readers.corpus_from_rows(stream)
                rows = replace(rows, skipped=stream.skipped)
        if self.part is None:
            return rows
        try:
            return rows.subset(self.part)
        except ValueError as error:
            raise DataError(f"{self.data}: {error}") from error

    def open(self, progress: Progress | None) -> RowStream | Corpus | FeatureMatrix:
        """Give the rows without their labels; a file of documents is not read before its turn."""
        if self.dataset is not None:
            return load_dataset(self.dataset, data_dir=self.data_dir, progress=progress)
        open_file = readers.read_dataset if self._format() == "svmlight" else readers.stream_dataset
        return open_file(self.data, require_labels=False, progress=progress, **self._how())

    def show(self, console: Console, rows: Corpus | FeatureMatrix) -> None:
        """Say what was read and what was left out."""
        part = "" if self.part is None else f", part {self.part}"
        console.fact("read", f"{self.data}{part}: {_summary(rows)}")
        if self.part is None and rows.split is not None:
            parts = ", ".join(f"{name} ({n:,})" for name, n in Counter(rows.split).most_common())
            console.fact("split", f"all parts are used; --part keeps one of: {parts}")
        if rows.skipped:
            console.fact("skipped", skipped_sentence(len(rows.skipped), rows.skipped[0]))

    def _format(self) -> str:
        return readers.detect_format(self.data, cast(Any, self.format))

    def _how(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "id": self.id,
            "encoding": self.encoding,
            "format": self.format,
            "delimiter": self.delimiter,
            "on_bad_rows": self.on_bad_rows.value,
        }


def batches(
    rows: RowStream | Corpus | FeatureMatrix, size: int
) -> Iterator[Corpus | FeatureMatrix]:
    """Cut rows into batches of at most `size`, in their order."""
    if isinstance(rows, RowStream):
        while batch := list(islice(rows, size)):
            yield readers.corpus_from_rows(batch)
        return
    for start in range(0, len(rows), size):
        yield rows.select(range(start, min(start + size, len(rows))))


def skipped_sentence(n_skipped: int, first: str) -> str:
    """Say how many bad rows were left out, and what was wrong with the first."""
    return f"{count(n_skipped, 'bad row')}{', the first' if n_skipped > 1 else ''}: {first}"


def _summary(rows: Corpus | FeatureMatrix) -> str:
    found = (
        count(len(rows), "document")
        if isinstance(rows, Corpus)
        else f"{count(len(rows), 'row')} of {count(rows.X.shape[1], 'number')}"
    )
    if rows.multilabel:
        return f"{found}, each with several labels or none"
    counts = Counter(rows.labels).most_common()
    (most, n_most), (least, n_least) = counts[0], counts[-1]
    if len(counts) == 1:
        return f"{found}, all of class {most}"
    if n_most == n_least:
        return f"{found}, {len(counts):,} classes of {n_most:,}"
    return (
        f"{found}, {len(counts):,} classes "
        f"(largest: {most}, {n_most:,}; smallest: {least}, {n_least:,})"
    )
