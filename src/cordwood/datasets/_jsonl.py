"""Reader of JSON Lines files: one object per line."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from cordwood._labels import is_missing
from cordwood.datasets._lines import Lines
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets._rows import ColumnNames, Row, missing_name_issue, shorten
from cordwood.datasets._values import (
    InvalidValue,
    TimeParser,
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


class _InvalidRow(Exception):
    """Raised for a row that cannot be used."""

    def __init__(self, issue: RowIssue) -> None:
        super().__init__(issue.message)
        self.issue = issue


def read_jsonl_rows(lines: Lines, columns: ColumnNames, bad_rows: BadRowHandler) -> Iterator[Row]:
    """Yield one row per line that is not blank.

    The first valid row determines whether all rows have ids, splits and groups, and whether labels
    are lists. A key of `columns.extra` may be missing in some rows.
    """
    keys: _Keys | None = None
    parse_time = TimeParser()
    n_valid = 0
    missing = set(columns.extra) if isinstance(columns.extra, tuple) else set()
    number = 0
    for line in lines:
        line = line.rstrip()
        if not line:
            continue
        number += 1
        place = f"{lines.name}, line {lines.number}"
        try:
            if lines.issue:
                raise _InvalidRow(lines.issue)
            record = _parse(line, place)
            row_keys = keys or _choose_keys(columns, record)
            row = _make_row(record, row_keys, columns, number, place, parse_time)
        except _InvalidRow as error:
            lines.issue = None
            bad_rows.handle(error.issue)
        else:
            keys = row_keys
            n_valid += 1
            missing = missing and missing.difference(record)
            yield row
    if number == 0:
        raise DataError(f"{lines.name} is empty; it must have one JSON object per line")
    if missing and n_valid:
        raise DataError(
            f'{lines.name} has no row with the key "{min(missing)}"; name a key that exists'
        )


def _parse(line: str, place: str) -> dict[str, Any]:
    advice = "write one JSON object per line"
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise _InvalidRow(
            RowIssue(f"{place} is not JSON at character {error.pos + 1} ({error.msg})", advice)
        ) from None
    except (ValueError, RecursionError) as error:
        raise _InvalidRow(
            RowIssue(f"{place} cannot be read ({error})", "correct the line")
        ) from None
    if not isinstance(record, dict):
        raise _InvalidRow(RowIssue(f"{place} is {_describe_type(record)}, not an object", advice))
    return record


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f'the key "{shorten(name)}" occurs more than once')
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_reject_duplicate_keys)


def _choose_keys(columns: ColumnNames, record: dict[str, Any]) -> _Keys:
    label = columns.label or ("labels" if "labels" in record and "label" not in record else "label")
    return _Keys(
        text=("text",) if columns.text is None else columns.text,
        label=label if columns.labeled else None,
        multilabel=columns.label_separator is not None or isinstance(record.get(label), list),
        id=columns.id or ("id" if "id" in record else None),
        split=columns.split or ("split" if "split" in record else None),
        group=columns.group or ("group" if "group" in record else None),
        weight=columns.weight,
        time=columns.time,
    )


def _make_row(
    record: dict[str, Any],
    keys: _Keys,
    columns: ColumnNames,
    number: int,
    place: str,
    parse_time: TimeParser,
) -> Row:
    def get(option: str, key: str) -> str:
        return _to_string(_get_value(record, option, key, place), option, key, place)

    def get_optional(option: str, key: str | None) -> str | None:
        if key is None and option in record:
            message = f'{place} has a key "{option}", which the rows before it do not have'
            raise _InvalidRow(RowIssue(message, "add it to all rows or to none"))
        return None if key is None else get(option, key)

    def parse(option: str, key: str | None, convert: Callable[[Any], _T]) -> _T | None:
        if key is None:
            return None
        value = _get_value(record, option, key, place)
        try:
            return convert(value)
        except InvalidValue as error:
            message = f'{place}: the {option} (key "{key}") {error}'
            raise _InvalidRow(RowIssue(message, "correct the value")) from None

    used = (keys.label, keys.id, keys.split, keys.group, keys.weight, keys.time)
    row_id = get_optional("id", keys.id)
    return Row(
        id=str(number) if row_id is None else row_id,
        text="\n".join([get("text", key) for key in keys.text]),
        label=_get_label(record, keys, columns.label_separator, place),
        split=get_optional("split", keys.split),
        group=get_optional("group", keys.group),
        weight=parse("weight", keys.weight, parse_weight),
        time=parse("time", keys.time, parse_time),
        columns={
            name: to_plain_value(record.get(name)) for name in columns.list_extra(record, used)
        },
    )


def _get_label(
    record: dict[str, Any], keys: _Keys, separator: str | None, place: str
) -> str | tuple[str, ...] | None:
    if (key := keys.label) is None:
        return None
    value = _get_value(record, "label", key, place)
    if separator is not None and isinstance(value, str):
        value = list(split_labels(value, separator))
    if isinstance(value, list) != keys.multilabel:
        usual = "a list of labels" if keys.multilabel else "one label"
        message = f'{place}: the label (key "{key}") is {_describe_type(value)}'
        raise _InvalidRow(
            RowIssue(
                f"{message} but the rows before it have {usual}", "use the same type in all rows"
            )
        )
    entries = value if isinstance(value, list) else [value]
    labels = tuple(_to_string(entry, "label", key, place) for entry in entries)
    if not all(map(str.strip, labels)):
        raise _InvalidRow(RowIssue(f'{place}: the label (key "{key}") is empty', "add a label"))
    return labels if keys.multilabel else labels[0]


def _get_value(record: dict[str, Any], option: str, key: str, place: str) -> Any:
    if key not in record:
        raise _InvalidRow(missing_name_issue(option, key, record, place=place, noun="key"))
    return record[key]


def _to_string(value: Any, option: str, key: str, place: str) -> str:
    if isinstance(value, int | float) and not is_missing(value):
        return str(value)
    if not isinstance(value, str):
        message = f'{place}: the {option} (key "{key}") is {_describe_type(value)}'
        raise _InvalidRow(RowIssue(message, "use a string"))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            surrogate = f"a lone surrogate (\\u{ord(value[error.start]):04x})"
            message = f'{place}: the {option} (key "{key}") contains {surrogate}'
            raise _InvalidRow(RowIssue(message, "correct the text")) from None
    return value


def _describe_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number"}
    if value is None:
        return "null"
    return names.get(type(value), "NaN" if is_missing(value) else "a number")
