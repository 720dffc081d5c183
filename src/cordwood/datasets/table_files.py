"""Writing of rows to Excel and Parquet files.

Strings stay strings: in these formats no cell becomes a formula or a link by its first character.
"""

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any

from cordwood._base.wording import count
from cordwood.datasets._optional import import_extra
from cordwood.exceptions import CordwoodError

WriteRow = Callable[[Sequence[Any]], None]

# Limits of Excel; characters are UTF-16 code units, and numbers have 15 significant digits.
_MAX_ROWS = 1_048_576
_MAX_COLUMNS = 16_384
_MAX_CHARACTERS = 32_767
_MAX_EXACT = 10**15

_BATCH_SIZE = 10_000
_MAX_INT = 2**63


def check_packages(suffix: str) -> None:
    """Raise if the package that writes the files of this suffix is not installed."""
    if suffix == ".xlsx":
        import_extra("xlsxwriter", "Excel files", package="XlsxWriter")
    elif suffix == ".parquet":
        import_extra("pyarrow.parquet", "Parquet files", package="pyarrow")


@contextmanager
def open_excel_table(file: IO[bytes], columns: Sequence[str], notes: list[str]) -> Iterator[Any]:
    """Yield a function that writes one row of a workbook; `notes` gets what Excel cannot hold."""
    xlsxwriter = import_extra("xlsxwriter", "Excel files", package="XlsxWriter")
    if len(columns) > _MAX_COLUMNS:
        raise CordwoodError(
            f"an Excel sheet has at most {_MAX_COLUMNS:,} columns, and the table has "
            f"{len(columns):,}; write a .csv or .parquet file instead"
        )
    n_truncated = 0
    with xlsxwriter.Workbook(file, {"constant_memory": True, "use_zip64": True}) as book:
        sheet, n_written = _add_sheet(book, columns), 1

        def write(row: Sequence[Any]) -> None:
            nonlocal n_truncated, n_written, sheet
            if n_written % _MAX_ROWS == 0:
                sheet = _add_sheet(book, columns)
                n_written += 1
            n_truncated += _write_cells(sheet, n_written % _MAX_ROWS, row)
            n_written += 1

        yield write
    if n_written > _MAX_ROWS:
        sheets = count(-(-n_written // _MAX_ROWS), "sheet")
        notes.append(f"a sheet has at most {_MAX_ROWS:,} rows, so there are {sheets}")
    if n_truncated:
        notes.append(
            f"{count(n_truncated, 'cell')} of more than {_MAX_CHARACTERS:,} characters, the limit "
            "of Excel, truncated to that length; a .csv, .jsonl or .parquet file keeps them"
        )


def _add_sheet(book: Any, columns: Sequence[str]) -> Any:
    sheet = book.add_worksheet()
    sheet.freeze_panes(1, 0)
    _write_cells(sheet, 0, columns)
    return sheet


def _write_cells(sheet: Any, row: int, values: Sequence[Any]) -> int:
    """Write one row, and return how many of its strings were truncated."""
    n_truncated = 0
    for column, value in enumerate(values):
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value)
        elif isinstance(value, int | float) and math.isfinite(value) and _is_exact(value):
            sheet.write_number(row, column, value)
        elif value is not None and value != "":
            text = _to_text(str(value))
            if len(text) > _MAX_CHARACTERS // 2:
                units = text.encode("utf-16-le")
                text = units[: 2 * _MAX_CHARACTERS].decode("utf-16-le", "ignore")
                n_truncated += len(units) > 2 * _MAX_CHARACTERS
            sheet.write_string(row, column, text)
    return n_truncated


def _is_exact(value: float) -> bool:
    return isinstance(value, float) or abs(value) < _MAX_EXACT


@contextmanager
def open_parquet_table(file: IO[bytes], columns: Sequence[str]) -> Iterator[WriteRow]:
    """Yield a function that writes one row; the types of the columns are those of all values."""
    arrow, parquet = (
        import_extra(name, "Parquet files") for name in ("pyarrow", "pyarrow.parquet")
    )
    kinds: list[set[str]] = [set() for _ in columns]
    # The types are known after the last row only, and the rows may not fit into memory.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as draft:

        def write(row: Sequence[Any]) -> None:
            for kind, value in zip(kinds, row, strict=True):
                kind.add(_find_kind(value))
            draft.write(json.dumps(row) + "\n")

        yield write
        draft.seek(0)
        chosen = [_choose_kind(kind) for kind in kinds]
        types = {
            "bool": arrow.bool_(),
            "int": arrow.int64(),
            "float": arrow.float64(),
            "str": arrow.string(),
            "list of str": arrow.list_(arrow.string()),
            "list of float": arrow.list_(arrow.float64()),
        }
        schema = arrow.schema(
            [(name, types[kind]) for name, kind in zip(columns, chosen, strict=True)]
        )
        with parquet.ParquetWriter(file, schema) as writer:
            while batch := [json.loads(line) for line in islice(draft, _BATCH_SIZE)]:
                values = zip(*batch, strict=True)
                arrays = [
                    arrow.array([_convert(value, kind) for value in each], types[kind])
                    for each, kind in zip(values, chosen, strict=True)
                ]
                writer.write_batch(arrow.record_batch(arrays, schema=schema))


def _find_kind(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        inner = {_find_kind(each) for each in value}
        if inner <= {"str"}:
            return "list of str"
        return "list of float" if inner <= {"float", "int"} else "str"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -_MAX_INT <= value < _MAX_INT else "str"
    return "float" if isinstance(value, float) else "str"


def _choose_kind(kinds: set[str]) -> str:
    """Return the type of a column: that of all values that are not missing, else a string."""
    found = kinds - {""}
    if len(found) == 1:
        return found.pop()
    return "float" if found == {"int", "float"} else "str"


def _convert(value: Any, kind: str) -> Any:
    """Convert a value to the type of its column; what is not a string there becomes JSON."""
    if value is None or (kind != "str" and kind != "list of str"):
        return value
    if kind == "list of str":
        return [_to_text(each) for each in value]
    return _to_text(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _to_text(value: str) -> str:
    """Return text without lone surrogates, which UTF-8 cannot hold."""
    return value.encode("utf-8", "backslashreplace").decode()
