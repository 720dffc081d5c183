"""Reading data files: the only place that chooses between the formats.

What comes out, a `Corpus`, a `FeatureMatrix` or a stream of rows, knows nothing of files any more.
"""

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cordwood.datasets._csv import csv_rows
from cordwood.datasets._folder import folder_rows
from cordwood.datasets._jsonl import json_rows
from cordwood.datasets._lines import (
    STANDARD_INPUT,
    Lines,
    PathLike,
    Progress,
    check_encoding,
    display_name,
    open_bytes,
)
from cordwood.datasets._row_errors import BadRows
from cordwood.datasets._rows import Columns, Row, RowStream
from cordwood.datasets._svmlight import read_svmlight
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError

Format = Literal["csv", "tsv", "jsonl", "folder", "svmlight"]
FORMATS: tuple[Format, ...] = ("csv", "tsv", "jsonl", "folder", "svmlight")

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
_DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
_WITH_COLUMNS: tuple[Format, ...] = ("csv", "tsv", "jsonl")
_STREAM_SENTENCES = 1000


def read_dataset(
    path: PathLike,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    group: str | None = None,
    require_labels: bool = True,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    n_features: int | None = None,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    progress: Progress | None = None,
) -> Corpus | FeatureMatrix:
    """Read a data file, or a folder of class folders, into memory.

    Parameters
    ----------
    path : path
        A file, also packed as ``.gz``; a folder ``<class>/<file>``, or ``train/<class>/<file>``
        beside ``test/<class>/<file>``; or ``"-"`` for standard input, with `format`.
    text : str or sequence of str, optional
        The column of the text, "text" by default. Several columns are joined by a newline.
    label : str, optional
        The column of the label. By default "label", or in JSON lines also "labels", where labels
        are required; otherwise none is read. A list in JSON lines gives a tuple of labels.
    id, split, group : str, optional
        Columns of these parts of a row. By default the columns of these names, if there are such;
        without ids, rows are numbered from 1 in the order of the file.
    require_labels : bool
        Whether to read labels, of two classes at least, though `label` does not ask for them.
    encoding : str
        How the file's text is encoded. A byte order mark is dropped.
    format : {"csv", "tsv", "jsonl", "folder", "svmlight"}, optional
        By default what the name says: .csv, .tsv, .tab, .jsonl, .ndjson, .svm, .svmlight, .libsvm.
    delimiter : str, optional
        The character between the fields of a row; a comma in csv, a tab in tsv by default.
    n_features : int, optional
        The number of columns of a matrix that is to fit a model. By default the file decides.
    on_bad_rows : {"raise", "skip"}
        Whether to raise at the first bad row, or to leave bad rows out, with a sentence for each
        in the record's `skipped`. An empty text is no fault; a blank line is no row.
    progress : callable, optional
        Told ``(done, total)`` in bytes now and then; the total is None where nobody knows it.

    Returns
    -------
    Corpus or FeatureMatrix
        A `FeatureMatrix` of svmlight rows, whose column ``j`` is feature ``j`` of the file, whether it
        counts from 0 or from 1; a `Corpus` of anything else.

    Raises
    ------
    DataError
        If the file is not what it is said to be, in one sentence that names the place.

    See Also
    --------
    stream : One row at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "pets.csv")
    ...     _ = file.write_text("title,body,topic\\nTom,purrs,cat\\nRex,barks,dog\\n")
    ...     corpus = read_dataset(file, text=["title", "body"], label="topic")
    >>> corpus.texts
    ('Tom\\npurrs', 'Rex\\nbarks')
    >>> corpus.labels
    ('cat', 'dog')
    """
    source = _Source(
        path=path,
        format=detect_format(path, format),
        columns=_choose_columns(text, label, id, split, group, require_labels),
        encoding=encoding,
        delimiter=delimiter,
        n_features=n_features,
        progress=progress,
    )
    bad_rows = _handle(on_bad_rows)
    if source.format == "svmlight":
        rows: Corpus | FeatureMatrix = read_svmlight(
            path,
            bad_rows,
            labelled=source.columns.labelled,
            n_features=n_features,
            progress=progress,
        )
    else:
        rows = collect(_documents(source, bad_rows), bad_rows.sentences)
    if require_labels:
        _check_classes(rows, display_name(path))
    return rows


def stream(
    path: PathLike,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    group: str | None = None,
    require_labels: bool = True,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    progress: Progress | None = None,
) -> RowStream:
    """Read documents one at a time, however large the file.

    Parameters are those of `read`. Rows of numbers (svmlight) cannot be streamed; use `read`.
    Bad rows that are left out are counted in the stream's `n_skipped`, with a sentence for each
    of the first 1000 in `skipped`.

    Returns
    -------
    RowStream
        An iterator of `Row`. The file is opened for the first row, and closed after the last or
        by `close`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "pets.jsonl")
    ...     _ = file.write_text('{"text": "purrs"}\\n{"text": "barks"}\\n')
    ...     [(row.id, row.text) for row in stream(file, require_labels=False)]
    [('1', 'purrs'), ('2', 'barks')]
    """
    source = _Source(
        path=path,
        format=detect_format(path, format),
        columns=_choose_columns(text, label, id, split, group, require_labels),
        encoding=encoding,
        delimiter=delimiter,
        progress=progress,
    )
    if source.format == "svmlight":
        raise CordwoodError(f"{display_name(path)} holds numbers; read them whole, with read")
    bad_rows = _handle(on_bad_rows, most_sentences=_STREAM_SENTENCES)
    return RowStream(_documents(source, bad_rows), bad_rows)


def detect_format(path: PathLike, format: Format | None = None) -> Format:
    """Tell a file's format from its name, unless `format` says it.

    Examples
    --------
    >>> detect_format("-", "csv")
    'csv'
    """
    name = display_name(path)
    if format is not None and format not in FORMATS:
        raise CordwoodError(f"there is no format {format!r}; the formats are: {', '.join(FORMATS)}")
    if path == STANDARD_INPUT:
        if format is None or format == "folder":
            raise CordwoodError(f"say what {name} holds with format= / --format, such as csv")
        return format
    if not os.path.exists(path):
        raise DataError(f"{name} does not exist; check the name and the folder it is in")
    is_folder = os.path.isdir(path)
    if format is not None and is_folder != (format == "folder"):
        kind = "a folder, not a file" if is_folder else "a file, not a folder"
        raise DataError(f"{name} is {kind}; leave out format= / --format, or name another path")
    if format is not None or is_folder:
        return format or "folder"
    suffix = os.path.splitext(name.lower().removesuffix(".gz"))[1]
    if suffix not in _SUFFIXES:
        raise DataError(
            f"{name} does not tell its format by its name ({', '.join(_SUFFIXES)}, each also with "
            f".gz); say it with format= / --format, one of: {', '.join(FORMATS)}"
        )
    return _SUFFIXES[suffix]


@dataclass(frozen=True, kw_only=True)
class _Source:
    """A file, and what was asked of it."""

    path: PathLike
    format: Format
    columns: Columns
    encoding: str
    delimiter: str | None
    n_features: int | None = None
    progress: Progress | None

    def __post_init__(self) -> None:
        check_encoding(self.encoding)
        if self.format not in _WITH_COLUMNS and (named := self.columns.named):
            self._refuse(named[0])
        if self.delimiter is not None and self.format not in _DELIMITERS:
            self._refuse("delimiter")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise CordwoodError(
                f"the delimiter is {self.delimiter!r}, but must be one character other than a "
                "quote or a line end; for tabs, use format='tsv' / --format tsv"
            )
        if self.n_features is not None and self.format != "svmlight":
            raise CordwoodError("n_features is for svmlight files only; leave it out")

    def _refuse(self, option: str) -> None:
        raise CordwoodError(
            f"{display_name(self.path)} is read as {self.format}, which has no {option}; leave out "
            f"{option}= / --{option}, or say another format"
        )


def _choose_columns(
    text: str | Sequence[str] | None,
    label: str | None,
    id: str | None,
    split: str | None,
    group: str | None,
    require_labels: bool,
) -> Columns:
    if text is not None and not text:
        raise CordwoodError("text names no column; name one or more with text= / --text")
    return Columns(
        text=(text,) if isinstance(text, str) else None if text is None else tuple(text),
        label=label,
        labelled=require_labels or label is not None,
        id=id,
        split=split,
        group=group,
    )


def _handle(on_bad_rows: str, most_sentences: int | None = None) -> BadRows:
    if on_bad_rows not in ("raise", "skip"):
        raise CordwoodError(f"on_bad_rows is {on_bad_rows!r}, but must be 'raise' or 'skip'")
    return BadRows(skip=on_bad_rows == "skip", most_sentences=most_sentences)


def _documents(source: _Source, bad_rows: BadRows) -> Generator[Row, None, None]:
    n_rows = 0
    for row in _rows(source, bad_rows):
        n_rows += 1
        yield row
    if n_rows == 0:
        bad_rows.refuse_all(display_name(source.path))


def _rows(source: _Source, bad_rows: BadRows) -> Iterator[Row]:
    if source.format == "folder":
        yield from folder_rows(
            source.path,
            bad_rows,
            labelled=source.columns.labelled,
            encoding=source.encoding,
            progress=source.progress,
        )
        return
    with open_bytes(source.path, source.progress) as file:
        lines = Lines(file, display_name(source.path), source.encoding)
        if source.format == "jsonl":
            yield from json_rows(lines, source.columns, bad_rows)
        else:
            delimiter = source.delimiter or _DELIMITERS[source.format]
            yield from csv_rows(lines, source.columns, bad_rows, delimiter)


def collect(rows: Iterable[Row], skipped: Iterable[str] = ()) -> Corpus:
    """Make a corpus of rows, and of sentences about those that were left out."""
    ids, texts, labels, split, groups, _ = zip(*rows, strict=True)
    return Corpus(
        texts=texts,
        ids=ids,
        labels=None if labels[0] is None else labels,
        split=None if split[0] is None else split,
        groups=None if groups[0] is None else groups,
        skipped=tuple(skipped),
    )


def _check_classes(rows: Corpus | FeatureMatrix, name: str) -> None:
    classes = set(rows.labels or ())
    if len(classes) == 1:
        (only,) = classes
        label = ", ".join(only) if isinstance(only, tuple) else only
        raise DataError(
            f'all {len(rows)} rows of {name} have the same label, "{label}"; to tell classes apart '
            "there must be two or more"
        )
