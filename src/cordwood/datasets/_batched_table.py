"""Reader of tables with named columns and typed values: dataframes, Parquet, Excel, SQLite."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, NamedTuple

from cordwood._base.labels import is_missing
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.lines import row_length_error
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import NO_COLUMNS, Row, list_names, missing_name_issue
from cordwood.datasets.values import (
    InvalidValue,
    TimeParser,
    clean_label,
    find_surrogate,
    parse_weight,
    split_labels,
    to_list,
    to_plain_value,
)
from cordwood.exceptions import DataError

_PARSED = ("weight", "time")


class ColumnBatch(NamedTuple):
    """Rows of a table: their numbers in messages, and the values of each column."""

    numbers: Sequence[int]
    columns: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, kw_only=True)
class BatchedTable:
    """A table that is read in batches of rows."""

    name: str  # in messages
    columns: Sequence[str]  # may have duplicates
    iter_batches: Callable[[list[str]], Iterable[ColumnBatch]]  # of these columns
    # Whether the values of a column may be of any type, as in a spreadsheet. A number in a column
    # of texts is then converted; otherwise it is an error, because it is probably the wrong column.
    untyped: bool = False
    # Whether an empty string in a further column is a missing value, as in a spreadsheet.
    empty_is_missing: bool = False


def read_table_rows(
    table: BatchedTable,
    options: ReadOptions,
    bad_rows: BadRowHandler,
    numbers: Iterator[int],
) -> Iterator[Row]:
    """Yield the rows of a table; the first valid one determines whether labels are lists."""
    maker = _RowMaker(table, options)
    is_empty = True
    for batch in table.iter_batches(maker.column_names):
        for index, row_number in enumerate(batch.numbers):
            is_empty = False
            number = next(numbers)
            try:
                row = maker.make(batch.columns, index, str(number))
            except InvalidValue as error:
                message = f"{table.name}, row {row_number}: {error}"
                bad_rows.handle(RowIssue(message, "correct or drop the row"), number)
                continue
            if len(row.text) > options.max_row_length:
                raise row_length_error(f"{table.name}, row {row_number}", options.max_row_length)
            yield row
    if is_empty:
        raise DataError(f"{table.name} has no rows")


def find_duplicates(header: Iterable[str]) -> list[str]:
    """Return the column names that occur more than once; columns without a name are ignored."""
    return [name for name, count in Counter(header).items() if name and count > 1]


class _RowMaker:
    """Makes rows of the values of a table."""

    def __init__(self, table: BatchedTable, options: ReadOptions) -> None:
        self._table = table
        self._separator = options.label_separator
        self._parts = _choose_columns(options, table)
        used = [name for part, name in self._parts if part != "text"]
        self._extra = options.list_extra(table.columns, used)
        for name in self._extra:
            _check_present("extra_columns", name, table)
        if duplicates := find_duplicates(table.columns):
            raise DataError(
                f'{table.name} has more than one column "{duplicates[0]}" among its columns: '
                f"{list_names(table.columns)}; rename one of them"
            )
        self._multilabel: bool | None = None
        self._parse_time = TimeParser()

    @property
    def column_names(self) -> list[str]:
        """Names of the columns to read, each once."""
        return list(dict.fromkeys([*(name for _, name in self._parts), *self._extra]))

    def make(self, values: Mapping[str, Sequence[Any]], index: int, id: str) -> Row:
        """Return a row; raise `InvalidValue` if a value cannot be used."""
        found: dict[str, Any] = {"id": id}
        texts: list[str] = []
        for part, name in self._parts:
            try:
                value = self._convert(part, values[name][index])
            except InvalidValue as error:
                raise InvalidValue(f'the {part} (column "{name}") {error}') from None
            if part == "text":
                texts.append(value)
            else:
                found[part] = value
        self._multilabel = isinstance(found.get("label"), tuple)
        extra = NO_COLUMNS
        if self._extra:
            extra = {name: self._convert_extra(values[name][index]) for name in self._extra}
        return Row(text="\n".join(texts), columns=extra, **found)

    def _convert_extra(self, value: Any) -> Any:
        return None if value == "" and self._table.empty_is_missing else to_plain_value(value)

    def _convert(self, part: str, value: Any) -> Any:
        if part == "text":
            return self._to_string(part, value)
        if part == "weight":
            return parse_weight(value)
        if part == "time":
            return self._parse_time(value)
        return self._convert_label(value) if part == "label" else self._to_string(part, value)

    def _convert_label(self, value: Any) -> Any:
        """Convert a label to a string, or to a tuple of strings if there are several."""
        if self._separator is not None and (isinstance(value, str) or is_missing(value)):
            return split_labels(value if isinstance(value, str) else "", self._separator)
        is_list = not isinstance(value, str) and hasattr(value, "__len__")
        if not (is_list or self._multilabel) or is_missing(value):
            return self._to_string("label", value)
        if is_list and self._multilabel is not False:
            return tuple(self._to_string("label", entry) for entry in to_list(value))
        found, usual = ("a list", "one label") if is_list else ("not a list", "a list of labels")
        raise InvalidValue(f"is {found} but the rows before it have {usual}")

    def _to_string(self, part: str, value: Any) -> str:
        if isinstance(value, str):
            if part == "label" and not (value := clean_label(value)):
                raise InvalidValue("is empty")
            if not value.isascii() and (problem := find_surrogate(value)):
                raise InvalidValue(problem)
            return str(value)
        if is_missing(value):
            raise InvalidValue(f"is missing ({value!r})")
        is_text = part == "text" and not self._table.untyped
        # A text that is a number is probably the wrong column; ids and labels often are numbers.
        if is_text or not isinstance(value, Number):
            raise InvalidValue(f"is of type {type(value).__name__}, not a string")
        return str(value)


def _choose_columns(options: ReadOptions, table: BatchedTable) -> list[tuple[str, str]]:
    """Return the parts of a row with the names of their columns."""
    present = table.columns
    chosen = [("text", name) for name in options.text_columns]
    if options.labeled:
        usual = "labels" if "labels" in present and "label" not in present else "label"
        chosen.append(("label", options.label or usual))
    for part in ("id", "split", "group", *_PARSED):
        given = getattr(options, part)
        if given or (part in present and part not in _PARSED):
            chosen.append((part, given or part))
    for part, name in chosen:
        _check_present(part, name, table)
    return chosen


def _check_present(option: str, name: str, table: BatchedTable) -> None:
    if name not in table.columns:
        issue = missing_name_issue(option, name, table.columns, place=table.name, noun="column")
        raise DataError(f"{issue.message}; {issue.advice}")
