"""Read data sets from files, folders, dataframes and standard input."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any, Literal, cast

from cordwood._base.labels import check_n_classes
from cordwood.datasets._batched_table import read_table_rows
from cordwood.datasets._row_errors import BadRowHandler
from cordwood.datasets._svmlight import read_svmlight
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.dataframe import is_dataframe, open_dataframe
from cordwood.datasets.file_source import (
    FORMATS,
    FileSource,
    Format,
    check_content,
    detect_format,
    expand_folders,
    read_file_rows,
)
from cordwood.datasets.lines import MAX_ROW_LENGTH, PathLike, Progress, display_name
from cordwood.datasets.rows import ColumnNames, Row, RowStream
from cordwood.exceptions import CordwoodError, DataError

__all__ = [
    "FORMATS",
    "ExtraColumns",
    "Format",
    "corpus_from_rows",
    "detect_format",
    "read_dataset",
    "stream_dataset",
]

ExtraColumns = Sequence[str] | Literal["all", "other"]

_MAX_STREAM_MESSAGES = 1000
_MAX_SHARED_VALUES = 10_000
_PROGRESS_UNITS = 1 << 20


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
    header: bool = True,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    n_features: int | None = None,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    max_bytes: int | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
    progress: Progress | None = None,
) -> Corpus | FeatureMatrix:
    """Read a data set into memory.

    Parameters
    ----------
    source : path, list of paths or dataframe
        One of

        - a file in CSV, TSV, JSON Lines, JSON or svmlight format, optionally compressed (``.gz``),
        - a Parquet, Arrow or Excel file, which needs the extra `files`, or an SQLite database,
        - a folder written by `save_to_disk` of Hugging Face `datasets`,
        - a folder with one folder per class and one file per text, ``<class>/<file>``, or a folder
          with a predefined split, ``train/<class>/<file>`` and ``test/<class>/<file>``,
        - a folder that contains only files of the formats above, or a list of paths, whose rows are
          concatenated,
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
    format : str, default=None
        Format of the file: "csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "sqlite",
        "huggingface", "folder" and "svmlight". If None, determined by its suffix: .csv, .tsv,
        .tab, .jsonl, .ndjson, .json, .parquet, .arrow, .feather, .xlsx, .xlsm, .sqlite, .sqlite3,
        .db, .svm, .svmlight, .libsvm; and by its content if the suffix is another one.
    delimiter : str, default=None
        Character between fields. If None, a tab in TSV; in CSV, a comma, semicolon, tab or bar,
        whichever separates the columns.
    header : bool, default=True
        Whether the first row of a CSV, TSV or Excel file has the names of the columns. If not,
        columns are named by their numbers, "1" for the first one.
    sheet : str, default=None
        Sheet of an Excel file. If None, the first one.
    table : str, default=None
        Table or view of an SQLite database. If None, the only one.
    query : str, default=None
        SELECT statement for an SQLite database, instead of `table`.
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
        given = {"format": format, "delimiter": delimiter, "n_features": n_features}
        given |= {"sheet": sheet, "table": table, "query": query}
        for option, value in given.items():
            if value is not None:
                raise CordwoodError(f"{option} applies to files only; leave it out for a {name}")
        rows = read_table_rows(open_dataframe(source), columns, bad_rows, numbers=count(0))
        dataset: Corpus | FeatureMatrix = _collect(rows, bad_rows, name)
    else:
        files = _make_files(
            source, format, columns, progress,
            encoding=encoding, delimiter=delimiter, header=header, sheet=sheet, table=table,
            query=query, n_features=n_features, max_bytes=max_bytes,
            max_row_length=max_row_length,
        )  # fmt: skip
        name = _name_files(files)
        if files[0].format == "svmlight":
            dataset = _read_svmlight(files, bad_rows)
        else:
            dataset = _collect(_read_files(files, bad_rows), bad_rows, name)
    if require_labels:
        check_n_classes(dataset.labels or (), name)
    return dataset


def stream_dataset(
    path: PathLike | Sequence[PathLike],
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
    header: bool = True,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    on_bad_rows: Literal["raise", "skip"] = "raise",
    max_bytes: int | None = None,
    max_row_length: int = MAX_ROW_LENGTH,
    progress: Progress | None = None,
) -> RowStream:
    """Read texts one row at a time, with memory for one row.

    Parameters
    ----------
    path : path or list of paths
        A file, a folder, a list of them, or ``"-"`` for standard input, as in `read_dataset`. Files
        in svmlight format cannot be streamed.
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
    format : str, default=None
        Format of the file: "csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "sqlite",
        "huggingface", or "folder". If None, determined by its suffix: .csv, .tsv,
        .tab, .jsonl, .ndjson, .json, .parquet, .arrow, .feather, .xlsx, .xlsm, .sqlite, .sqlite3,
        .db; and by its content if the suffix is another one.
    delimiter : str, default=None
        Character between fields. If None, a tab in TSV; in CSV, a comma, semicolon, tab or bar,
        whichever separates the columns.
    header : bool, default=True
        Whether the first row of a CSV, TSV or Excel file has the names of the columns. If not,
        columns are named by their numbers, "1" for the first one.
    sheet : str, default=None
        Sheet of an Excel file. If None, the first one.
    table : str, default=None
        Table or view of an SQLite database. If None, the only one.
    query : str, default=None
        SELECT statement for an SQLite database, instead of `table`.
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
    columns = _make_column_names(
        text, require_labels, extra_columns, label_separator,
        label=label, id=id, split=split, group=group, weight=weight, time=time,
    )  # fmt: skip
    files = _make_files(
        path, format, columns, progress,
        encoding=encoding, delimiter=delimiter, header=header, sheet=sheet, table=table,
        query=query, max_bytes=max_bytes, max_row_length=max_row_length,
    )  # fmt: skip
    name = _name_files(files)
    if files[0].format == "svmlight":
        raise CordwoodError(f"{name} has numeric features, which cannot be streamed")
    bad_rows = _make_handler(on_bad_rows, max_messages=_MAX_STREAM_MESSAGES)
    return RowStream(_require_rows(_read_files(files, bad_rows), bad_rows, name), bad_rows)


def _make_files(
    source: Any,
    format: Format | None,
    columns: ColumnNames,
    progress: Progress | None,
    **options: Any,
) -> list[FileSource]:
    """Return the files of a path or of a list of paths."""
    paths = list(source) if isinstance(source, list | tuple) else [source]
    if not paths:
        raise CordwoodError("source must have at least one path; got an empty list")
    paths = expand_folders(paths, format)
    formats = [detect_format(path, format) for path in paths]
    if len(paths) > 1 and "svmlight" in formats:
        other = next(path for path, kind in zip(paths, formats, strict=True) if kind == "svmlight")
        raise CordwoodError(
            f"{display_name(other)} is in svmlight format, of which only one file can be read; "
            "concatenate the files"
        )
    return [
        FileSource(
            path=path, format=kind, columns=columns, progress=_shift(progress, index, len(paths)),
            **options,
        )
        for index, (path, kind) in enumerate(zip(paths, formats, strict=True))
    ]  # fmt: skip


def _shift(progress: Progress | None, index: int, n_files: int) -> Progress | None:
    """Return a function that reports the progress of one of several files of unknown sizes."""
    if progress is None or n_files == 1:
        return progress

    def report(done: int, total: int | None) -> None:
        share = done / total if total else 0.0
        progress(int(_PROGRESS_UNITS * (index + share)), _PROGRESS_UNITS * n_files)

    return report


def _name_files(files: Sequence[FileSource]) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0].name}{more}"


def _read_files(files: Sequence[FileSource], bad_rows: BadRowHandler) -> Iterator[Row]:
    """Yield the rows of all files; the first row of each file must have the same parts."""
    numbers = count(1)
    first_parts: dict[str, bool] | None = None
    for file in files:
        rows = read_file_rows(file, bad_rows, numbers)
        for row in islice(rows, 1):
            parts = {
                "split": row.split is not None,
                "group": row.group is not None,
                "list of labels": isinstance(row.label, tuple),
            }
            first_parts = parts if first_parts is None else first_parts
            for part, is_present in parts.items():
                if is_present != first_parts[part]:
                    has = ("no ", "") if first_parts[part] else ("", "no ")
                    raise DataError(
                        f"{file.name} has {has[0]}{part}, but the files before it have "
                        f"{has[1]}{part}; read the files separately"
                    )
            yield row
        yield from rows


def _read_svmlight(files: Sequence[FileSource], bad_rows: BadRowHandler) -> FeatureMatrix:
    (file,) = files
    return read_svmlight(
        file.path,
        bad_rows,
        labeled=file.columns.labeled,
        n_features=file.n_features,
        progress=file.progress,
        max_bytes=file.max_bytes,
        check=lambda content: check_content(file, content),
    )


def _collect(rows: Iterator[Row], bad_rows: BadRowHandler, name: str) -> Corpus:
    corpus = corpus_from_rows(_require_rows(rows, bad_rows, name), bad_rows.messages)
    return replace(corpus, notes=tuple(bad_rows.notes))


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
        if row.columns:
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
