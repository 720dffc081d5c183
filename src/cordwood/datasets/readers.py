"""Read data sets from files, folders, dataframes and standard input."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, cast

from cordwood._labels import check_n_classes
from cordwood.datasets._batched_table import read_table_rows
from cordwood.datasets._csv import read_csv_rows
from cordwood.datasets._dataframe import is_dataframe, open_dataframe
from cordwood.datasets._folder import read_folder_rows
from cordwood.datasets._jsonl import read_jsonl_rows
from cordwood.datasets._lines import (
    MAX_ROW_LENGTH,
    STANDARD_INPUT,
    Lines,
    PathLike,
    Progress,
    check_encoding,
    display_name,
    open_bytes,
)
from cordwood.datasets._row_errors import BadRowHandler
from cordwood.datasets._rows import ColumnNames, Row, RowStream
from cordwood.datasets._svmlight import read_svmlight
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError

Format = Literal["csv", "tsv", "jsonl", "folder", "svmlight"]
FORMATS: tuple[Format, ...] = ("csv", "tsv", "jsonl", "folder", "svmlight")

ExtraColumns = Sequence[str] | Literal["all", "other"]

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
_FORMATS_WITH_COLUMNS: tuple[Format, ...] = ("csv", "tsv", "jsonl")
_MAX_STREAM_MESSAGES = 1000
_MAX_SHARED_VALUES = 10_000


def read_dataset(
    source: Any,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    extra_columns: ExtraColumns = (),
    label_separator: str | None = None,
    require_labels: bool = True,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    n_features: int | None = None,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    max_bytes: int | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
    progress: Progress | None = None,
) -> Corpus | FeatureMatrix:
    """Read a data set into memory.

    Parameters
    ----------
    source : path or dataframe
        One of

        - a file in CSV, TSV, JSON Lines or svmlight format, optionally compressed (``.gz``),
        - a folder with one folder per class and one file per text, ``<class>/<file>``, or a folder
          with a predefined split, ``train/<class>/<file>`` and ``test/<class>/<file>``,
        - ``"-"`` for standard input, which requires `format`,
        - a dataframe of pandas or polars, a table of pyarrow, a mapping of names to columns, or,
          if pyarrow is installed, any object with the Arrow PyCapsule interface.
    text : str or sequence of str, default=None
        Column of the text; None means "text". Several columns are joined by newlines.
    label : str, default=None
        Column of the label. If None, "label" if `require_labels`, or "labels" if there is no
        column "label" (JSON Lines and dataframes only); without `require_labels`, no labels are
        read. A list of labels is read as a tuple of labels.
    id : str, default=None
        Column of the id. If None, the column "id" if there is one; otherwise rows are numbered,
        those of files from 1 and those of dataframes from 0.
    split : str, default=None
        Column with the subset of a predefined split, such as "train" or "test". If None, the
        column "split" if there is one.
    group : str, default=None
        Column of the group. If None, the column "group" if there is one.
    weight : str, default=None
        Column of the sample weight, numbers of at least 0. If None, there are no weights.
    time : str, default=None
        Column of the time of a row: numbers, or dates in ISO 8601 format. If None, there are no
        times.
    extra_columns : sequence of str, "all" or "other", default=()
        Further columns to read: those named; all columns; or those that are not the label, the id,
        the split, the group, the weight or the time. Only with these may `text` be empty.
    label_separator : str, default=None
        String between the labels of a row, such as ";". If None, a string is one label.
    require_labels : bool, default=True
        Whether to read labels, and to raise an error if there are fewer than two classes.
    encoding : str, default="utf-8"
        Text encoding of the file. A byte order mark is removed.
    format : {"csv", "tsv", "jsonl", "folder", "svmlight"}, default=None
        Format of the file. If None, determined by its suffix: .csv, .tsv, .tab, .jsonl, .ndjson,
        .svm, .svmlight, .libsvm.
    delimiter : str, default=None
        Character between fields. If None, a comma in CSV and a tab in TSV.
    n_features : int, default=None
        Number of columns of the matrix that is read from an svmlight file. If None, the largest
        index plus one. Larger indices are errors.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether to raise an error for the first invalid row, or to skip invalid rows and list them
        in the attribute `skipped` of the result. Empty texts are valid; blank lines are ignored.
    max_bytes : int, default=None
        Largest size of a compressed file after decompression. If None, 20 times its size, and at
        least 16 MiB. Files that are not compressed have no limit.
    max_row_length : int, default=2**26
        Largest number of characters of a row: of a line in JSON Lines, of a file in a folder.
    progress : callable, default=None
        Called repeatedly with the number of bytes read and the size of the file, or None if the
        size is unknown. Not called for dataframes.

    Returns
    -------
    Corpus or FeatureMatrix
        A `FeatureMatrix` if the format is svmlight, otherwise a `Corpus`. Column ``j`` of the
        matrix is feature ``j`` of the file, whether indices start at 0 or at 1.

    Raises
    ------
    DataError
        If the data are invalid. The message names the line (or row) and the column.

    See Also
    --------
    stream_dataset : Read one row at a time.
    cordwood.datasets.load_dataset : Load a data set by name.

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

    From a dataframe, with an error that names the row and the column:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"body": ["it purrs", "it barks"], "topic": ["cat", None]})
    >>> read_dataset(frame, text="body", label="topic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    cordwood.exceptions.DataError: DataFrame, row 1: the label (column "topic") is missing ...
    """
    columns = _make_column_names(
        text, require_labels, extra_columns, label_separator,
        label=label, id=id, split=split, group=group, weight=weight, time=time,
    )  # fmt: skip
    bad_rows = _make_handler(on_bad_rows)
    if is_dataframe(source):
        name = type(source).__name__
        for option, value in (
            ("format", format),
            ("delimiter", delimiter),
            ("n_features", n_features),
        ):
            if value is not None:
                raise CordwoodError(f"{option} applies to files only; leave it out for a {name}")
        rows = read_table_rows(open_dataframe(source), columns, bad_rows)
        dataset: Corpus | FeatureMatrix = corpus_from_rows(
            _require_rows(rows, bad_rows, name), bad_rows.messages
        )
    else:
        file = _FileSource(
            path=source,
            format=detect_format(source, format),
            columns=columns,
            encoding=encoding,
            delimiter=delimiter,
            n_features=n_features,
            max_bytes=max_bytes,
            max_row_length=max_row_length,
            progress=progress,
        )
        name = display_name(source)
        if file.format == "svmlight":
            dataset = read_svmlight(
                source,
                bad_rows,
                labeled=columns.labeled,
                n_features=n_features,
                progress=progress,
                max_bytes=max_bytes,
            )
        else:
            rows = _require_rows(_read_rows(file, bad_rows), bad_rows, name)
            dataset = corpus_from_rows(rows, bad_rows.messages)
    if require_labels:
        check_n_classes(dataset.labels or (), name)
    return dataset


def stream_dataset(
    path: PathLike,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    extra_columns: ExtraColumns = (),
    label_separator: str | None = None,
    require_labels: bool = True,
    encoding: str = "utf-8",
    format: Format | None = None,
    delimiter: str | None = None,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    max_bytes: int | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
    progress: Progress | None = None,
) -> RowStream:
    """Read texts one row at a time, with memory for one row.

    Parameters
    ----------
    path : path
        A file in CSV, TSV or JSON Lines format, optionally compressed (``.gz``); a folder with one
        folder per class and one file per text; or ``"-"`` for standard input, which requires
        `format`. Files in svmlight format cannot be streamed; use `read_dataset`.
    text : str or sequence of str, default=None
        Column of the text; None means "text". Several columns are joined by newlines.
    label : str, default=None
        Column of the label. If None, "label" if `require_labels`, or "labels" if there is no
        column "label" (JSON Lines only); without `require_labels`, no labels are read. A list of
        labels is read as a tuple of labels.
    id : str, default=None
        Column of the id. If None, the column "id" if there is one; otherwise rows are numbered
        from 1.
    split : str, default=None
        Column with the subset of a predefined split, such as "train" or "test". If None, the
        column "split" if there is one.
    group : str, default=None
        Column of the group. If None, the column "group" if there is one.
    weight : str, default=None
        Column of the sample weight, numbers of at least 0. If None, there are no weights.
    time : str, default=None
        Column of the time of a row: numbers, or dates in ISO 8601 format. If None, there are no
        times.
    extra_columns : sequence of str, "all" or "other", default=()
        Further columns to read: those named; all columns; or those that are not the label, the id,
        the split, the group, the weight or the time. Only with these may `text` be empty.
    label_separator : str, default=None
        String between the labels of a row, such as ";". If None, a string is one label.
    require_labels : bool, default=True
        Whether to read labels.
    encoding : str, default="utf-8"
        Text encoding of the file. A byte order mark is removed.
    format : {"csv", "tsv", "jsonl", "folder"}, default=None
        Format of the file. If None, determined by its suffix: .csv, .tsv, .tab, .jsonl, .ndjson.
    delimiter : str, default=None
        Character between fields. If None, a comma in CSV and a tab in TSV.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether to raise an error at the first invalid row, or to skip invalid rows. The stream
        counts them in `n_skipped` and has messages for the first 1000 in `skipped`.
    max_bytes : int, default=None
        Largest size of a compressed file after decompression. If None, 20 times its size, and at
        least 16 MiB. Files that are not compressed have no limit.
    max_row_length : int, default=2**26
        Largest number of characters of a row: of a line in JSON Lines, of a file in a folder.
    progress : callable, default=None
        Called repeatedly with the number of bytes read and the size of the file, or None if the
        size is unknown.

    Returns
    -------
    RowStream
        An iterator of rows with the attributes `id`, `text`, `label`, `split`, `group`, `weight`,
        `time` and `columns`. The file is opened for the first row, and closed after the last row
        or by `close`.

    Raises
    ------
    DataError
        If the data are invalid. The message names the line and the column.

    See Also
    --------
    read_dataset : Read all rows into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "pets.jsonl")
    ...     _ = file.write_text('{"text": "purrs"}\\n{"text": "barks"}\\n')
    ...     [(row.id, row.text) for row in stream_dataset(file, require_labels=False)]
    [('1', 'purrs'), ('2', 'barks')]
    """
    file = _FileSource(
        path=path,
        format=detect_format(path, format),
        columns=_make_column_names(
            text,
            require_labels,
            extra_columns,
            label_separator,
            label=label,
            id=id,
            split=split,
            group=group,
            weight=weight,
            time=time,
        ),  # fmt: skip
        encoding=encoding,
        delimiter=delimiter,
        max_bytes=max_bytes,
        max_row_length=max_row_length,
        progress=progress,
    )
    name = display_name(path)
    if file.format == "svmlight":
        raise CordwoodError(f"{name} has numeric features, which cannot be streamed")
    bad_rows = _make_handler(on_bad_rows, max_messages=_MAX_STREAM_MESSAGES)
    return RowStream(_require_rows(_read_rows(file, bad_rows), bad_rows, name), bad_rows)


def detect_format(path: PathLike, format: Format | None = None) -> Format:
    """Determine the format of a file by its suffix, unless `format` is given.

    Parameters
    ----------
    path : path
        A file, a folder, or ``"-"`` for standard input.
    format : {"csv", "tsv", "jsonl", "folder", "svmlight"}, default=None
        The format, which is only checked.

    Returns
    -------
    {"csv", "tsv", "jsonl", "folder", "svmlight"}

    Raises
    ------
    CordwoodError
        If the format is unknown or does not apply to `path`.
    DataError
        If there is no such file, or if its suffix is unknown.

    Examples
    --------
    >>> detect_format("-", "csv")
    'csv'
    """
    if not isinstance(path, str | os.PathLike):
        raise CordwoodError(
            f"source must be a path or a dataframe; got an object of type {type(path).__name__}"
        )
    name = display_name(path)
    if format is not None and format not in FORMATS:
        raise CordwoodError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    if path == STANDARD_INPUT:
        if format is None or format == "folder":
            raise CordwoodError(f"set the format of {name} with format= / --format, such as csv")
        return format
    if not os.path.exists(path):
        raise DataError(f"{name} does not exist; check the path")
    is_folder = os.path.isdir(path)
    if format is not None and is_folder != (format == "folder"):
        kind = "a folder, not a file" if is_folder else "a file, not a folder"
        raise DataError(f"{name} is {kind}; leave out format= / --format, or use another path")
    if format is not None or is_folder:
        return format or "folder"
    suffix = os.path.splitext(name.lower().removesuffix(".gz"))[1]
    if suffix not in _SUFFIXES:
        raise DataError(
            f"the format of {name} cannot be determined by its suffix ({', '.join(_SUFFIXES)}, "
            f"optionally with .gz); set it with format= / --format to one of: {', '.join(FORMATS)}"
        )
    return _SUFFIXES[suffix]


@dataclass(frozen=True, kw_only=True)
class _FileSource:
    """A file or folder and its reading options, which are validated on construction."""

    path: PathLike
    format: Format
    columns: ColumnNames
    encoding: str
    delimiter: str | None
    n_features: int | None = None
    max_bytes: int | None
    max_row_length: int
    progress: Progress | None

    def __post_init__(self) -> None:
        check_encoding(self.encoding)
        if self.format not in _FORMATS_WITH_COLUMNS and (given := self.columns.given):
            self._reject(given[0])
        if self.delimiter is not None and self.format not in _DELIMITERS:
            self._reject("delimiter")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise CordwoodError(
                "delimiter must be one character other than a quote or a line end (for tabs, use "
                f"format='tsv' / --format tsv); got {self.delimiter!r}"
            )
        if self.n_features is not None and self.format != "svmlight":
            raise CordwoodError("n_features applies to svmlight files only; leave it out")
        for name in ("n_features", "max_bytes", "max_row_length"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Integral) and int(value) >= 1):
                raise CordwoodError(f"{name} must be a positive integer; got {value!r}")

    def _reject(self, option: str) -> None:
        raise CordwoodError(
            f"{display_name(self.path)} is in {self.format} format, which has no {option}; leave "
            f"out {option}= / --{option}, or set another format"
        )


def _make_column_names(
    text: str | Sequence[str] | None,
    require_labels: bool,
    extra: ExtraColumns,
    label_separator: str | None,
    **parts: str | None,
) -> ColumnNames:
    if isinstance(extra, str) and extra not in ("all", "other"):
        raise CordwoodError(
            f"extra_columns must be a list of columns, 'all' or 'other'; got {extra!r}"
        )
    if text is not None and not text and not extra:
        raise CordwoodError("text must name at least one column; got none")
    if label_separator is not None and not label_separator.strip():
        raise CordwoodError(
            f"label_separator must be a string such as ';'; got {label_separator!r}"
        )
    return ColumnNames(
        text=(text,) if isinstance(text, str) else None if text is None else tuple(text),
        labeled=require_labels or parts["label"] is not None,
        extra=cast(Any, extra if isinstance(extra, str) else tuple(extra)),
        label_separator=label_separator,
        **cast(Any, parts),
    )


def _make_handler(on_bad_rows: str, max_messages: int | None = None) -> BadRowHandler:
    if on_bad_rows not in ("raise", "skip"):
        raise CordwoodError(f"on_bad_rows must be 'raise' or 'skip'; got {on_bad_rows!r}")
    return BadRowHandler(skip=on_bad_rows == "skip", max_messages=max_messages)


def _require_rows(
    rows: Iterator[Row], bad_rows: BadRowHandler, name: str
) -> Generator[Row, None, None]:
    """Yield the rows, and raise an error if all have been skipped."""
    n_samples = 0
    for row in rows:
        n_samples += 1
        yield row
    if n_samples == 0:
        bad_rows.raise_all_skipped(name)


def _read_rows(file: _FileSource, bad_rows: BadRowHandler) -> Iterator[Row]:
    if file.format == "folder":
        yield from read_folder_rows(
            file.path,
            bad_rows,
            labeled=file.columns.labeled,
            encoding=file.encoding,
            progress=file.progress,
            max_bytes=file.max_bytes,
            max_row_length=file.max_row_length,
        )
        return
    with open_bytes(file.path, file.progress, max_bytes=file.max_bytes) as content:
        lines = Lines(content, display_name(file.path), file.encoding, file.max_row_length)
        if file.format == "jsonl":
            yield from read_jsonl_rows(lines, file.columns, bad_rows)
        else:
            delimiter = file.delimiter or _DELIMITERS[file.format]
            yield from read_csv_rows(lines, file.columns, bad_rows, delimiter)


def corpus_from_rows(rows: Iterable[Row], skipped: Iterable[str] = ()) -> Corpus:
    """Collect rows into a corpus.

    Parameters
    ----------
    rows : iterable of Row
        At least one row.
    skipped : iterable of str, default=()
        Messages about skipped rows.

    Returns
    -------
    Corpus
    """
    # Not zip(*rows), which holds all rows in memory in addition to their values.
    ids: list[str] = []
    texts: list[str] = []
    labels: list[Any] = []
    split: list[Any] = []
    groups: list[Any] = []
    weights: list[Any] = []
    times: list[Any] = []
    columns = _ColumnCollector()
    unique: dict[Any, Any] = {}  # one object per label, however many rows have it
    for row in rows:
        columns.add(row.columns, len(ids))
        ids.append(row.id)
        texts.append(row.text)
        labels.append(unique.setdefault(row.label, row.label))
        split.append(unique.setdefault(row.split, row.split))
        groups.append(row.group)
        weights.append(row.weight)
        times.append(row.time)
    return Corpus(
        texts=tuple(texts),
        ids=tuple(ids),
        labels=None if labels[0] is None else tuple(labels),
        split=None if split[0] is None else tuple(split),
        groups=None if groups[0] is None else tuple(groups),
        weights=None if weights[0] is None else tuple(weights),
        times=None if times[0] is None else tuple(times),
        columns=columns.finish(len(ids)),
        skipped=tuple(skipped),
    )


class _ColumnCollector:
    """Collects the values of further columns; a column that a row does not have is None."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {}
        self._known: dict[str, str] = {}

    def add(self, values: Mapping[str, Any], n_before: int) -> None:
        """Add the values of the row after `n_before` rows."""
        for name, value in values.items():
            column = self._columns.setdefault(name, [])
            column.extend(None for _ in range(n_before - len(column)))
            column.append(self._share(value))

    def finish(self, n_samples: int) -> dict[str, tuple[Any, ...]]:
        """Return the columns."""
        return {
            name: (*column, *(None for _ in range(n_samples - len(column))))
            for name, column in self._columns.items()
        }

    def _share(self, value: Any) -> Any:
        """Return one object for equal strings, because columns often have few distinct values."""
        if not isinstance(value, str):
            return value
        if len(self._known) < _MAX_SHARED_VALUES:
            return self._known.setdefault(value, value)
        return self._known.get(value, value)
