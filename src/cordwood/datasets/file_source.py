"""Files and folders of all formats: detection of the format, and iteration over rows."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from numbers import Integral
from pathlib import Path
from typing import Literal, get_args

from cordwood.datasets._arrow import (
    is_huggingface_folder,
    open_arrow,
    open_huggingface,
    open_parquet,
)
from cordwood.datasets._batched_table import BatchedTable, read_table_rows
from cordwood.datasets._csv import describe_delimiter, detect_delimiter, read_csv_rows
from cordwood.datasets._excel import open_excel
from cordwood.datasets._folder import read_folder_rows
from cordwood.datasets._json_array import read_json_array_rows
from cordwood.datasets._jsonl import read_jsonl_rows
from cordwood.datasets._row_errors import BadRowHandler
from cordwood.datasets._signatures import N_BYTES, Signature, identify_content, identify_file
from cordwood.datasets._sqlite import open_sqlite
from cordwood.datasets.lines import (
    STANDARD_INPUT,
    Lines,
    PathLike,
    Progress,
    check_encoding,
    display_name,
    open_bytes,
)
from cordwood.datasets.rows import ColumnNames, Row
from cordwood.exceptions import CordwoodError, DataError

Format = Literal[
    "csv",
    "tsv",
    "jsonl",
    "json",
    "parquet",
    "arrow",
    "excel",
    "sqlite",
    "huggingface",
    "folder",
    "svmlight",
]
FORMATS: tuple[Format, ...] = get_args(Format)

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
_TEXT_FORMATS: tuple[Format, ...] = ("csv", "tsv", "jsonl", "json", "svmlight")
_FOLDERS: tuple[Format, ...] = ("folder", "huggingface")
_WITHOUT_COLUMNS: tuple[Format, ...] = ("folder", "svmlight")
_DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
# Options of files, and the formats that have them.
_OPTIONS: dict[str, tuple[Format, ...]] = {
    "delimiter": ("csv", "tsv"),
    "header": ("csv", "tsv", "excel"),
    "sheet": ("excel",),
    "table": ("sqlite",),
    "query": ("sqlite",),
}


def detect_format(path: PathLike, format: Format | None = None) -> Format:
    """Determine the format of a file by its suffix, unless `format` is given.

    The content determines the format if the suffix is unknown.

    Parameters
    ----------
    path : path
        A file, a folder, or ``"-"`` for standard input.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "sqlite", \
"huggingface", "folder", "svmlight"}, default=None
        The format, which is only checked.

    Returns
    -------
    str
        One of the formats above.

    Raises
    ------
    CordwoodError
        If the format is unknown or does not apply to `path`.
    DataError
        If there is no such file, or if its format cannot be determined.

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
    """A file or folder and its reading options, which are validated on construction."""

    path: PathLike
    format: Format
    columns: ColumnNames
    encoding: str = "utf-8"
    delimiter: str | None = None
    header: bool = True
    sheet: str | None = None
    table: str | None = None
    query: str | None = None
    n_features: int | None = None
    max_bytes: int | None = None
    max_row_length: int
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_encoding(self.encoding)
        if self.format in _WITHOUT_COLUMNS and (given := self.columns.given):
            self._reject(given[0])
        for option, formats in _OPTIONS.items():
            is_given = not self.header if option == "header" else getattr(self, option) is not None
            if is_given and self.format not in formats:
                self._reject(option)
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

    @property
    def name(self) -> str:
        """Name of the file for messages."""
        return display_name(self.path)

    def _reject(self, option: str) -> None:
        shown = "no-header" if option == "header" else option.replace("_", "-")
        raise CordwoodError(
            f"{self.name} is in {self.format} format, which has no {option}; leave out {option}= / "
            f"--{shown}, or set another format"
        )


def read_file_rows(
    file: FileSource, bad_rows: BadRowHandler, numbers: Iterator[int] | None = None
) -> Iterator[Row]:
    """Yield the rows of a file, which are numbered from 1 unless `numbers` are given."""
    numbers = count(1) if numbers is None else numbers
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
    elif file.format in _TEXT_FORMATS:
        yield from _read_text_file(file, bad_rows, numbers)
    else:
        for split, table in _open_tables(file):
            rows = read_table_rows(
                table, file.columns, bad_rows, max_length=file.max_row_length, numbers=numbers
            )
            for row in rows:
                yield row if split is None or row.split is not None else row._replace(split=split)


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
    with open_bytes(file.path, file.progress, max_bytes=file.max_bytes) as content:
        check_content(file, content)
        start = content.peek()  # type: ignore[attr-defined]
        if file.format == "json" and not start.lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"{"):
            yield from read_json_array_rows(
                content,
                file.name,
                file.encoding,
                file.max_row_length,
                file.columns,
                bad_rows,
                numbers,
            )
            return
        lines = Lines(content, file.name, file.encoding, file.max_row_length)
        if file.format in ("json", "jsonl"):
            yield from read_jsonl_rows(lines, file.columns, bad_rows, numbers)
            return
        delimiter = file.delimiter or _choose_delimiter(file, start, bad_rows)
        yield from read_csv_rows(
            lines, file.columns, bad_rows, delimiter, has_header=file.header, numbers=numbers
        )


def _choose_delimiter(file: FileSource, start: bytes, bad_rows: BadRowHandler) -> str:
    usual = _DELIMITERS[file.format]
    if file.format != "csv":
        return usual
    try:
        sample = start.decode(file.encoding, "replace")
    except UnicodeError:  # of UTF-16 that ends in the middle of a character
        return usual
    delimiter = detect_delimiter(sample, file.columns, has_header=file.header)
    if delimiter != usual:
        bad_rows.notes.append(describe_delimiter(delimiter))
    return delimiter


def _open_tables(file: FileSource) -> Iterator[tuple[str | None, BatchedTable]]:
    if file.format == "huggingface":
        yield from open_huggingface(file.path, progress=file.progress, max_bytes=file.max_bytes)
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
        yield None, open_parquet(file.path, progress=file.progress, max_bytes=file.max_bytes)
    elif file.format == "arrow":
        yield None, open_arrow(file.path, progress=file.progress, max_bytes=file.max_bytes)
    elif file.format == "excel":
        yield (
            None,
            open_excel(file.path, file.sheet, header=file.header, max_bytes=file.max_bytes),
        )
    else:
        yield None, open_sqlite(file.path, file.table, file.query)


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
