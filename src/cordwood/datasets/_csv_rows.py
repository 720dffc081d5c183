"""Reader of comma- and tab-separated files: rows of their records."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple, TypeVar

from cordwood.datasets._batched_table import find_duplicates
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.csv_records import (
    DELIMITERS,
    name_columns,
    parse_records,
    read_first_record,
)
from cordwood.datasets.lines import Lines
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import NO_COLUMNS, Row, list_names, missing_name_issue
from cordwood.datasets.values import (
    InvalidValue,
    TimeParser,
    clean_label,
    parse_weight,
    split_labels,
)
from cordwood.exceptions import DataError


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
    options: ReadOptions,
    bad_rows: BadRowHandler,
    numbers: Iterator[int],
    delimiter: str,
) -> Iterator[Row]:
    """Yield the rows; blank lines are ignored, and empty fields of further columns are None."""
    records = parse_records(lines, delimiter)
    first = read_first_record(lines, records)
    header = name_columns(first, options.header)
    if not options.header:
        records = chain([first], records)
    indices = _find_columns(options, header, lines.name, delimiter)
    maker = _RowMaker(options, header, indices)
    is_empty = True
    required_label = maker.required_label
    for fields, line, _ in records:
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
            bad_rows.handle(issue, number)
    if is_empty:
        raise DataError(f"{lines.name} has no rows after its header")


class _RowMaker:
    """Makes rows of the fields of records."""

    def __init__(self, options: ReadOptions, header: list[str], indices: _FieldIndices) -> None:
        self._header = header
        self._indices = indices
        self._label_separator = options.label_separator
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
            return clean_label(label)
        return split_labels(label, self._label_separator)

    def _parse(self, part: str, index: int, fields: list[str], parse: Callable[[str], _T]) -> _T:
        try:
            return parse(fields[index])
        except InvalidValue as error:
            raise InvalidValue(f'the {part} (column "{self._header[index]}") {error}') from None


def _find_columns(
    options: ReadOptions, header: list[str], file_name: str, delimiter: str
) -> _FieldIndices:
    def find(option: str, name: str) -> int:
        if name not in header:
            issue = missing_name_issue(option, name, header, place=file_name, noun="column")
            advice = _advise(option, header, delimiter) if options.header else None
            raise DataError(f"{issue.message}; {advice or issue.advice}")
        return header.index(name)

    def find_optional(option: str, name: str | None) -> int | None:
        return find(option, name or option) if name or option in header else None

    indices = _FieldIndices(
        text=tuple(find("text", name) for name in options.text_columns),
        label=find("label", options.label or "label") if options.labeled else None,
        id=find_optional("id", options.id),
        split=find_optional("split", options.split),
        group=find_optional("group", options.group),
        weight=find("weight", options.weight) if options.weight else None,
        time=find("time", options.time) if options.time else None,
        extra={},
    )
    used = [header[index] for index in indices[1:-1] if isinstance(index, int)]
    for name in options.list_extra(header, used):
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
        counts = {other: header[0].count(other) for other in DELIMITERS if other != delimiter}
        likely = max(counts, key=lambda other: counts[other])
        if counts[likely]:
            advice = f"delimiter='{likely}' / --delimiter '{likely}'"
            if likely == "\t":
                advice = "format='tsv' / --format tsv"
            return f"it seems to be separated by {DELIMITERS[likely]}, so read it with {advice}"
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
    if label is not None and not clean_label(fields[label]):
        message = f'{place}: the label (column "{header[label]}") is empty'
        return RowIssue(message, "add a label")
    return None
