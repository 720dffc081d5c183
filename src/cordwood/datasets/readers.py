"""Read data sets from files, folders, dataframes and standard input."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any

from cordwood._base.labels import check_n_classes
from cordwood.datasets._batched_table import read_table_rows
from cordwood.datasets._row_errors import BadRowHandler
from cordwood.datasets._svmlight import read_svmlight
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.dataframe import is_dataframe, open_dataframe
from cordwood.datasets.file_source import (
    FileSource,
    check_content,
    detect_format,
    expand_folders,
    read_file_rows,
)
from cordwood.datasets.lines import PathLike, Progress, display_name
from cordwood.datasets.options import ReadOptions, change_options
from cordwood.datasets.rows import Row, RowStream
from cordwood.exceptions import CordwoodError, DataError

_MAX_STREAM_MESSAGES = 1000
_MAX_SHARED_VALUES = 10_000
_PROGRESS_UNITS = 1 << 20
# Options that a dataframe cannot have.
_FILE_OPTIONS = ("format", "delimiter", "n_features", "sheet", "table", "query")


def read_dataset(
    source: Any,
    options: ReadOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: Any,
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
    options : ReadOptions, default=None
        How to read it. If None, the defaults of `cordwood.datasets.ReadOptions`.
    progress : callable, default=None
        Called repeatedly with the number of bytes read and the size of the file, or None if the
        size is unknown. Not called for dataframes.
    **keywords
        Options of `cordwood.datasets.ReadOptions`, which replace those of `options`: `text`,
        `label`, `label_separator`, `id`, `group`, `split`, `weight`, `time`, `extra_columns`,
        `require_labels`, `format`, `encoding`, `delimiter`, `header`, `sheet`, `table`, `query`,
        `on_bad_rows`, `n_features`, `max_bytes` and `max_row_length`.

    Returns
    -------
    Corpus or FeatureMatrix
        A `FeatureMatrix` if the format is svmlight, otherwise a `Corpus`. Column ``j`` of the
        matrix is feature ``j`` of the file, whether indices start at 0 or at 1. Its attribute
        `skipped` has a message for each invalid row that was skipped.

    Raises
    ------
    DataError
        If the data are invalid. The message names the line (or row) and the column.

    See Also
    --------
    cordwood.datasets.ReadOptions : All options and their defaults.
    cordwood.datasets.stream_dataset : Read one row at a time.
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
    options = change_options(options, keywords)
    bad_rows = BadRowHandler(skip=options.on_bad_rows == "skip", defer=sys.maxsize)
    if is_dataframe(source):
        name = type(source).__name__
        for option in options.given:
            if option in _FILE_OPTIONS:
                raise CordwoodError(f"{option} applies to files only; leave it out for a {name}")
        rows = read_table_rows(open_dataframe(source), options, bad_rows, count(0))
        dataset: Corpus | FeatureMatrix = _collect(rows, bad_rows, name)
    else:
        files = _make_files(source, options, progress)
        name = _name_files(files)
        if files[0].format == "svmlight":
            (file,) = files
            dataset = read_svmlight(
                file.path, options, bad_rows, progress, lambda content: check_content(file, content)
            )
        else:
            dataset = _collect(_read_files(files, bad_rows), bad_rows, name)
    bad_rows.finish()
    if options.require_labels:
        check_n_classes(dataset.labels or (), name)
    return dataset


def read_corpus(
    paths: Sequence[PathLike], options: ReadOptions, progress: Progress | None = None
) -> Corpus:
    """Read labelled texts, which may be of one class, into memory."""
    bad_rows = BadRowHandler(skip=options.on_bad_rows == "skip", defer=sys.maxsize)
    files = _make_files(paths, options, progress)
    corpus = _collect(_read_files(files, bad_rows), bad_rows, _name_files(files))
    bad_rows.finish()
    return corpus


def stream_dataset(
    path: PathLike | Sequence[PathLike],
    options: ReadOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: Any,
) -> RowStream:
    """Read texts one row at a time, with memory for one row.

    Parameters
    ----------
    path : path or list of paths
        A file, a folder, a list of them, or ``"-"`` for standard input, as in `read_dataset`. Files
        in svmlight format cannot be streamed.
    options : ReadOptions, default=None
        How to read it. If None, the defaults of `ReadOptions`.
    progress : callable, default=None
        Called repeatedly with the number of bytes read and the size of the file, or None if the
        size is unknown.
    **keywords
        Options of `ReadOptions`, which replace those of `options`, as in `read_dataset`.

    Returns
    -------
    RowStream
        An iterator of rows with the attributes `id`, `text`, `label`, `split`, `group`, `weight`,
        `time` and `columns`. The file is opened for the first row, and closed after the last row
        or by `close`. The stream counts skipped rows in `n_skipped` and has messages for the
        first 1000 in `skipped`.

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
    options = change_options(options, keywords)
    files = _make_files(path, options, progress)
    name = _name_files(files)
    if files[0].format == "svmlight":
        raise CordwoodError(f"{name} has numeric features, which cannot be streamed")
    # A stream must not need memory for each invalid row.
    bad_rows = BadRowHandler(skip=options.on_bad_rows == "skip", max_messages=_MAX_STREAM_MESSAGES)
    return RowStream(_require_rows(_read_files(files, bad_rows), bad_rows, name), bad_rows)


def _make_files(source: Any, options: ReadOptions, progress: Progress | None) -> list[FileSource]:
    """Return the files of a path or of a list of paths."""
    paths = list(source) if isinstance(source, list | tuple) else [source]
    if not paths:
        raise CordwoodError("source must have at least one path; got an empty list")
    paths = expand_folders(paths, options.format)
    formats = [detect_format(path, options.format) for path in paths]
    if len(paths) > 1 and "svmlight" in formats:
        other = paths[formats.index("svmlight")]
        raise CordwoodError(
            f"{display_name(other)} is in svmlight format, of which only one file can be read; "
            "concatenate the files"
        )
    return [
        FileSource(
            path=path,
            format=format,
            options=options,
            progress=_shift(progress, index, len(paths)),
        )
        for index, (path, format) in enumerate(zip(paths, formats, strict=True))
    ]


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


def _collect(rows: Iterator[Row], bad_rows: BadRowHandler, name: str) -> Corpus:
    corpus = corpus_from_rows(_require_rows(rows, bad_rows, name), bad_rows.messages)
    return replace(corpus, notes=tuple(bad_rows.notes))


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
    """Collect rows, of which there must be at least one, into a corpus."""
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
