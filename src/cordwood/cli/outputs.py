"""Writing of tables to a CSV or JSON lines file, or to standard output.

Spreadsheets evaluate cells that start with ``=``, ``+``, ``-`` or ``@`` as formulas, which may run
commands or send data. Ids and labels come from data files that may be malicious, so CSV output puts
an apostrophe before such cells unless they are numbers. `cordwood.cli.options.EscapeFormulas` is
the option that disables it.
"""

import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import typer

from cordwood._base import atomic
from cordwood.exceptions import CordwoodError
from cordwood.metrics.predictions import join_labels

JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (".csv", *JSON_LINES)

# A tab or carriage return is skipped by spreadsheets, so that the character after it counts.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)

WriteRow = Callable[[Sequence[Any]], None]


def check_target(path: Path, *, inputs: Sequence[str | Path] = ()) -> None:
    """Raise before a long computation if its result could not be written, or replaced an input."""
    if path.is_dir():
        raise CordwoodError(f"cannot write {path}: it is a directory; give a file name")
    # The file is created beside the one that a symbolic link points to.
    directory = atomic.resolve_links(path).parent if path.is_symlink() else path.parent
    if not directory.is_dir():
        raise CordwoodError(f"cannot write {path}: directory {directory} does not exist")
    if not os.access(directory, os.W_OK):
        raise CordwoodError(f"cannot write {path}: directory {directory} is read-only")
    for source in inputs:
        if path.exists() and Path(source).exists() and path.samefile(source):
            raise CordwoodError(f"cannot write {path}: it is an input; give another file name")


def check_suffix(path: Path) -> None:
    """Raise a usage error if the file name does not determine the format."""
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{path.name!r} must end in .csv or .jsonl")


@contextmanager
def open_table(
    path: Path | None,
    columns: Sequence[str],
    *,
    json_lines: bool = False,
    escape_formulas: bool = True,
) -> Iterator[WriteRow]:
    """Yield a function that writes one row, to standard output if there is no path.

    The suffix of a file determines its format; `json_lines` is for standard output.
    """
    if path is None:
        yield _make_writer(sys.stdout, columns, json_lines, escape_formulas)
        return
    # newline="" keeps newlines inside values unchanged.
    with atomic.write(path, newline="", errors="backslashreplace") as file:
        is_json = path.suffix.lower() in JSON_LINES
        yield _make_writer(file, columns, is_json, escape_formulas)


def escape_formula(value: Any) -> Any:
    """Put an apostrophe before a string that a spreadsheet would evaluate; keep other values.

    Examples
    --------
    >>> [escape_formula(value) for value in ("=1+1", "-1.5", "+spam", -0.5, "ham")]
    ["'=1+1", '-1.5', "'+spam", -0.5, 'ham']
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA_STARTS):
        return value
    return value if _NUMBER.fullmatch(value) else f"'{value}"


def escape_csv(table: str) -> str:
    """Apply `escape_formula` to the cells of a table in CSV.

    Examples
    --------
    >>> escape_csv("learner,mean\\n=A1,0.5\\n")
    "learner,mean\\n'=A1,0.5\\n"
    """
    escaped = io.StringIO()
    rows = csv.reader(io.StringIO(table, newline=""))
    csv.writer(escaped, lineterminator="\n").writerows(map(escape_formula, row) for row in rows)
    return escaped.getvalue()


def _make_writer(
    file: IO[str], columns: Sequence[str], json_lines: bool, escape_formulas: bool
) -> WriteRow:
    if json_lines:
        return lambda row: _write_json(file, dict(zip(columns, row, strict=True)))
    plain = csv.writer(file, lineterminator="\n")
    # Before Python 3.13, csv does not quote a carriage return, which ends a row when read again.
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(row: Sequence[Any]) -> None:
        row = [join_labels(value) if isinstance(value, tuple) else value for value in row]
        if escape_formulas:
            row = list(map(escape_formula, row))
        unsafe = any(isinstance(value, str) and "\r" in value for value in row)
        (quoted if unsafe else plain).writerow(row)

    write(columns)
    return write


def _write_json(file: IO[str], record: dict[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
