"""Sheets of Excel workbooks (.xlsx) as tables.

calamine reads a whole sheet into a dense grid, so that a file of a few bytes with one cell in the
last column of the last row would need more than 100 GB, and gives each cell a copy of its shared
string. It ends the process if there is not enough memory, so all sizes are checked first.
"""

import io
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from itertools import islice
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from cordwood.datasets._batched_table import BatchedTable, ColumnBatch
from cordwood.datasets._optional import import_extra
from cordwood.datasets.lines import Budget, PathLike, unreadable_error
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import list_names
from cordwood.datasets.values import to_plain_value
from cordwood.exceptions import DataError

_BATCH_SIZE = 1000
_CHUNK = 1 << 20
_INVALID = (zipfile.BadZipFile, zlib.error, ExpatError)
_MAX_EMPTY_CELLS = 10_000_000
_CELL = re.compile("([A-Za-z]{1,3})([0-9]{1,7})")


def open_excel(path: PathLike, options: ReadOptions) -> BatchedTable:
    """Open a sheet, by default the first one, whose rows have the numbers that Excel shows.

    Blank rows are ignored. Empty cells are empty strings, dates strings in ISO 8601 format.
    """
    calamine = import_extra("python_calamine", "Excel files", package="python-calamine")
    path = os.fspath(path)
    sheet = options.sheet
    with _excel_errors(path):
        copy = _copy_checked(path, options.max_bytes)
        with calamine.CalamineWorkbook.from_filelike(copy) as workbook:
            names = list(workbook.sheet_names)
            if not names:
                raise DataError(f"{path} has no sheets")
            if sheet is not None and sheet not in names:
                raise DataError(
                    f'{path} has no sheet "{sheet}"; its sheets are: {list_names(names)}; '
                    "name one with sheet= / --sheet"
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


def _copy_checked(path: str, max_bytes: int | None) -> io.BytesIO:
    """Return an archive of the XML files of a workbook, none of which is larger than it seems."""
    # calamine reads the copy, because it and zipfile may differ about the content of an archive
    # whose headers contradict each other.
    budget = Budget(path, os.path.getsize(path), max_bytes)
    sheets: list[_SheetSize] = []
    copy = io.BytesIO()
    with (
        zipfile.ZipFile(path) as archive,
        zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target,
    ):
        # Other members are images and the like. The last of several members of a name counts.
        members = {member.filename: member for member in archive.infolist()}
        for name, member in members.items():
            if not name.lower().endswith((".xml", ".rels")):
                continue
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise zipfile.BadZipFile("unusual compression")
            sheets.append(_SheetSize(path))
            with archive.open(member) as content, target.open(name, "w") as written:
                while chunk := content.read(_CHUNK):
                    budget.spend(len(chunk))
                    sheets[-1].parse(chunk)
                    written.write(chunk)
                sheets[-1].parse(b"", is_last=True)
    lengths = [sheet.string_lengths for sheet in sheets]
    budget.spend(max((sheet.measure(lengths) for sheet in sheets), default=0))
    copy.seek(0)
    return copy


class _SheetSize:
    """Finds how much memory a sheet takes, from the XML of it or of the shared strings."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._n_cells = self._row = self._column = self._last_row = self._last_column = 0
        self._references: Counter[int] = Counter()  # to shared strings
        self.string_lengths: list[int] = []
        self._text: list[str] | None = None
        self._is_reference = False
        # calamine reads UTF-8, whatever a file declares.
        self._parser = ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._reject_declaration
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text

    def parse(self, chunk: bytes, *, is_last: bool = False) -> None:
        """Read the next part of the XML file, and check its cells after the last one."""
        self._parser.Parse(chunk, is_last)
        n_cells, last_row, last_column = self._n_cells, self._last_row, self._last_column
        if is_last and last_row * last_column > 20 * n_cells + _MAX_EMPTY_CELLS:
            raise DataError(
                f"{self._path} has a sheet of {last_row:,} rows and {last_column:,} columns with "
                f"only {n_cells:,} cells; delete the cells outside of the table"
            )

    def measure(self, lengths: Sequence[list[int]]) -> int:
        """Return the size of the shared strings in all cells, each of which has a copy."""
        return sum(
            count * max((strings[index] for strings in lengths if index < len(strings)), default=0)
            for index, count in self._references.items()
        )

    def _reject_declaration(self, *_: Any) -> None:
        raise ExpatError("document type declaration")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "c":
            self._n_cells += 1
            self._column += 1
            if "r" in attributes:
                if (found := _CELL.fullmatch(attributes["r"])) is None:
                    raise ExpatError("invalid reference of a cell")
                self._column, self._row = _parse_column(found[1]), int(found[2])
            self._last_row = max(self._last_row, self._row)
            self._last_column = max(self._last_column, self._column)
            self._is_reference = attributes.get("t") == "s"
        elif name == "row":
            self._row, self._column = int(attributes.get("r", self._row + 1)), 0
        elif name in ("si", "v"):
            self._text = []

    def _add_text(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if name not in ("si", "v") or self._text is None:
            return
        text, self._text = "".join(self._text), None
        if name == "si":
            self.string_lengths.append(len(text.encode()))
        elif self._is_reference and text.strip().isdecimal():
            self._references[int(text)] += 1


def _parse_column(letters: str) -> int:
    """Return the number of a column from its letters.

    Examples
    --------
    >>> [_parse_column(letters) for letters in ("A", "Z", "AA", "XFD")]
    [1, 26, 27, 16384]
    """
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


@contextmanager
def _excel_errors(path: str) -> Iterator[None]:
    """Convert errors of zipfile and calamine to `DataError`."""
    kind, advice = "an Excel workbook", "save it again as .xlsx"
    try:
        yield
    except DataError:
        raise
    except (*_INVALID, EOFError, RuntimeError, ValueError) as error:
        raise unreadable_error(path, kind, error, advice) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except BaseException as error:
        # Errors of calamine, which are of several types, and PanicException, which is not an
        # Exception, if a corrupt file violates an assumption of it.
        if type(error).__module__.partition(".")[0] not in ("python_calamine", "pyo3_runtime"):
            raise
        raise unreadable_error(path, kind, error, advice) from None
