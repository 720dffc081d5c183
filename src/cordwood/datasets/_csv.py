"""Reader of comma- and tab-separated files (RFC 4180) with a header."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import NamedTuple, TypeVar

from cordwood.datasets._batched_table import find_duplicates
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.lines import Lines, row_length_error
from cordwood.datasets.rows import NO_COLUMNS, ColumnNames, Row, list_names, missing_name_issue
from cordwood.datasets.values import InvalidValue, TimeParser, parse_weight, split_labels
from cordwood.exceptions import DataError

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# The limit of the csv module must fit a C long, which has 32 bits on Windows.
_MAX_FIELD_SIZE = (1 << 31) - 1
_MAX_SAMPLE_RECORDS = 20
_LINE_END = re.compile(r"\r\n?|\n")


class _Record(NamedTuple):
    """The fields of a row, and the line on which it starts."""

    fields: list[str]
    line: int


class _FieldIndices(NamedTuple):
    """Indices of the fields that contain the parts of a row."""

    text: tuple[int, ...]
    label: int | None
    id: int | None
    split: int | None
    group: int | None
    weight: int | None
    time: int | None
    extra: dict[str, int]


_T = TypeVar("_T")


def read_csv_rows(
    lines: Lines,
    columns: ColumnNames,
    bad_rows: BadRowHandler,
    delimiter: str,
    *,
    has_header: bool = True,
    numbers: Iterator[int] | None = None,
) -> Iterator[Row]:
    """Yield the rows, which are numbered from 1 unless `numbers` are given.

    Without a header, columns are named "1", "2" and so on. Blank lines are ignored. Empty fields of
    further columns are None. An unclosed quote and a row that is too long raise an error even if
    bad rows are skipped, because they may have consumed any number of rows.
    """
    numbers = count(1) if numbers is None else numbers
    records = _parse_records(lines, delimiter)
    first = _read_first_record(lines, records)
    header = [name.strip() for name in first.fields]
    if not has_header:
        header = [str(number) for number in range(1, len(header) + 1)]
        records = chain([first], records)
    indices = _find_columns(columns, header, lines.name, delimiter, has_header)
    maker = _RowMaker(columns, header, indices)
    is_empty = True
    required_label = maker.required_label
    for fields, line in records:
        if not fields and len(header) > 1:
            continue
        is_empty = False
        number = next(numbers)
        place = f"{lines.name}, line {line}"
        issue = lines.issue or _find_issue(fields, header, required_label, place)
        if issue is None:
            try:
                row = maker.make(fields, number)
            except InvalidValue as error:
                issue = RowIssue(f"{place}: {error}", "correct the value")
        if issue is None:
            yield row
        else:
            lines.issue = None
            bad_rows.handle(issue)
    if is_empty:
        raise DataError(f"{lines.name} has no rows after its header")


def detect_delimiter(sample: str, columns: ColumnNames, *, has_header: bool = True) -> str:
    """Choose the delimiter of a file from its first rows.

    It is the first of comma, semicolon, tab and bar that separates the names of the text and label
    columns in the header; otherwise the one that divides all rows into the same and largest number
    of fields.

    Examples
    --------
    >>> columns = ColumnNames(
    ...     text=None, label=None, labeled=True, id=None, split=None, group=None
    ... )
    >>> detect_delimiter("id;text;label\\n1;Oh, no;x\\n", columns)
    ';'
    """
    wanted = {*(("text",) if columns.text is None else columns.text)}
    if columns.labeled:
        wanted.add(columns.label or "label")
    best, n_most = ",", 1
    for delimiter in _DELIMITERS:
        records = _parse_sample(sample, delimiter)
        if has_header and records and wanted <= {name.strip() for name in records[0]}:
            return delimiter
        n_fields = {len(fields) for fields in records}
        if len(n_fields) == 1 and (n := n_fields.pop()) > n_most:
            best, n_most = delimiter, n
    return best


def describe_delimiter(delimiter: str) -> str:
    """Return a delimiter in words.

    Examples
    --------
    >>> describe_delimiter(";")
    'columns are separated by semicolons'
    """
    return f"columns are separated by {_DELIMITERS.get(delimiter, repr(delimiter))}"


def _parse_sample(sample: str, delimiter: str) -> list[list[str]]:
    """Return the first records that are not blank and not truncated."""
    records: list[list[str]] = []
    lines = io.StringIO(sample.removeprefix("\ufeff").replace("\0", ""), newline="")
    try:
        for fields in csv.reader(lines, delimiter=delimiter):
            if fields:
                records.append(fields)
            if len(records) > _MAX_SAMPLE_RECORDS:
                break
    except csv.Error:
        return []
    is_truncated = not sample.endswith(("\n", "\r"))
    return records[:-1] if is_truncated and len(records) > 1 else records


class _RowMaker:
    """Makes rows of the fields of records."""

    def __init__(self, columns: ColumnNames, header: list[str], indices: _FieldIndices) -> None:
        self._header = header
        self._indices = indices
        self._label_separator = columns.label_separator
        self._parse_time = TimeParser()

    @property
    def required_label(self) -> int | None:
        """Index of the label, if it must not be empty."""
        return self._indices.label if self._label_separator is None else None

    def make(self, fields: list[str], number: int) -> Row:
        """Return a row; raise `InvalidValue` if a field cannot be parsed."""
        indices = self._indices
        weight = time = None
        if indices.weight is not None:
            weight = self._parse("weight", indices.weight, fields, parse_weight)
        if indices.time is not None:
            time = self._parse("time", indices.time, fields, self._parse_time)
        extra = NO_COLUMNS
        if indices.extra:
            extra = {name: fields[index] or None for name, index in indices.extra.items()}
        return Row(
            str(number) if indices.id is None else fields[indices.id],
            "\n".join([fields[index] for index in indices.text]),
            self._get_label(fields),
            None if indices.split is None else fields[indices.split],
            None if indices.group is None else fields[indices.group],
            weight,
            time,
            extra,
        )

    def _get_label(self, fields: list[str]) -> str | tuple[str, ...] | None:
        if self._indices.label is None:
            return None
        label = fields[self._indices.label]
        if self._label_separator is None:
            return label
        return split_labels(label, self._label_separator)

    def _parse(self, part: str, index: int, fields: list[str], parse: Callable[[str], _T]) -> _T:
        try:
            return parse(fields[index])
        except InvalidValue as error:
            raise InvalidValue(f'the {part} (column "{self._header[index]}") {error}') from None


def _parse_records(lines: Lines, delimiter: str) -> Iterator[_Record]:
    # The limit is global to the process, so it must not be lowered.
    csv.field_size_limit(max(csv.field_size_limit(), min(lines.max_length, _MAX_FIELD_SIZE)))
    first_line = 1
    pending: list[str] = []
    n_pending = 0

    def buffer_lines() -> Iterator[str]:
        nonlocal n_pending
        for line in lines:
            pending.append(line)
            n_pending += len(line)
            if n_pending > lines.max_length:
                # Most likely because a quote is not closed.
                raise row_length_error(f"{lines.name}, line {first_line}", lines.max_length)
            yield line

    try:
        for fields in csv.reader(buffer_lines(), delimiter=delimiter, strict=True):
            yield _Record(fields, first_line)
            first_line = lines.number + 1
            n_pending = 0
            pending.clear()
    except csv.Error as error:
        if lines.issue:
            raise DataError(f"{lines.issue.message}; {lines.issue.advice}") from None
        first_line += _count_lines_before_unclosed_quote("".join(pending), delimiter)
        raise DataError(
            f"{lines.name}, line {first_line}: the quoted field that starts here is not closed "
            f"before a delimiter or line end (line {lines.number}: {error}); close it, and double "
            "each quote inside it"
        ) from None


def _count_lines_before_unclosed_quote(record: str, delimiter: str) -> int:
    stop = re.escape(delimiter)
    complete_field = re.compile(rf'(?:"(?:[^"]++|"")*+"|(?!")[^{stop}\r\n]*+)(?=[{stop}\r\n]|\Z)')
    position = 0
    while (field := complete_field.match(record, position)) and field.end() < len(record):
        position = field.end() + 1
    return len(_LINE_END.findall(record, 0, position))


def _read_first_record(lines: Lines, records: Iterator[_Record]) -> _Record:
    for record in records:
        if lines.issue:
            raise DataError(f"{lines.issue.message}; {lines.issue.advice}")
        if record.fields:
            return record
    raise DataError(f"{lines.name} is empty; it must have a header and rows")


def _find_columns(
    columns: ColumnNames, header: list[str], file_name: str, delimiter: str, has_header: bool
) -> _FieldIndices:
    def find(option: str, name: str) -> int:
        if name not in header:
            issue = missing_name_issue(option, name, header, place=file_name, noun="column")
            advice = _advise(option, header, delimiter) if has_header else None
            raise DataError(f"{issue.message}; {advice or issue.advice}")
        return header.index(name)

    def find_optional(option: str, name: str | None) -> int | None:
        return find(option, name or option) if name or option in header else None

    text = ("text",) if columns.text is None else columns.text
    indices = _FieldIndices(
        text=tuple(find("text", name) for name in text),
        label=find("label", columns.label or "label") if columns.labeled else None,
        id=find_optional("id", columns.id),
        split=find_optional("split", columns.split),
        group=find_optional("group", columns.group),
        weight=find("weight", columns.weight) if columns.weight else None,
        time=find("time", columns.time) if columns.time else None,
        extra={},
    )
    used = [header[index] for index in indices[1:-1] if isinstance(index, int)]
    for name in columns.list_extra(header, used):
        indices.extra[name] = find("extra_columns", name)
    if duplicates := find_duplicates(header):
        raise DataError(
            f'{file_name} has more than one column "{duplicates[0]}" among its columns: '
            f"{list_names(header)}; rename one of them"
        )
    return indices


def _advise(option: str, header: list[str], delimiter: str) -> str | None:
    """Return advice about a missing column if the delimiter or the header seems to be wrong."""
    if len(header) == 1:
        counts = {other: header[0].count(other) for other in _DELIMITERS if other != delimiter}
        likely = max(counts, key=lambda other: counts[other])
        if counts[likely]:
            advice = f"delimiter='{likely}' / --delimiter '{likely}'"
            if likely == "\t":
                advice = "format='tsv' / --format tsv"
            return f"it seems to be separated by {_DELIMITERS[likely]}, so read it with {advice}"
    # The text column is searched first: if it is found, the first line is a header.
    if option == "text" and (find_duplicates(header) or any(map(_looks_like_data, header))):
        return (
            "this looks like data: add a header line with the column names, or read it with "
            "header=False / --no-header and name the columns by their numbers"
        )
    return None


def _looks_like_data(name: str) -> bool:
    return len(name.split()) > 5 or name.replace(".", "", 1).isdecimal()


def _find_issue(
    fields: list[str], header: list[str], label: int | None, place: str
) -> RowIssue | None:
    if not fields:
        return RowIssue(f"{place} is blank", 'write "" for an empty text, or delete the line')
    if len(fields) != len(header):
        counts = f"{len(fields)} fields but the header has {len(header)} ({list_names(header)})"
        return RowIssue(f"{place} has {counts}", "quote fields that contain the delimiter")
    if label is not None and not fields[label].strip():
        message = f'{place}: the label (column "{header[label]}") is empty'
        return RowIssue(message, "add a label")
    return None
