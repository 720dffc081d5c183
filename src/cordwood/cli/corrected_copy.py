"""Copies of data files without some rows, and with other labels."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from cordwood._base import atomic, strict_json
from cordwood.cli.outputs import open_table
from cordwood.datasets.csv_records import (
    Dialect,
    Record,
    find_dialect,
    name_columns,
    parse_records,
    read_first_record,
)
from cordwood.datasets.file_source import read_cells
from cordwood.datasets.lines import Lines, open_bytes
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.values import clean_label
from cordwood.exceptions import CordwoodError, DataError

# Suffixes of the copy by the format of the file.
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab", ".csv"),
    "jsonl": (".jsonl", ".ndjson"),
    "excel": (".xlsx",),
    "parquet": (".parquet",),
}
_TABLES = ("excel", "parquet")
_FURTHER = "further cells"  # of rows that have more than the header


class Correction(NamedTuple):
    """How to correct a file; rows are counted from 0, and blank lines do not count."""

    labels: Sequence[str]  # of all valid rows, to check that the file is the one that was audited
    dropped: Mapping[int, str]  # reasons, by the number of the valid row
    relabelled: Mapping[int, str]
    invalid: Mapping[int, str] = {}  # messages, by the number of the row


class _Row(NamedTuple):
    text: str  # with the line end
    label: str
    relabel: Callable[[str], str]  # returns the text with another label
    cells: dict[str, Any]


class LeftOut(NamedTuple):
    """A row that is not in the copy."""

    number: int  # from 1
    reason: str
    cells: dict[str, Any]


def write_corrected_copy(
    source: str, target: Path, correction: Correction, format: str, options: ReadOptions
) -> tuple[int, list[LeftOut]]:
    """Copy a file with corrections; return the number of copied rows, and those left out.

    Rows of text files whose label does not change are copied byte for byte, except for blank lines,
    which are left out. The copy is written completely or not at all.
    """
    column = options.label or "label"
    left_out: list[LeftOut] = []
    if format in _TABLES:
        rows = _read_table_rows(source, column, options)
        kept = [
            row.cells if new is None else {**row.cells, column: new}
            for row, new in _correct(rows, correction, source, left_out)
        ]
        names = list(kept[0]) if kept else [column]
        with open_table(target, names) as write:
            for cells in kept:
                write(list(cells.values()))
        return len(kept), left_out
    with ExitStack() as stack:
        content = stack.enter_context(open_bytes(source, max_bytes=options.max_bytes))
        start = content.peek()  # type: ignore[attr-defined]
        dialect = find_dialect(start, format, options)
        # newline="" keeps line ends.
        writing: Any = {"newline": "", "encoding": dialect.encoding, "errors": "surrogateescape"}
        file = stack.enter_context(atomic.write(target, **writing))
        file.write("\ufeff" if dialect.has_mark else "")
        lines = Lines(content, source, options.encoding, options.max_row_length)
        header, rows = _read_text_rows(lines, column, format, dialect, options)
        file.write(header)
        n_copied = 0
        for row, new in _correct(rows, correction, source, left_out):
            file.write(row.text if new is None else row.relabel(new))
            n_copied += 1
    return n_copied, left_out


def write_left_out(target: Path, rows: Sequence[LeftOut], **form: Any) -> None:
    """Write the rows that are not in a copy: their numbers, the reasons, and their cells."""
    names = list(dict.fromkeys(name for row in rows for name in row.cells))
    with open_table(target, ["row", "reason", *names], **form) as write:
        for row in rows:
            write([row.number, row.reason, *(row.cells.get(name) for name in names)])


def _read_table_rows(source: str, column: str, options: ReadOptions) -> Iterator[_Row]:
    for cells in read_cells(source, options):
        yield _Row("", str(cells.get(column)), str, cells)


def _read_text_rows(
    lines: Lines, column: str, format: str, dialect: Dialect, options: ReadOptions
) -> tuple[str, Iterator[_Row]]:
    """Return the header, which may be empty, and the rows."""
    if format == "jsonl":
        return "", _read_json_rows(lines, column)
    records = parse_records(lines, dialect.delimiter)
    first = read_first_record(lines, records)
    header = name_columns(first, options.header)
    if column not in header:
        raise DataError(
            f'{lines.name} has no column "{column}" in its first line; name it with --label'
        )
    if not options.header:
        records = chain([first], records)
    # A blank line is a row only if there is one column, as in `read_csv_rows`.
    records = (record for record in records if record.fields or len(header) == 1)
    rows = _read_csv_rows(records, header, header.index(column), dialect.delimiter)
    return first.text if options.header else "", rows


def _read_json_rows(lines: Lines, column: str) -> Iterator[_Row]:
    for line in lines:
        if line.isspace():
            continue
        try:
            record = strict_json.parse(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            record = {"line": line.rstrip()}  # of an invalid row
        change = partial(_write_json, record, column, line)
        yield _Row(line, str(record.get(column)), change, record)


def _read_csv_rows(
    records: Iterable[Record], header: list[str], position: int, delimiter: str
) -> Iterator[_Row]:
    for fields, _, text in records:
        label = "".join(fields[position : position + 1])
        cells: dict[str, Any] = dict(zip(header, fields, strict=False))
        if len(fields) > len(header):
            cells[_FURTHER] = delimiter.join(fields[len(header) :])
        change = partial(_write_csv, fields, position, delimiter, text)
        yield _Row(text, label, change, cells)


def _write_json(record: dict[str, Any], column: str, old: str, label: str) -> str:
    return json.dumps({**record, column: label}, ensure_ascii=False) + _line_end(old)


def _write_csv(fields: list[str], position: int, delimiter: str, old: str, label: str) -> str:
    changed = [*fields[:position], label, *fields[position + 1 :]]
    # Before Python 3.13, csv does not quote a carriage return, which ends a row when read again.
    quoting: Any = csv.QUOTE_ALL if any("\r" in field for field in changed) else csv.QUOTE_MINIMAL
    written = io.StringIO(newline="")
    csv.writer(
        written, delimiter=delimiter, lineterminator=_line_end(old), quoting=quoting
    ).writerow(changed)
    return written.getvalue()


def _line_end(text: str) -> str:
    return text[len(text.rstrip("\r\n")) :]


def _correct(
    rows: Iterable[_Row], correction: Correction, source: str, left_out: list[LeftOut]
) -> Iterator[tuple[_Row, str | None]]:
    """Yield the rows that are kept, with their new labels; raise if they are not those audited."""
    labels = correction.labels
    n_valid = 0
    for number, row in enumerate(rows):
        if number in correction.invalid:
            left_out.append(LeftOut(number + 1, correction.invalid[number], row.cells))
            continue
        if n_valid >= len(labels) or clean_label(row.label) != labels[n_valid]:
            raise _mismatch(source, f"row {number + 1} has another label")
        if n_valid in correction.dropped:
            left_out.append(LeftOut(number + 1, correction.dropped[n_valid], row.cells))
        else:
            new = correction.relabelled.get(n_valid, labels[n_valid])
            yield row, None if new == row.label else new
        n_valid += 1
    if n_valid != len(labels):
        raise _mismatch(source, f"it has {n_valid:,} rows instead of {len(labels):,}")


def _mismatch(source: str, difference: str) -> CordwoodError:
    return CordwoodError(
        f"{source} differs from what was audited: {difference}; run the audit again while no other "
        "program writes the file"
    )
