"""Reading of data: tables, and files of other labelling tools, recognized by their keys."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cordwood._base.wording import count, shorten_line
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.file_source import detect_format
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.readers import stream_dataset
from cordwood.datasets.registry import load_dataset
from cordwood.datasets.rows import list_names
from cordwood.exceptions import DataError
from cordwood.labelling.formats import label_studio, prodigy
from cordwood.labelling.samples import PLACEHOLDERS, Row, parse_labels, parse_votes

_PREFIX = "dataset:"
_LABELS = ("label", "labels")


class LabelData(NamedTuple):
    """The rows of all files."""

    rows: tuple[Row, ...]
    text_columns: tuple[str, ...]
    label: str  # name of the column of the labels
    suggestions: tuple[str, ...]  # names of their columns
    notes: tuple[str, ...]


def read_rows(
    paths: Sequence[str],
    options: ReadOptions,
    *,
    is_multilabel: bool,
    suggestions: Sequence[str] = (),
    data_dir: Path | None = None,
) -> LabelData:
    """Read the rows of several files, each of its own format."""
    rows: list[Row] = []
    notes: list[str] = []
    label = options.label
    for path in paths:
        reader = _Reader(path, options, is_multilabel, suggestions, data_dir, notes)
        rows += reader.read()
        label = label or reader.label
    return LabelData(
        tuple(rows),
        options.text_columns,
        label or _LABELS[0],
        tuple(suggestions),
        tuple(notes),
    )


@dataclass
class _Reader:
    """Reads one file."""

    path: str
    options: ReadOptions
    is_multilabel: bool
    suggestions: Sequence[str]
    data_dir: Path | None
    notes: list[str]
    label: str | None = None

    def read(self) -> list[Row]:
        """Return the rows of the file, without those that a model has labelled."""
        if self.path == STANDARD_INPUT:
            raise DataError("labelling reads the data again when it resumes; give a file, not -")
        rows = self._read()
        for row in rows:
            for each in row.annotations:
                if len(each.labels) > 1 and not self.is_multilabel:
                    raise DataError(
                        f"{self.path} has {len(each.labels)} labels for the text "
                        f"{shorten_line(row.text[:100], 40)!r}; give --multilabel"
                    )
        return rows

    def _read(self) -> list[Row]:
        if self.path.startswith(_PREFIX):
            data = load_dataset(self.path.removeprefix(_PREFIX), data_dir=self.data_dir)
            return [row for _, row in self._read_dataset(data)]
        if detect_format(self.path, self.options.format) == "svmlight":
            raise DataError(f"{self.path} has numbers instead of texts, which cannot be labelled")
        plain = replace(
            self.options,
            text=(),
            extra_columns="all",
            require_labels=False,
            label=None,
            label_separator=None,
        )
        first = next(stream_dataset(self.path, plain)).columns
        if label_studio.matches(first):
            key = " ".join(self.options.text or ()) or None
            return [
                label_studio.read(row.columns, self._place(row.id), text=key)
                for row in self._stream(plain)
            ]
        if prodigy.matches(first):
            return [prodigy.read(row.columns, self._place(row.id)) for row in self._stream(plain)]
        return self._read_table(replace(plain, text=self.options.text_columns))

    def _stream(self, options: ReadOptions) -> Iterator[Any]:
        stream = stream_dataset(self.path, options)
        yield from stream
        if stream.n_skipped:
            rows = count(stream.n_skipped, "invalid row")
            self.notes.append(f"{self.path}: {rows} skipped; the first: {stream.skipped[0]}")

    def _read_table(self, options: ReadOptions) -> list[Row]:
        rows, is_predicted = [], []
        for row in self._stream(options):
            label = self._find_label(row.columns)
            value = None if label is None else row.columns.get(label)
            is_predicted.append(value not in PLACEHOLDERS)
            rows.append(self._make_row(row.text, row.columns, value, self._place(row.id)))
        self._check_suggestions(rows)
        if all(is_predicted):
            return rows
        # What `cordwood predict` decided is no label; what it left undecided is to be labelled.
        kept = [row for row, predicted in zip(rows, is_predicted, strict=True) if not predicted]
        self.notes.append(
            f"{self.path}: {count(len(kept), 'undecided text')}; the predicted labels of "
            f"{count(len(rows) - len(kept), 'other row')} are left out"
        )
        return kept

    def _check_suggestions(self, rows: Sequence[Row]) -> None:
        names = {name: None for row in rows for name in row.columns}
        for name in self.suggestions:
            if not any(each == name or each.startswith(f"{name}:") for each in names):
                raise DataError(
                    f"{self.path} has no column {name!r} for --suggestions; its columns are: "
                    f"{list_names(names)}"
                )

    def _read_dataset(self, data: Corpus | FeatureMatrix) -> Iterator[tuple[str, Row]]:
        if not isinstance(data, Corpus):
            raise DataError(f"{self.path} has numbers instead of texts, which cannot be labelled")
        labels = data.labels or [None] * len(data)
        for id, text, label in zip(data.ids, data.texts, labels, strict=True):
            yield id, self._make_row(text, {"text": text}, label, self._place(id))

    def _make_row(self, text: str, columns: Mapping[str, Any], value: Any, where: str) -> Row:
        separator = self.options.label_separator or ";"
        labels = parse_labels(value, where, is_multilabel=self.is_multilabel, separator=separator)
        return Row(text, columns, labels, votes=parse_votes(columns, self.suggestions, where))

    def _find_label(self, columns: Mapping[str, Any]) -> str | None:
        if self.label is None:
            names = _LABELS if self.options.label is None else (self.options.label,)
            self.label = next((name for name in names if name in columns), None)
        return self.label

    def _place(self, id: str) -> str:
        return f"{self.path}, row {id}"
