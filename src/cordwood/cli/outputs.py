"""Writing of tables to a CSV or JSON lines file, or to standard output."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import typer

from cordwood import _atomic as atomic
from cordwood.exceptions import CordwoodError

JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (".csv", *JSON_LINES)

WriteRow = Callable[[Sequence[Any]], None]


def check_target(path: Path, *, inputs: Sequence[str | Path] = ()) -> None:
    """Raise before a long computation if its result could not be written.

    Parameters
    ----------
    path : Path
        File to write.
    inputs : sequence of str or Path, default=()
        Files that are read, which must not be overwritten.
    """
    if path.is_dir():
        raise CordwoodError(f"cannot write {path}: it is a directory; give a file name")
    if not path.parent.is_dir():
        raise CordwoodError(f"cannot write {path}: directory {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise CordwoodError(f"cannot write {path}: directory {path.parent} is read-only")
    for source in inputs:
        if path.exists() and Path(source).exists() and path.samefile(source):
            raise CordwoodError(f"cannot write {path}: it is an input; give another file name")


def check_suffix(path: Path) -> None:
    """Raise a usage error if the file name does not determine the format."""
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{path.name!r} must end in .csv or .jsonl")


@contextmanager
def open_table(
    path: Path | None, columns: Sequence[str], *, json_lines: bool = False
) -> Iterator[WriteRow]:
    """Yield a function that writes one row.

    Parameters
    ----------
    path : Path or None
        File, whose suffix determines the format; None is standard output.
    columns : sequence of str
        Column names.
    json_lines : bool, default=False
        Whether to write JSON lines instead of CSV to standard output.
    """
    if path is None:
        yield _make_writer(sys.stdout, columns, json_lines=json_lines)
        return
    # newline="" keeps newlines inside values unchanged.
    with atomic.write(path, newline="", errors="backslashreplace") as file:
        yield _make_writer(file, columns, json_lines=path.suffix.lower() in JSON_LINES)


def _make_writer(file: IO[str], columns: Sequence[str], *, json_lines: bool) -> WriteRow:
    if json_lines:
        return lambda row: _write_json(file, dict(zip(columns, row, strict=True)))
    plain = csv.writer(file, lineterminator="\n")
    # Before Python 3.13, csv does not quote a carriage return, which ends a row when read again.
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(row: Sequence[Any]) -> None:
        unsafe = any(isinstance(value, str) and "\r" in value for value in row)
        (quoted if unsafe else plain).writerow(row)

    write(columns)
    return write


def _write_json(file: IO[str], record: dict[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
