"""Rows of comma- or tab-separated files (RFC 4180) with a header that names the columns."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from cordwood.datasets._lines import Lines
from cordwood.datasets._row_errors import BadRows, Fault
from cordwood.datasets._rows import Columns, Row, list_names, missing_name
from cordwood.exceptions import DataError

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Far above any document, yet a missing closing quote cannot fill the memory with a huge file. It
# must fit a C long, which has 32 bits on Windows.
_LONGEST_FIELD = 1 << 28
_LINE_END = re.compile(r"\r\n?|\n")


class _Record(NamedTuple):
    """The fields of one row, and the line on which they begin."""

    fields: list[str]
    line: int


class _Positions(NamedTuple):
    """Where each part of a row is among its fields."""

    text: tuple[int, ...]
    label: int | None
    id: int | None
    split: int | None
    group: int | None


def csv_rows(lines: Lines, columns: Columns, bad_rows: BadRows, delimiter: str) -> Iterator[Row]:
    """Read the rows below the header.

    Blank lines are no rows. A quote that is not closed is an error even where bad rows are to be
    skipped, for nobody can tell how many rows it has swallowed.
    """
    records = _records(lines, delimiter)
    header = _header(lines, records)
    positions = _locate(columns, header, lines.name, delimiter)
    n_rows = 0
    for fields, line in records:
        if not fields and len(header) > 1:
            continue
        n_rows += 1
        fault = lines.flaw or _fault(fields, header, positions.label, f"{lines.name}, line {line}")
        if fault:
            lines.flaw = None
            bad_rows.refuse(fault)
            continue
        yield Row(
            id=str(n_rows) if positions.id is None else fields[positions.id],
            text="\n".join([fields[position] for position in positions.text]),
            label=None if positions.label is None else fields[positions.label],
            split=None if positions.split is None else fields[positions.split],
            group=None if positions.group is None else fields[positions.group],
            line=line,
        )
    if n_rows == 0:
        raise DataError(f"{lines.name} has no rows below its header")


def _records(lines: Lines, delimiter: str) -> Iterator[_Record]:
    # The limit belongs to the whole process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    pending: list[str] = []

    def remember() -> Iterator[str]:
        for line in lines:
            pending.append(line)
            yield line

    begins = 1
    try:
        for fields in csv.reader(remember(), delimiter=delimiter, strict=True):
            yield _Record(fields, begins)
            begins = lines.number + 1
            pending.clear()
    except csv.Error as error:
        if lines.flaw:
            raise DataError(f"{lines.flaw.sentence}; {lines.flaw.remedy}") from None
        begins += _lines_before_broken_quote("".join(pending), delimiter)
        raise DataError(
            f"{lines.name}, line {begins}: the quoted field that begins here is not closed where "
            f"a field can end (line {lines.number}: {error}); close it, and double each quote "
            "inside it"
        ) from None


def _lines_before_broken_quote(record: str, delimiter: str) -> int:
    stop = re.escape(delimiter)
    whole_field = re.compile(rf'(?:"(?:[^"]++|"")*+"|(?!")[^{stop}\r\n]*+)(?=[{stop}\r\n]|\Z)')
    position = 0
    while (field := whole_field.match(record, position)) and field.end() < len(record):
        position = field.end() + 1
    return len(_LINE_END.findall(record, 0, position))


def _header(lines: Lines, records: Iterator[_Record]) -> list[str]:
    for fields, _ in records:
        if lines.flaw:
            raise DataError(f"{lines.flaw.sentence}; {lines.flaw.remedy}")
        if fields:
            return [name.strip() for name in fields]
    raise DataError(f"{lines.name} is empty; it needs a header and rows")


def _locate(columns: Columns, header: list[str], file_name: str, delimiter: str) -> _Positions:
    def find(option: str, name: str) -> int:
        if name not in header:
            raise DataError(_missing(option, name, header, file_name, delimiter))
        return header.index(name)

    def find_optional(option: str, name: str | None) -> int | None:
        return find(option, name or option) if name or option in header else None

    positions = _Positions(
        text=tuple(find("text", name) for name in columns.text or ["text"]),
        label=find("label", columns.label or "label") if columns.labelled else None,
        id=find_optional("id", columns.id),
        split=find_optional("split", columns.split),
        group=find_optional("group", columns.group),
    )
    if twice := _repeated(header):
        raise DataError(
            f'{file_name} has more than one column "{twice[0]}" among its columns: '
            f"{list_names(header)}; give each a name of its own"
        )
    return positions


def _missing(option: str, name: str, header: list[str], file_name: str, delimiter: str) -> str:
    fault = missing_name(option, name, header, place=file_name, noun="column")
    if len(header) == 1:
        marks = {mark: header[0].count(mark) for mark in _DELIMITERS if mark != delimiter}
        mark = max(marks, key=lambda mark: marks[mark])
        if marks[mark]:
            remedy = f"delimiter='{mark}' / --delimiter '{mark}'"
            if mark == "\t":
                remedy = "format='tsv' / --format tsv"
            return (
                f"{fault.sentence}; it seems to be separated by {_DELIMITERS[mark]}, so read it "
                f"with {remedy}"
            )
    # The text is looked for first: where it is found, the first line is a header.
    if option == "text" and (_repeated(header) or any(map(_is_like_data, header))):
        return f"{fault.sentence}; that looks like data: put a line with the columns' names first"
    return f"{fault.sentence}; {fault.remedy}"


def _repeated(header: list[str]) -> list[str]:
    # Columns without a name cannot be asked for, so several of them do no harm.
    return [name for name, count in Counter(header).items() if name and count > 1]


def _is_like_data(name: str) -> bool:
    return len(name.split()) > 5 or name.replace(".", "", 1).isdecimal()


def _fault(fields: list[str], header: list[str], label: int | None, place: str) -> Fault | None:
    if not fields:
        return Fault(f"{place} is blank", 'write "" for an empty document, or delete the line')
    if len(fields) != len(header):
        what = f"{len(fields)} fields where the header has {len(header)} ({list_names(header)})"
        return Fault(f"{place} has {what}", "quote any field that holds the delimiter")
    if label is not None and not fields[label].strip():
        return Fault(f'{place}: the label (column "{header[label]}") is empty', "give it a label")
    return None
