"""Where rows go: a CSV or JSON lines file that appears whole or not at all, or standard output."""

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

Write = Callable[[Sequence[Any]], None]


def check_target(path: Path, *, inputs: Sequence[str | Path] = ()) -> None:
    """Complain before the work begins of a file that could not be written after it."""
    if path.is_dir():
        raise CordwoodError(f"{path} is a folder; name a file to write")
    if not path.parent.is_dir():
        raise CordwoodError(f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise CordwoodError(f"cannot write {path}: the folder {path.parent} is read-only")
    for source in inputs:
        if path.exists() and Path(source).exists() and path.samefile(source):
            raise CordwoodError(f"{path} would be overwritten while it is read; name another file")


def check_suffix(path: Path) -> None:
    """Complain of a file name that does not tell how to write it."""
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(
            f"{path.name!r} must end in .csv or .jsonl, which says how to write it"
        )


@contextmanager
def open_rows(
    path: Path | None, columns: Sequence[str], *, json_lines: bool = False
) -> Iterator[Write]:
    """Give a function that writes one row.

    Parameters
    ----------
    path : Path or None
        The file, whose suffix says how rows are written; None is standard output.
    columns : sequence of str
        The names of the values in each row.
    json_lines : bool
        How rows are written to standard output: an object a line, or CSV.
    """
    if path is None:
        yield _writer(sys.stdout, columns, json_lines=json_lines)
        return
    # Newlines inside a value must come back as they were.
    with atomic.write(path, newline="", errors="backslashreplace") as file:
        yield _writer(file, columns, json_lines=path.suffix.lower() in JSON_LINES)


def _writer(file: IO[str], columns: Sequence[str], *, json_lines: bool) -> Write:
    if json_lines:
        return lambda row: _write_object(file, dict(zip(columns, row, strict=True)))
    plain = csv.writer(file, lineterminator="\n")
    # Before Python 3.13 a bare carriage return is not quoted, and splits the row when read again.
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(row: Sequence[Any]) -> None:
        unsafe = any(isinstance(value, str) and "\r" in value for value in row)
        (quoted if unsafe else plain).writerow(row)

    write(columns)
    return write


def _write_object(file: IO[str], record: dict[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
