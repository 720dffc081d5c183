"""Parquet and Arrow files, and folders of Hugging Face `datasets`, as tables.

They are read in record batches, so that a file may be larger than memory. Class labels of Hugging
Face, which are stored as numbers, are converted to their names.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cordwood._base import strict_json
from cordwood.datasets._arrow_sizes import check_messages, check_pages, decoded_size
from cordwood.datasets._batched_table import BatchedTable, ColumnBatch
from cordwood.datasets._optional import import_extra
from cordwood.datasets.lines import Budget, PathLike, Progress, unreadable_error
from cordwood.exceptions import DataError

_BATCH_SIZE = 1000
_ARROW_MAGIC = b"ARROW1"
_FILE_START = 8  # the signature and two bytes of padding
_MAX_JSON_BYTES = 1 << 24

Convert = Callable[[Any], Any]


def is_huggingface_folder(folder: PathLike) -> bool:
    """Return whether a folder was written by `save_to_disk` of Hugging Face `datasets`."""
    root = Path(folder)
    is_dataset = (root / "state.json").is_file() and (root / "dataset_info.json").is_file()
    return is_dataset or (root / "dataset_dict.json").is_file()


def open_parquet(
    path: PathLike, *, progress: Progress | None = None, max_bytes: int | None = None
) -> BatchedTable:
    """Open a Parquet file, whose rows are numbered from 1."""
    name = os.fspath(path)
    parquet = import_extra("pyarrow.parquet", "Parquet files", package="pyarrow")
    with _arrow_errors(name, "Parquet"):
        schema = parquet.read_schema(name)
        names = list(schema.names)

    def iter_batches(columns: list[str]) -> Iterator[ColumnBatch]:
        convert = _class_label_converters(schema)
        start = 1
        with _arrow_errors(name, "Parquet"):
            # Names with dots would select fields of structs.
            selected = [_path(schema, names.index(column)) for column in columns]
            for batch in _iter_record_batches(name, selected, progress, max_bytes):
                yield _to_batch(batch, columns, start, convert, name)
                start += batch.num_rows

    return BatchedTable(name=name, columns=names, iter_batches=iter_batches)


def iter_parquet_tables(
    path: PathLike, *, progress: Progress | None = None, max_bytes: int | None = None
) -> Iterator[Any]:
    """Yield an empty table of pyarrow, which has the schema, then one for each batch of rows."""
    name = os.fspath(path)
    arrow = import_extra("pyarrow", "Parquet files")
    parquet = import_extra("pyarrow.parquet", "Parquet files", package="pyarrow")
    with _arrow_errors(name, "Parquet"):
        schema = parquet.read_schema(name)
        selected = [_path(schema, index) for index in range(len(schema))]
        yield schema.empty_table()
        for batch in _iter_record_batches(name, selected, progress, max_bytes):
            # Columns that were read as dictionaries have their own type again.
            yield arrow.Table.from_batches([batch]).cast(schema)


def _iter_record_batches(
    name: str, selected: list[str], progress: Progress | None, max_bytes: int | None
) -> Iterator[Any]:
    """Yield the record batches of a Parquet file, after a check of their sizes."""
    parquet = import_extra("pyarrow.parquet", "Parquet files", package="pyarrow")
    size = os.path.getsize(name)
    checked = check_pages(parquet, name, selected, Budget(name, size, max_bytes))
    budget = Budget(name, size, max_bytes)
    file = parquet.ParquetFile(name, read_dictionary=checked.dictionaries)
    n_samples, n_read = file.metadata.num_rows, 0
    for batch in file.iter_batches(checked.batch_size, columns=selected):
        budget.spend(decoded_size(batch))
        yield batch
        n_read += batch.num_rows
        if progress is not None and n_samples:
            progress(min(size * n_read // n_samples, size), size)


def open_arrow(
    path: PathLike, *, progress: Progress | None = None, max_bytes: int | None = None
) -> BatchedTable:
    """Open a file in Arrow IPC format, of the file or of the stream kind."""
    name = os.fspath(path)
    return _open_arrow_files([name], name, {}, progress, max_bytes)


def open_huggingface(
    folder: PathLike, *, progress: Progress | None = None, max_bytes: int | None = None
) -> Iterator[tuple[str | None, BatchedTable]]:
    """Yield the subsets of a Hugging Face folder with their names; None if it has no split."""
    root = Path(folder)
    if not (root / "dataset_dict.json").is_file():
        yield None, _open_huggingface_subset(root, progress, max_bytes)
        return
    splits = _read_json(root / "dataset_dict.json").get("splits")
    if not isinstance(splits, list) or not splits or not all(map(_is_file_name, splits)):
        raise DataError(
            f"{root / 'dataset_dict.json'} must list the names of its splits; save the data again"
        )
    for split in splits:
        yield split, _open_huggingface_subset(root / split, progress, max_bytes)


def _open_huggingface_subset(
    folder: Path, progress: Progress | None, max_bytes: int | None
) -> BatchedTable:
    files = _read_json(folder / "state.json").get("_data_files")
    entries = files if isinstance(files, list) else [None]
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in entries]
    if not names or not all(map(_is_file_name, names)):
        raise DataError(
            f"{folder / 'state.json'} must list the names of data files; save the data again"
        )
    info = folder / "dataset_info.json"
    features = _read_json(info).get("features") if info.is_file() else None
    paths = [os.fspath(folder / str(name)) for name in names]
    return _open_arrow_files(paths, os.fspath(folder), features, progress, max_bytes)


def _open_arrow_files(
    paths: Sequence[str],
    name: str,
    features: Any,
    progress: Progress | None,
    max_bytes: int | None,
) -> BatchedTable:
    arrow = import_extra("pyarrow", "Arrow files")
    with _arrow_errors(name, "Arrow"), _open_stream(arrow, paths[0]) as first:
        schema = arrow.ipc.open_stream(first).schema
        names = list(schema.names)
    total = sum(map(_get_size, paths))

    def iter_batches(columns: list[str]) -> Iterator[ColumnBatch]:
        stored = Budget(name, total, max_bytes)
        decoded = Budget(name, total, max_bytes)
        convert = _class_label_converters(schema, features)
        start, done = 1, 0
        for path in paths:
            with _arrow_errors(path, "Arrow"):
                with _open_stream(arrow, path) as source:
                    check_messages(arrow, source, stored)
                with _open_stream(arrow, path) as source:
                    reader = arrow.ipc.open_stream(source)
                    if reader.schema.names != names:
                        raise DataError(f"{path} has other columns than {paths[0]}")
                    for whole in reader:
                        selected = whole.select(list(map(names.index, columns)))
                        # Arrow does not check files, and would read outside of its buffers. The
                        # full check reads a repeated value again and again.
                        selected.validate()
                        decoded.spend(decoded_size(selected))
                        selected.validate(full=True)
                        for offset in range(0, selected.num_rows, _BATCH_SIZE):
                            batch = selected.slice(offset, _BATCH_SIZE)
                            yield _to_batch(batch, columns, start, convert, name)
                            start += batch.num_rows
            done += _get_size(path)
            if progress is not None:
                progress(done, total)

    return BatchedTable(name=name, columns=names, iter_batches=iter_batches)


@contextmanager
def _open_stream(arrow: Any, path: str) -> Iterator[Any]:
    """Open the stream of messages, which a file of the other kind has after its signature."""
    with open(path, "rb") as file:
        is_file = file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
    with arrow.memory_map(path) as source:
        source.seek(_FILE_START if is_file else 0)
        yield source


def _to_batch(
    batch: Any, columns: Sequence[str], start: int, convert: Mapping[str, Convert], name: str
) -> ColumnBatch:
    values = {}
    for column in columns:
        try:
            found = batch.column(batch.schema.names.index(column)).to_pylist()
        except UnicodeDecodeError as error:
            last = start + batch.num_rows - 1
            raise DataError(
                f'{name}, rows {start} to {last}: the column "{column}" has a value that is not '
                "UTF-8 text; correct it"
            ) from error
        values[column] = list(map(convert[column], found)) if column in convert else found
    return ColumnBatch(range(start, start + batch.num_rows), values)


def _class_label_converters(schema: Any, features: Any = None) -> dict[str, Convert]:
    """Return a function for each column of class labels, which are numbers, to their names."""
    if not features:
        try:
            metadata = strict_json.parse((schema.metadata or {}).get(b"huggingface", b"{}"))
            features = metadata.get("info", {}).get("features")
        except (ValueError, AttributeError):
            features = None
    if not isinstance(features, dict):
        return {}
    found: dict[str, Convert] = {}
    for column, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") in ("Sequence", "List"):
            feature = feature.get("feature")
        elif isinstance(feature, list) and len(feature) == 1:
            (feature,) = feature
        names = feature.get("names") if isinstance(feature, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            found[column] = _ClassNames(names)
    return found


class _ClassNames:
    """Converts numbers of classes, or lists of them, to names; -1 means no label."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self(entry) for entry in value]
        if isinstance(value, int) and not isinstance(value, bool):
            if 0 <= value < len(self._names):
                return self._names[value]
            return None if value == -1 else value
        return value


def _path(schema: Any, index: int) -> str:
    name: str = schema.names[index]
    if "." in name:
        raise DataError(
            f'the column "{name}" has a dot in its name, which Parquet uses for nested fields; '
            "rename it"
        )
    return name


def _is_file_name(name: Any) -> bool:
    """Return whether a name stays in its folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and Path(name).name == name


def _get_size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            content = strict_json.parse(file.read(_MAX_JSON_BYTES))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); save the data again") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} is not a JSON object; save the data again")
    return content


@contextmanager
def _arrow_errors(name: str, kind: str) -> Iterator[None]:
    """Convert errors of pyarrow, which are of many types, to `DataError`."""
    arrow = import_extra("pyarrow", f"{kind} files")
    advice = "copy or write the file again"
    try:
        yield
    except MemoryError as error:
        raise DataError(
            f"{name} needs more memory than there is, or its lengths are damaged; copy or write "
            "the file again, or free memory"
        ) from error
    except (arrow.ArrowException, ValueError, TypeError, LookupError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise unreadable_error(name, kind, error, advice) from error
    except OSError as error:
        if error.strerror is not None:
            raise DataError(f"{name} cannot be read: {error.strerror}") from error
        raise unreadable_error(name, kind, error, advice) from error
