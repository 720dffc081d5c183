"""Files and folders of all formats: detection of the format, and iteration over rows."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from cordwood.datasets._arrow import (
    is_huggingface_folder,
    open_arrow,
    open_huggingface,
    open_parquet,
)
from cordwood.datasets._batched_table import BatchedTable, read_table_rows
from cordwood.datasets._csv_rows import read_csv_rows
from cordwood.datasets._excel import open_excel
from cordwood.datasets._folder import read_folder_rows
from cordwood.datasets._json_array import read_json_array_rows
from cordwood.datasets._jsonl import read_jsonl_rows
from cordwood.datasets._row_errors import BadRowHandler
from cordwood.datasets._signatures import N_BYTES, Signature, identify_content, identify_file
from cordwood.datasets._sqlite import open_sqlite
from cordwood.datasets.csv_records import DELIMITERS, choose_delimiter
from cordwood.datasets.lines import (
    STANDARD_INPUT,
    Lines,
    PathLike,
    Progress,
    display_name,
    open_bytes,
)
from cordwood.datasets.options import COLUMN_OPTIONS, FORMATS, Format, ReadOptions
from cordwood.datasets.rows import Row
from cordwood.datasets.values import to_plain_value
from cordwood.exceptions import CordwoodError, DataError

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
# Rows that are read before the modules of a command are imported.
_MAX_FIRST_ROWS = 100
_TEXT_FORMATS: tuple[Format, ...] = ("csv", "tsv", "jsonl", "json", "svmlight")
_FOLDERS: tuple[Format, ...] = ("folder", "huggingface")
_WITHOUT_COLUMNS: tuple[Format, ...] = ("folder", "svmlight")
# Options of files, and the formats that have them.
_OPTIONS: dict[str, tuple[Format, ...]] = {
    "delimiter": ("csv", "tsv"),
    "header": ("csv", "tsv", "excel"),
    "sheet": ("excel",),
    "table": ("sqlite",),
    "query": ("sqlite",),
}


def detect_format(path: PathLike, format: Format | None = None) -> Format:
    """Return the format of a file by its suffix, or else by its content, unless it is given."""
    if not isinstance(path, str | os.PathLike):
        raise CordwoodError(
            f"source must be a path or a dataframe; got an object of type {type(path).__name__}"
        )
    name = display_name(path)
    if path == STANDARD_INPUT:
        if format is None or format not in _TEXT_FORMATS:
            raise CordwoodError(
                f"set the format of {name} with format= / --format to one of: "
                f"{', '.join(_TEXT_FORMATS)}"
            )
        return format
    if not os.path.exists(path):
        raise DataError(f"{name} does not exist; check the path")
    is_folder = os.path.isdir(path)
    if format is not None and is_folder != (format in _FOLDERS):
        kind = "a folder, not a file" if is_folder else "a file, not a folder"
        raise DataError(f"{name} is {kind}; leave out format= / --format, or use another path")
    if format is not None:
        return format
    if is_folder:
        return "huggingface" if is_huggingface_folder(path) else "folder"
    return _SUFFIXES.get(_get_suffix(path)) or _detect_by_content(path, name)


def _get_suffix(path: PathLike) -> str:
    return os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]


def _detect_by_content(path: PathLike, name: str) -> Format:
    found = identify_file(path)
    for format in FORMATS:
        if found is not None and found.format == format:
            return format
    raise DataError(
        f"the format of {name} cannot be determined by its suffix ({', '.join(_SUFFIXES)}; those "
        "of text files optionally with .gz); set it with format= / --format to one of: "
        f"{', '.join(FORMATS)}"
    )


def expand_folders(paths: Sequence[PathLike], format: Format | None) -> list[PathLike]:
    """Replace each folder that contains data files only by its files, sorted by name.

    A folder with folders is one data set, with one folder per class.
    """
    expanded: list[PathLike] = []
    for path in paths:
        expanded += _list_data_files(path) if format not in _FOLDERS else [path]
    return expanded


def _list_data_files(path: PathLike) -> list[PathLike]:
    if not isinstance(path, str | os.PathLike) or not os.path.isdir(path):
        return [path]
    if is_huggingface_folder(path):
        return [path]
    try:
        files = sorted(file for file in Path(path).iterdir() if not file.name.startswith("."))
    except OSError:
        return [path]  # raises an error when it is read
    if not all(file.is_file() and _get_suffix(file) in _SUFFIXES for file in files):
        return [path]
    return list(files) or [path]


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A file or folder with its format and the options, which must apply to the format."""

    path: PathLike
    format: Format
    options: ReadOptions
    progress: Progress | None

    def __post_init__(self) -> None:
        given = self.options.given
        for option in given:
            has_no_columns = self.format in _WITHOUT_COLUMNS and option in COLUMN_OPTIONS
            if has_no_columns or self.format not in _OPTIONS.get(option, FORMATS):
                shown = "no-header" if option == "header" else option.replace("_", "-")
                raise CordwoodError(
                    f"{self.name} is in {self.format} format, which has no {option}; leave out "
                    f"{option}= / --{shown}, or set another format"
                )
        if "n_features" in given and self.format != "svmlight":
            raise CordwoodError("n_features applies to svmlight files only; leave it out")

    @property
    def name(self) -> str:
        """Name of the file for messages."""
        return display_name(self.path)


def read_file_rows(
    file: FileSource, bad_rows: BadRowHandler, numbers: Iterator[int]
) -> Iterator[Row]:
    """Yield the rows of a file; those without an id get the next of the numbers."""
    if file.format == "folder":
        yield from read_folder_rows(file.path, file.options, bad_rows, file.progress)
    elif file.format in _TEXT_FORMATS:
        yield from _read_text_file(file, bad_rows, numbers)
    else:
        for split, table in _open_tables(file):
            for row in read_table_rows(table, file.options, bad_rows, numbers):
                yield row if split is None or row.split is not None else row._replace(split=split)


def check_first_row(path: PathLike, options: ReadOptions, *, skip: bool) -> None:
    """Raise the error of the first row of a text file, such as that of a missing column."""
    format = detect_format(path, options.format)
    if format in ("csv", "tsv", "json", "jsonl"):
        file = FileSource(path=path, format=format, options=options, progress=None)
        # Bad rows after which there is a valid one are named all at once by `read_dataset`.
        bad_rows = BadRowHandler(skip=skip, defer=_MAX_FIRST_ROWS)
        if next(read_file_rows(file, bad_rows, count(1)), None) is None:
            bad_rows.finish()


def read_cells(path: PathLike, options: ReadOptions) -> Iterator[dict[str, Any]]:
    """Yield the values of all columns of each row of a Parquet or Excel file."""
    format = detect_format(path, options.format)
    for _, table in _open_tables(
        FileSource(path=path, format=format, options=options, progress=None)
    ):
        for batch in table.iter_batches(list(table.columns)):
            for index in range(len(batch.numbers)):
                yield {name: to_plain_value(batch.columns[name][index]) for name in table.columns}


def check_content(file: FileSource, content: io.BufferedIOBase) -> None:
    """Raise an error if the first bytes of a text file show that it is of another kind."""
    start = content.peek(N_BYTES)[:N_BYTES]  # type: ignore[attr-defined]
    found = identify_content(start)
    if found is not None:
        raise _wrong_kind(file, _identify(file.path) or found)
    if file.format == "jsonl" and start.lstrip()[1:].lstrip().startswith(b"{"):
        raise _wrong_kind(file, Signature("a JSON array", "json", ".json"))


def _read_text_file(
    file: FileSource, bad_rows: BadRowHandler, numbers: Iterator[int]
) -> Iterator[Row]:
    options = file.options
    with open_bytes(file.path, file.progress, max_bytes=options.max_bytes) as content:
        check_content(file, content)
        start = content.peek()  # type: ignore[attr-defined]
        marks = b"\xef\xbb\xbf\xff\xfe \t\r\n\0"
        if file.format == "json" and not start.lstrip(marks).startswith(b"{"):
            yield from read_json_array_rows(content, file.name, options, bad_rows, numbers)
            return
        lines = Lines(content, file.name, options.encoding, options.max_row_length)
        if file.format in ("json", "jsonl"):
            yield from read_jsonl_rows(lines, options, bad_rows, numbers)
            return
        delimiter = choose_delimiter(start, file.format, options)
        if file.format == "csv" and options.delimiter is None and delimiter != ",":
            bad_rows.notes.append(f"columns are separated by {DELIMITERS[delimiter]}")
        yield from read_csv_rows(lines, options, bad_rows, numbers, delimiter)


def _open_tables(file: FileSource) -> Iterator[tuple[str | None, BatchedTable]]:
    options = file.options
    limits: Any = {"progress": file.progress, "max_bytes": options.max_bytes}
    if file.format == "huggingface":
        yield from open_huggingface(file.path, **limits)
        return
    if file.name.lower().endswith(".gz"):
        raise DataError(f"{file.name} is compressed, which only text files may be; decompress it")
    found = _identify(file.path)
    # The Arrow stream format has no signature.
    if found is None and file.format != "arrow":
        raise DataError(
            f"{file.name} is not in {file.format} format; set its format with format= / --format"
        )
    if found is not None and found.format != file.format:
        raise _wrong_kind(file, found)
    if file.format == "parquet":
        yield None, open_parquet(file.path, **limits)
    elif file.format == "arrow":
        yield None, open_arrow(file.path, **limits)
    elif file.format == "excel":
        yield None, open_excel(file.path, options)
    else:
        yield None, open_sqlite(file.path, options)


def _identify(path: PathLike) -> Signature | None:
    return None if path == STANDARD_INPUT else identify_file(path)


def _wrong_kind(file: FileSource, found: Signature) -> DataError:
    advice = "convert it to one of the supported formats, such as CSV"
    if found.format is not None:
        advice = (
            f"read it with format='{found.format}' / --format {found.format}, or rename it to "
            f"{found.suffix}"
        )
    return DataError(f"{file.name} is {found.description}, not {file.format}; {advice}")
