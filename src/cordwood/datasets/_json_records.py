"""Rows of JSON objects, for JSON Lines and JSON arrays."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from cordwood._base.labels import is_missing
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import NO_COLUMNS, Row, missing_name_issue
from cordwood.datasets.values import (
    InvalidValue,
    TimeParser,
    clean_label,
    find_surrogate,
    parse_weight,
    split_labels,
    to_plain_value,
)
from cordwood.exceptions import DataError

_T = TypeVar("_T")


class _Keys(NamedTuple):
    """Keys of the parts of a row, and whether the label is a list of labels."""

    text: tuple[str, ...]
    label: str | None
    multilabel: bool
    id: str | None
    split: str | None
    group: str | None
    weight: str | None
    time: str | None


class InvalidRow(Exception):
    """Raised for a row that cannot be used."""

    def __init__(self, issue: RowIssue) -> None:
        super().__init__(issue.message)
        self.issue = issue


class RecordReader:
    """Makes rows of JSON objects.

    The first valid row determines whether all rows have ids, splits and groups, and whether labels
    are lists. A further column may be missing in some rows.
    """

    def __init__(
        self,
        options: ReadOptions,
        bad_rows: BadRowHandler,
        numbers: Iterator[int],
        parse: Callable[[Any, str], Any],  # of an item and its place in messages
    ) -> None:
        self._options = options
        self._bad_rows = bad_rows
        self._numbers = numbers
        self._parse = parse
        self._keys: _Keys | None = None
        self._parse_time = TimeParser()
        extra = options.extra_columns
        self._missing = set() if isinstance(extra, str) else set(extra)

    def read(self, item: Any, place: str) -> Row | None:
        """Return the row of an item, or None if it is invalid and skipped."""
        number = next(self._numbers)
        try:
            record = self._parse(item, place)
            if not isinstance(record, dict):
                message = f"{place} is {_describe_type(record)}, not an object"
                raise InvalidRow(RowIssue(message, "write one JSON object per row"))
            keys = self._keys or _choose_keys(self._options, record)
            row = self._make_row(record, keys, number, place)
        except InvalidRow as error:
            self._bad_rows.handle(error.issue, number)
            return None
        self._keys = keys
        if self._missing:
            self._missing.difference_update(record)
        return row

    def _make_row(self, record: dict[str, Any], keys: _Keys, number: int, place: str) -> Row:
        row_id = _get_optional(record, "id", keys.id, place)
        texts = [
            _to_string(_get_value(record, "text", key, place), "text", key, place)
            for key in keys.text
        ]
        weight = time = None
        if keys.weight is not None:
            weight = _parse_value(record, "weight", keys.weight, parse_weight, place)
        if keys.time is not None:
            time = _parse_value(record, "time", keys.time, self._parse_time, place)
        return Row(
            str(number) if row_id is None else row_id,
            "\n".join(texts),
            _get_label(record, keys, self._options.label_separator, place),
            _get_optional(record, "split", keys.split, place),
            _get_optional(record, "group", keys.group, place),
            weight,
            time,
            self._get_extra(record, keys) if self._options.extra_columns else NO_COLUMNS,
        )

    def _get_extra(self, record: dict[str, Any], keys: _Keys) -> dict[str, Any]:
        used = (keys.label, keys.id, keys.split, keys.group, keys.weight, keys.time)
        names = self._options.list_extra(record, used)
        return {name: to_plain_value(record.get(name)) for name in names}

    def finish(self, name: str) -> None:
        """Raise an error if a key of further columns was in no row."""
        if self._missing and self._keys is not None:
            raise DataError(
                f'{name} has no row with the key "{min(self._missing)}"; name a key that exists'
            )


def _choose_keys(options: ReadOptions, record: dict[str, Any]) -> _Keys:
    label = options.label or ("labels" if "labels" in record and "label" not in record else "label")
    return _Keys(
        text=options.text_columns,
        label=label if options.labeled else None,
        multilabel=options.label_separator is not None or isinstance(record.get(label), list),
        id=options.id or ("id" if "id" in record else None),
        split=options.split or ("split" if "split" in record else None),
        group=options.group or ("group" if "group" in record else None),
        weight=options.weight,
        time=options.time,
    )


def _get_optional(record: dict[str, Any], option: str, key: str | None, place: str) -> str | None:
    if key is not None:
        return _to_string(_get_value(record, option, key, place), option, key, place)
    if option in record:
        message = f'{place} has a key "{option}", which the rows before it do not have'
        raise InvalidRow(RowIssue(message, "add it to all rows or to none"))
    return None


def _parse_value(
    record: dict[str, Any], option: str, key: str, parse: Callable[[Any], _T], place: str
) -> _T:
    value = _get_value(record, option, key, place)
    try:
        return parse(value)
    except InvalidValue as error:
        message = f'{place}: the {option} (key "{key}") {error}'
        raise InvalidRow(RowIssue(message, "correct the value")) from None


def _get_label(
    record: dict[str, Any], keys: _Keys, separator: str | None, place: str
) -> str | tuple[str, ...] | None:
    if (key := keys.label) is None:
        return None
    value = _get_value(record, "label", key, place)
    if separator is not None and isinstance(value, str | None):
        value = list(split_labels(value or "", separator))
    if isinstance(value, list) != keys.multilabel:
        usual = "a list of labels" if keys.multilabel else "one label"
        message = f'{place}: the label (key "{key}") is {_describe_type(value)}'
        raise InvalidRow(
            RowIssue(
                f"{message} but the rows before it have {usual}", "use the same type in all rows"
            )
        )
    entries = value if isinstance(value, list) else [value]
    labels = tuple(clean_label(_to_string(entry, "label", key, place)) for entry in entries)
    if not all(labels):
        raise InvalidRow(RowIssue(f'{place}: the label (key "{key}") is empty', "add a label"))
    return labels if keys.multilabel else labels[0]


def _get_value(record: dict[str, Any], option: str, key: str, place: str) -> Any:
    if key not in record:
        raise InvalidRow(missing_name_issue(option, key, record, place=place, noun="key"))
    return record[key]


def _to_string(value: Any, option: str, key: str, place: str) -> str:
    if isinstance(value, int | float) and not is_missing(value):
        return str(value)
    if not isinstance(value, str):
        message = f'{place}: the {option} (key "{key}") is {_describe_type(value)}'
        raise InvalidRow(RowIssue(message, "use a string"))
    if not value.isascii() and (problem := find_surrogate(value)):
        message = f'{place}: the {option} (key "{key}") {problem}'
        raise InvalidRow(RowIssue(message, "correct the text"))
    return value


def _describe_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number"}
    if value is None:
        return "null"
    return names.get(type(value), "NaN" if is_missing(value) else "a number")
