"""Rows of JSON lines: one object a line."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from cordwood.datasets._lines import Lines
from cordwood.datasets._row_errors import BadRows, Fault
from cordwood.datasets._rows import Columns, Row, missing_name
from cordwood.exceptions import DataError


class _Keys(NamedTuple):
    """The keys that hold the parts of a row, and whether a row has a list of labels."""

    text: tuple[str, ...]
    label: str | None
    several_labels: bool
    id: str | None
    split: str | None
    group: str | None


class _BadRow(Exception):
    """A row cannot be used; holds its fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


def json_rows(lines: Lines, columns: Columns, bad_rows: BadRows) -> Iterator[Row]:
    """Read a row from each line that is not blank.

    The first good row decides for all whether there are ids, splits and groups, and whether a row
    has one label or a list of them.
    """
    keys: _Keys | None = None
    n_rows = 0
    for line in lines:
        line = line.rstrip()
        if not line:
            continue
        n_rows += 1
        place = f"{lines.name}, line {lines.number}"
        try:
            if lines.flaw:
                raise _BadRow(lines.flaw)
            record = _parse(line, place)
            row_keys = keys or _settle(columns, record)
            row = _make_row(record, row_keys, n_rows, lines.number, place)
        except _BadRow as bad:
            lines.flaw = None
            bad_rows.refuse(bad.fault)
        else:
            keys = row_keys
            yield row
    if n_rows == 0:
        raise DataError(f"{lines.name} is empty; it needs one JSON object a line")


def _parse(line: str, place: str) -> dict[str, Any]:
    remedy = "write one whole JSON object a line"
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise _BadRow(
            Fault(f"{place} is not JSON at character {error.pos + 1} ({error.msg})", remedy)
        ) from None
    except (ValueError, RecursionError) as error:
        raise _BadRow(Fault(f"{place} cannot be read ({error})", "mend the line")) from None
    if not isinstance(record, dict):
        raise _BadRow(Fault(f"{place} holds {_describe(record)}, not an object", remedy))
    return record


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key "{twice}" occurs more than once')
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys)


def _settle(columns: Columns, record: dict[str, Any]) -> _Keys:
    label = columns.label or ("labels" if "labels" in record and "label" not in record else "label")
    return _Keys(
        text=columns.text or ("text",),
        label=label if columns.labelled else None,
        several_labels=isinstance(record.get(label), list),
        id=columns.id or ("id" if "id" in record else None),
        split=columns.split or ("split" if "split" in record else None),
        group=columns.group or ("group" if "group" in record else None),
    )


def _make_row(record: dict[str, Any], keys: _Keys, n_rows: int, line: int, place: str) -> Row:
    def find(option: str, key: str) -> str:
        return _string(_value(record, option, key, place), option, key, place)

    def find_optional(option: str, key: str | None) -> str | None:
        if key is None and option in record:
            what = f'{place} has a key "{option}", which the rows before it do not have'
            raise _BadRow(Fault(what, "give it to all rows or to none"))
        return None if key is None else find(option, key)

    row_id = find_optional("id", keys.id)
    return Row(
        id=str(n_rows) if row_id is None else row_id,
        text="\n".join([find("text", key) for key in keys.text]),
        label=None if keys.label is None else _label(record, keys.label, keys, place),
        split=find_optional("split", keys.split),
        group=find_optional("group", keys.group),
        line=line,
    )


def _label(record: dict[str, Any], key: str, keys: _Keys, place: str) -> str | tuple[str, ...]:
    value = _value(record, "label", key, place)
    if isinstance(value, list) != keys.several_labels:
        usual = "a list of labels" if keys.several_labels else "one label"
        what = f"is {_describe(value)} where the rows before it have {usual}"
        raise _BadRow(Fault(f'{place}: the label (key "{key}") {what}', "write all rows alike"))
    entries = value if isinstance(value, list) else [value]
    labels = tuple(_string(entry, "label", key, place) for entry in entries)
    if not all(map(str.strip, labels)):
        raise _BadRow(Fault(f'{place}: the label (key "{key}") is empty', "give it a label"))
    return labels if keys.several_labels else labels[0]


def _value(record: dict[str, Any], option: str, key: str, place: str) -> Any:
    if key not in record:
        raise _BadRow(missing_name(option, key, record, place=place, noun="key"))
    return record[key]


def _string(value: Any, option: str, key: str, place: str) -> str:
    # NaN, which some programs write for a missing value, is the one number unequal to itself.
    if isinstance(value, int | float) and value == value:
        return str(value)
    if not isinstance(value, str):
        what = f'the {option} (key "{key}") is {_describe(value)}'
        raise _BadRow(Fault(f"{place}: {what}", "write a string"))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = f"half of a surrogate pair (\\u{ord(value[error.start]):04x})"
            what = f'the {option} (key "{key}") holds {half}, which is no character'
            raise _BadRow(Fault(f"{place}: {what}", "mend the text")) from None
    return value


def _describe(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number"}
    if value is None:
        return "null"
    return names.get(type(value), "a number" if value == value else "NaN")
