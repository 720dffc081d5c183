"""Copies of CSV and JSON lines files without some rows, and with other labels."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from cordwood._base import atomic, strict_json
from cordwood.datasets.csv_records import (
    Record,
    find_dialect,
    name_columns,
    parse_records,
    read_first_record,
)
from cordwood.datasets.lines import Lines, open_bytes
from cordwood.datasets.options import ReadOptions
from cordwood.exceptions import CordwoodError, DataError

FORMATS = ("csv", "tsv", "jsonl")


class Correction(NamedTuple):
    """How to correct a file; rows are counted from 0, and blank lines do not count."""

    labels: Sequence[str]  # of all rows, to check that the file is the one that was audited
    dropped: Collection[int]
    relabelled: Mapping[int, str]


class _Row(NamedTuple):
    text: str  # with the line end
    label: str
    relabel: Callable[[str], str]  # returns the text with another label


def write_corrected_copy(
    source: str, target: Path, correction: Correction, format: str, options: ReadOptions
) -> int:
    """Copy a file with corrections, and return the number of copied rows.

    Rows that are not relabelled are copied byte for byte, except for blank lines, which are left
    out. The copy is written completely or not at all.
    """
    with ExitStack() as stack:
        content = stack.enter_context(open_bytes(source, max_bytes=options.max_bytes))
        start = content.peek()  # type: ignore[attr-defined]
        dialect = find_dialect(start, format, options)
        # newline="" keeps line ends.
        writing: Any = {"newline": "", "encoding": dialect.encoding, "errors": "surrogateescape"}
        file = stack.enter_context(atomic.write(target, **writing))
        file.write("\ufeff" if dialect.has_mark else "")
        lines = Lines(content, source, options.encoding, options.max_row_length)
        column = options.label or "label"
        if format == "jsonl":
            rows = _read_json_rows(lines, column)
        else:
            delimiter = dialect.delimiter
            records = parse_records(lines, delimiter)
            first = read_first_record(lines, records)
            header = name_columns(first, options.header)
            if column not in header:
                raise DataError(
                    f'{source} has no column "{column}" in its first line; name it with --label'
                )
            if options.header:
                file.write(first.text)
            else:
                records = chain([first], records)
            # A blank line is a row only if there is one column, as in `read_csv_rows`.
            records = (record for record in records if record.fields or len(header) == 1)
            rows = _read_csv_rows(records, header.index(column), delimiter)
        file.writelines(_correct(rows, correction, source))
    return len(correction.labels) - len(correction.dropped)


def _read_json_rows(lines: Lines, column: str) -> Iterator[_Row]:
    for line in lines:
        if not line.isspace():
            record = strict_json.parse(line)
            yield _Row(line, str(record.get(column)), partial(_write_json, record, column, line))


def _read_csv_rows(records: Iterable[Record], position: int, delimiter: str) -> Iterator[_Row]:
    for fields, _, text in records:
        label = "".join(fields[position : position + 1])
        yield _Row(text, label, partial(_write_csv, fields, position, delimiter, text))


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


def _correct(rows: Iterable[_Row], correction: Correction, source: str) -> Iterator[str]:
    """Yield the text of each row that is kept; raise if the rows are not those of the audit."""
    labels = correction.labels
    n_found = 0
    for number, row in enumerate(rows):
        n_found += 1
        if number >= len(labels) or row.label != labels[number]:
            raise _mismatch(source, f"row {number + 1} has another label")
        if number not in correction.dropped:
            new = correction.relabelled.get(number)
            yield row.text if new is None else row.relabel(new)
    if n_found != len(labels):
        raise _mismatch(source, f"it has {n_found:,} rows instead of {len(labels):,}")


def _mismatch(source: str, difference: str) -> CordwoodError:
    return CordwoodError(
        f"{source} differs from what was audited: {difference}; run the audit again while no other "
        "program writes the file"
    )
