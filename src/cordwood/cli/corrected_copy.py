"""Copies of CSV and JSON lines files without some rows, and with other labels."""

import codecs
import csv
import io
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from cordwood._base import atomic
from cordwood.datasets.lines import open_bytes
from cordwood.exceptions import CordwoodError, DataError

FORMATS = ("csv", "tsv", "jsonl")

_DELIMITERS = (",", ";", "\t", "|")


class Correction(NamedTuple):
    """How to correct a file.

    Parameters
    ----------
    labels : sequence of str
        Present label of each row, by which rows are checked.
    dropped : collection of int
        Positions of the rows to leave out, starting from 0; blank lines do not count.
    relabelled : mapping of int to str
        New labels by the position of the row.
    """

    labels: Sequence[str]
    dropped: Collection[int]
    relabelled: Mapping[int, str]


def write_corrected_copy(
    source: str,
    target: Path,
    correction: Correction,
    *,
    format: str,
    column: str,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = None,
) -> int:
    """Copy a file with corrections, and return the number of copied rows.

    All columns and values of the other rows are kept; so are the delimiter and the encoding. The
    copy is written completely or not at all.

    Parameters
    ----------
    source : str
        File to copy.
    target : Path
        File to create or replace.
    correction : Correction
        Rows to leave out, and new labels.
    format : {"csv", "tsv", "jsonl"}
        Format of both files.
    column : str
        Column of the label.
    delimiter : str, default=None
        Character between fields of a CSV file; None means the first of comma, semicolon, tab and
        bar that separates the name of the label column.
    encoding : str, default="utf-8"
        Text encoding.
    max_bytes : int, default=None
        Largest size of a compressed file after decompression.
    """
    # newline="" keeps newlines inside values unchanged.
    with (
        open_bytes(source, max_bytes=max_bytes) as content,
        atomic.write(target, newline="", encoding=encoding) as file,
    ):
        text = io.TextIOWrapper(content, encoding=_without_mark(encoding), newline="")  # type: ignore[type-var]
        if format == "jsonl":
            rows = _correct_lines(text, column, correction, source)
            return _count(file.write(line + "\n") for line in rows)
        write = _make_writer(file)
        records = _parse(text, "\t" if format == "tsv" else delimiter, column, source)
        return _count(map(write, _correct_records(records, column, correction, source))) - 1


def _without_mark(encoding: str) -> str:
    """Return the encoding that removes a byte order mark."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _count(items: Iterable[Any]) -> int:
    return sum(1 for _ in items)


class _Record(NamedTuple):
    fields: list[str]
    delimiter: str


def _make_writer(file: IO[Any]) -> Any:
    # Before Python 3.13, csv does not quote a carriage return, which ends a row when read again.
    def write(record: _Record) -> None:
        is_unsafe = any("\r" in field for field in record.fields)
        quoting: Any = csv.QUOTE_ALL if is_unsafe else csv.QUOTE_MINIMAL
        csv.writer(file, delimiter=record.delimiter, lineterminator="\n", quoting=quoting).writerow(
            record.fields
        )

    return write


def _parse(
    text: Iterable[str], delimiter: str | None, column: str, source: str
) -> Iterator[_Record]:
    """Yield the header and the rows; blank lines are left out unless there is only one column."""
    lines = iter(text)
    first = next((line for line in lines if line.strip()), "")
    for candidate in _DELIMITERS if delimiter is None else (delimiter,):
        header = next(csv.reader([first], delimiter=candidate), [])
        if column in map(str.strip, header):
            break
    else:
        raise DataError(
            f'{source} has no column "{column}" in its first line; name it with --label'
        )
    yield _Record(header, candidate)
    csv.field_size_limit(max(csv.field_size_limit(), min(sys.maxsize, (1 << 31) - 1)))
    for fields in csv.reader(lines, delimiter=candidate, strict=True):
        if fields or len(header) == 1:
            yield _Record(fields, candidate)


def _correct_records(
    records: Iterator[_Record], column: str, correction: Correction, source: str
) -> Iterator[_Record]:
    header = next(records)
    yield header
    position = [name.strip() for name in header.fields].index(column)
    n_found = 0
    for number, record in enumerate(records):
        n_found += 1
        _check_row(record.fields[position : position + 1], number, correction, source)
        if number in correction.relabelled:
            record.fields[position] = correction.relabelled[number]
        if number not in correction.dropped:
            yield record
    _check_length(n_found, correction, source)


def _correct_lines(
    text: Iterable[str], column: str, correction: Correction, source: str
) -> Iterator[str]:
    n_found = 0
    for number, line in enumerate(line for line in map(str.rstrip, text) if line):
        n_found += 1
        record = json.loads(line)
        _check_row([str(record.get(column))], number, correction, source)
        if number in correction.relabelled:
            changed = {**record, column: correction.relabelled[number]}
            line = json.dumps(changed, ensure_ascii=False)
        if number not in correction.dropped:
            yield line
    _check_length(n_found, correction, source)


def _check_row(label: list[str], number: int, correction: Correction, source: str) -> None:
    """Raise if a row is not the one that was audited."""
    if number >= len(correction.labels) or label != [correction.labels[number]]:
        _raise_mismatch(source, f"row {number + 1} has another label")


def _check_length(n_found: int, correction: Correction, source: str) -> None:
    if n_found != len(correction.labels):
        _raise_mismatch(source, f"it has {n_found:,} rows instead of {len(correction.labels):,}")


def _raise_mismatch(source: str, difference: str) -> None:
    raise CordwoodError(
        f"{source} differs from what was audited: {difference}; run the audit again while no other "
        "program writes the file"
    )
