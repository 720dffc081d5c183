"""Writing of tables to CSV, JSON lines, Parquet and Excel files, or to standard output.

Spreadsheets evaluate cells that start with ``=``, ``+``, ``-`` or ``@`` as formulas, which may run
commands or send data. Ids and labels come from data files that may be malicious, so CSV output puts
an apostrophe before such cells unless they are numbers. `cordwood.cli.options.EscapeFormulas` is
the option that disables it. In the other formats, strings are never formulas.
"""

import csv
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import typer

from cordwood._base import atomic
from cordwood._base.wording import join_labels, show_label
from cordwood.cli.errors import print_error
from cordwood.datasets.csv_records import Dialect
from cordwood.datasets.table_files import (
    WriteRow,
    check_packages,
    open_excel_table,
    open_parquet_table,
)
from cordwood.exceptions import CordwoodError

JSON_LINES = (".jsonl", ".ndjson")
# Formats whose cells may be lists.
WITH_LISTS = (*JSON_LINES, ".parquet")
SUFFIXES = (".csv", ".tsv", *WITH_LISTS, ".xlsx")

# A tab or carriage return is skipped by spreadsheets, so that the character after it counts.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_MAX_SHOWN_LABELS = 10
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def is_folder(output: str) -> bool:
    """Return whether an output is a folder, which gets one file per input."""
    return os.path.isdir(output) or output.endswith(("/", os.sep))


def describe_labels(counts: Counter[str]) -> str:
    """List the most frequent labels with their numbers."""
    shown = [f"{show_label(label)} ({n:,})" for label, n in counts.most_common(_MAX_SHOWN_LABELS)]
    n_more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {n_more:,} more" if n_more else "")


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
    """Raise an error if the file name does not determine the format, or a package is missing."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise typer.BadParameter(f"{path.name!r} must end in {', '.join(SUFFIXES)}")
    check_packages(suffix)


@contextmanager
def open_table(
    path: Path | None,
    columns: Sequence[str],
    *,
    json_lines: bool = False,
    escape_formulas: bool = True,
    dialect: Dialect | None = None,
) -> Iterator[WriteRow]:
    """Yield a function that writes one row, to standard output if there is no path.

    The suffix of a file determines its format; `json_lines` is for standard output, and `dialect`
    for CSV and TSV files.
    """
    suffix = "" if path is None else path.suffix.lower()
    if path is None:
        yield _make_writer(sys.stdout, columns, json_lines, escape_formulas, Dialect())
    elif suffix == ".parquet":
        with atomic.write(path, "wb") as file, open_parquet_table(file, columns) as write:
            yield write
    elif suffix == ".xlsx":
        notes: list[str] = []
        with atomic.write(path, "wb") as file, open_excel_table(file, columns, notes) as write:
            yield lambda row: write([_join(value) for value in row])
        for note in notes:
            print_error(f"warning: {path}: {note}")
    elif suffix in JSON_LINES:
        with atomic.write(path, newline="", errors="backslashreplace") as file:
            yield _make_writer(file, columns, True, escape_formulas, Dialect())
    else:
        with _open_text(path, _adapt(dialect or Dialect(), suffix)) as (file, adapted):
            yield _make_writer(file, columns, False, escape_formulas, adapted)


def _adapt(dialect: Dialect, suffix: str) -> Dialect:
    """Return a dialect with the delimiter of a suffix; a .csv file of tabs would be none."""
    if suffix == ".tsv":
        return dialect._replace(delimiter="\t")
    return dialect if dialect.delimiter != "\t" else dialect._replace(delimiter=",")


@contextmanager
def _open_text(path: Path, dialect: Dialect) -> Iterator[tuple[IO[str], Dialect]]:
    """Open a text file of an encoding, or of UTF-8 if that cannot hold what is written."""
    # newline="" keeps newlines inside values unchanged.
    options: Any = {"newline": "", "encoding": "utf-8", "errors": "backslashreplace"}
    mark = "\ufeff" if dialect.has_mark else ""
    if dialect.encoding == "utf-8":
        with atomic.write(path, **options) as file:
            file.write(mark)
            yield file, dialect
        return
    with tempfile.TemporaryFile("w+", **options) as draft:
        yield draft, dialect
        draft.seek(0)
        try:
            with atomic.write(path, newline="", encoding=dialect.encoding) as file:
                file.write(mark)
                shutil.copyfileobj(draft, file)
        except UnicodeEncodeError as error:
            shown = ascii(error.object[error.start])
            print_error(
                f"warning: {path} is in UTF-8 with a byte order mark, because {dialect.encoding}, "
                f"the encoding of the input, has no character {shown}"
            )
            draft.seek(0)
            with atomic.write(path, newline="", encoding="utf-8-sig") as file:
                shutil.copyfileobj(draft, file)


def to_cell(value: Any, *, is_json: bool) -> Any:
    """Return a value that can be written; nested ones are JSON, in CSV as a string."""
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False, default=str)
        return json.loads(text) if is_json else text
    return value if isinstance(value, str | int | float | tuple | None) else str(value)


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
    file: IO[str],
    columns: Sequence[str],
    json_lines: bool,
    escape_formulas: bool,
    dialect: Dialect,
) -> WriteRow:
    if json_lines:
        return lambda row: _write_json(file, dict(zip(columns, row, strict=True)))
    form: Any = {"lineterminator": dialect.line_end, "delimiter": dialect.delimiter}
    plain = csv.writer(file, **form)
    # Before Python 3.13, csv does not quote a carriage return, which ends a row when read again.
    quoted = csv.writer(file, **form, quoting=csv.QUOTE_ALL)

    def write(row: Sequence[Any]) -> None:
        row = [_join(value) for value in row]
        if escape_formulas:
            row = list(map(escape_formula, row))
        unsafe = any(isinstance(value, str) and "\r" in value for value in row)
        (quoted if unsafe else plain).writerow(row)

    write(columns)
    return write


def _join(value: Any) -> Any:
    return join_labels(value) if isinstance(value, tuple) else value


def _write_json(file: IO[str], record: dict[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
