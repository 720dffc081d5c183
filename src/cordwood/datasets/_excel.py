"""Sheets of Excel workbooks (.xlsx) as tables.

calamine reads a whole sheet into a dense grid, so that a file of a few bytes with one cell in the
last column of the last row would need more than 100 GB. The cell references are therefore checked
first.
"""

import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from itertools import islice
from typing import IO, Any

from cordwood.datasets._batched_table import BatchedTable, ColumnBatch
from cordwood.datasets._optional import import_extra
from cordwood.datasets.lines import PathLike, default_max_bytes
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import list_names
from cordwood.datasets.values import to_plain_value
from cordwood.exceptions import DataError

_BATCH_SIZE = 1000
_CHUNK = 1 << 20
_MAX_EMPTY_CELLS = 10_000_000
_CELL = re.compile(rb"""\br=["']([A-Z]{1,3})([0-9]{1,7})["']""")
_MAX_REFERENCE = 16  # bytes of r="XFD1048576"


def open_excel(path: PathLike, options: ReadOptions) -> BatchedTable:
    """Open a sheet, by default the first one, whose rows have the numbers that Excel shows.

    Blank rows are ignored. Empty cells are empty strings, dates strings in ISO 8601 format.
    """
    calamine = import_extra("python_calamine", "Excel files", package="python-calamine")
    path = os.fspath(path)
    sheet = options.sheet
    _check_size(path, options.max_bytes)
    with _excel_errors(path):
        with calamine.CalamineWorkbook.from_path(path) as workbook:
            names = list(workbook.sheet_names)
            if not names:
                raise DataError(f"{path} has no sheets")
            if sheet is not None and sheet not in names:
                raise DataError(
                    f'{path} has no sheet "{sheet}"; its sheets are: {list_names(names)}'
                )
            chosen = workbook.get_sheet_by_name(names[0] if sheet is None else sheet)
            rows = _number_rows(chosen.iter_rows())
            first = next(rows, None)
    name = path if sheet is None and len(names) == 1 else f"{path}, sheet {chosen.name}"
    if first is None:
        raise DataError(f"{name} is empty; it must have a header and rows")
    number, cells = first
    if options.header:
        columns = [str(cell).strip() for cell in cells]
        start: list[tuple[int, list[Any]]] = []
    else:
        columns = [str(index) for index in range(1, len(cells) + 1)]
        start = [(number, cells)]

    def iter_batches(wanted: list[str]) -> Iterator[ColumnBatch]:
        indices = {column: columns.index(column) for column in wanted}
        yield from _iter_batches(start, indices)
        while True:
            with _excel_errors(path):
                batch = list(islice(rows, _BATCH_SIZE))
            if not batch:
                return
            yield from _iter_batches(batch, indices)

    return BatchedTable(
        name=name,
        columns=columns,
        iter_batches=iter_batches,
        untyped=True,
        empty_is_missing=True,
    )


def _iter_batches(
    rows: Sequence[tuple[int, list[Any]]], indices: dict[str, int]
) -> Iterator[ColumnBatch]:
    if rows:
        columns = {name: [cells[index] for _, cells in rows] for name, index in indices.items()}
        yield ColumnBatch([number for number, _ in rows], columns)


def _number_rows(rows: Iterator[list[Any]]) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows that are not blank, with their numbers."""
    for number, cells in enumerate(rows, start=1):
        values = [_convert_cell(cell) for cell in cells]
        if any(value != "" for value in values):
            yield number, values


def _convert_cell(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    if isinstance(cell, date | time):
        return to_plain_value(cell)
    return str(cell) if isinstance(cell, timedelta) else cell


def _check_size(path: str, max_bytes: int | None) -> None:
    """Raise an error if the file or one of its sheets is much larger than it seems."""
    with _excel_errors(path), zipfile.ZipFile(path) as archive:
        limit = default_max_bytes(os.path.getsize(path)) if max_bytes is None else max_bytes
        for member in archive.infolist():
            limit -= member.file_size
        if limit < 0:
            raise DataError(
                f"{path} is too large after decompression; if it is not malicious, raise this "
                "limit with max_bytes= / --max-bytes"
            )
        for member in archive.infolist():
            if "worksheets/" in member.filename and member.filename.endswith(".xml"):
                with archive.open(member) as content:
                    _check_cells(path, content)


def _check_cells(path: str, content: IO[bytes]) -> None:
    n_cells = last_row = last_column = 0
    tail = b""
    while chunk := content.read(_CHUNK):
        chunk = tail + chunk
        for column, row in _CELL.findall(chunk):
            n_cells += 1
            last_row = max(last_row, int(row))
            last_column = max(last_column, _parse_column(column))
        # A reference that is divided between two chunks; one that is found twice does no harm.
        tail = chunk[-_MAX_REFERENCE:]
    if last_row * last_column > 20 * n_cells + _MAX_EMPTY_CELLS:
        raise DataError(
            f"{path} has a sheet of {last_row:,} rows and {last_column:,} columns with only "
            f"{n_cells:,} cells; delete the cells outside of the table"
        )


def _parse_column(letters: bytes) -> int:
    """Return the number of a column from its letters.

    Examples
    --------
    >>> [_parse_column(letters) for letters in (b"A", b"Z", b"AA", b"XFD")]
    [1, 26, 27, 16384]
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


@contextmanager
def _excel_errors(path: str) -> Iterator[None]:
    """Convert errors of zipfile and calamine to `DataError`."""
    try:
        yield
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except BaseException as error:
        # Errors of calamine, which are of several types, and PanicException, which is not an
        # Exception, if a corrupt file violates an assumption of it.
        if type(error).__module__.partition(".")[0] not in ("python_calamine", "pyo3_runtime"):
            raise
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: BaseException) -> DataError:
    message = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return DataError(
        f"{path} cannot be read as an Excel workbook ({message[:200]}); save it again as .xlsx"
    )
