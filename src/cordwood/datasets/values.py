"""Values of columns: conversion to Python objects, weights, times and lists of labels."""

import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from numbers import Number
from typing import Any

from cordwood._base.labels import is_missing
from cordwood._base.wording import shorten

# With thousands, or with other than three decimals.
_DECIMAL_COMMA = re.compile(
    r"[-+]?(\d{1,3}(\.\d{3})+,\d+|\d*,(\d{1,2}|\d{4,})|(0|\d{4,}),\d{3})", re.ASCII
)

# White space, zero-width characters and marks of the direction of text.
_INVISIBLE = "".join(
    letter
    for letter in map(chr, range(0x10000))
    if letter.isspace() or letter in "\u00ad\u200b\u200c\u200d\u2060\ufeff\u061c\u200e\u200f"
)

# Methods that return Python objects: of numpy and pandas, of polars, of pyarrow.
_CONVERSIONS = ("tolist", "to_list", "to_pylist")


class InvalidValue(Exception):
    """Raised for a value that cannot be used; the argument describes it, as in "is missing"."""


def to_list(column: Iterable[Any]) -> list[Any]:
    """Convert a sequence, array or dataframe column to a list of Python objects.

    Examples
    --------
    >>> import numpy as np
    >>> to_list(np.array(["a", "b"]))
    ['a', 'b']
    """
    for name in _CONVERSIONS:
        if callable(convert := getattr(column, name, None)):
            return list(convert())
    return list(column)


def to_plain_value(value: Any) -> Any:
    """Convert a missing value to None, a date or time to an ISO 8601 string; keep the others.

    A date and time at midnight is converted as a date.

    Examples
    --------
    >>> [to_plain_value(value) for value in (float("nan"), date(2024, 5, 1), 1.5, "a")]
    [None, '2024-05-01', 1.5, 'a']
    """
    if isinstance(value, str | int):
        return value
    if is_missing(value):
        return None
    if isinstance(value, datetime) and value.tzinfo is None and value.time() == time():
        value = value.date()
    return value.isoformat() if isinstance(value, date | time) else value


def clean_label(label: str) -> str:
    """Return a label without white space and invisible characters around it.

    Examples
    --------
    >>> clean_label("\\u200b a label\\u00a0\\t")
    'a label'
    """
    return label.strip(_INVISIBLE)


def split_labels(value: str, separator: str) -> tuple[str, ...]:
    """Split a string into its labels, without surrounding spaces, empty labels and duplicates.

    Examples
    --------
    >>> split_labels("oil; gas;oil;", ";")
    ('oil', 'gas')
    """
    labels = map(clean_label, value.split(separator))
    return tuple(dict.fromkeys(label for label in labels if label))


def parse_weight(value: Any) -> float:
    """Return a sample weight as a number.

    Examples
    --------
    >>> parse_weight("0.5")
    0.5
    """
    weight = parse_number(value)
    if weight is None or not 0 <= weight < math.inf:
        raise InvalidValue(f"is {show_value(value)}, not a number of at least 0")
    return weight


class TimeParser:
    """Parses times: the first determines whether all are dates or all are numbers.

    Examples
    --------
    >>> parse = TimeParser()
    >>> parse("2024-05-01"), parse("2024-05-01T12:00+02:00").isoformat()
    (datetime.datetime(2024, 5, 1, 0, 0), '2024-05-01T10:00:00')
    """

    def __init__(self) -> None:
        self._type: type | None = None

    def __call__(self, value: Any) -> float | datetime:
        """Return a number, or a date and time in UTC without a time zone."""
        parsed = parse_number(value)
        found = _parse_date(value) if parsed is None else parsed
        if found is None or (isinstance(found, float) and not math.isfinite(found)):
            raise InvalidValue(f"is {show_value(value)}, not a number or an ISO 8601 date")
        if self._type is None:
            self._type = type(found)
        elif type(found) is not self._type:
            kinds = ("a date", "numbers") if self._type is float else ("a number", "dates")
            raise InvalidValue(f"is {kinds[0]}, but the rows before it have {kinds[1]}")
        return found


def find_surrogate(value: str) -> str | None:
    """Describe the first lone surrogate of a string, or return None.

    Examples
    --------
    >>> find_surrogate("a\\ud800")
    'contains a lone surrogate (\\\\ud800)'
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return f"contains a lone surrogate (\\u{ord(value[error.start]):04x})"
    return None


def parse_number(value: Any) -> float | None:
    """Return a number or a string as a float; None if it is not a number, as a bool is not.

    A comma is a decimal sign, unless it may separate thousands: "1,234" is not a number.

    Examples
    --------
    >>> [parse_number(value) for value in (2, " 1e3", "1.250,5", "1,234", True, "two", None)]
    [2.0, 1000.0, 1250.5, None, None, None, None]
    """
    if is_missing(value) or isinstance(value, bool) or not isinstance(value, str | Number):
        return None
    if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value.strip()):
        value = value.replace(".", "").replace(",", ".")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _parse_date(value: Any) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if is_missing(value) or not isinstance(value, date):
        return None
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        try:
            value = value.astimezone(UTC)
        except OverflowError:  # the first and the last day of the calendar
            return None
    # Also converts a Timestamp of pandas, whose nanoseconds are dropped.
    return datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second,
        value.microsecond,
    )  # fmt: skip


def show_value(value: Any) -> str:
    """Return a value for messages, shortened; "missing" if there is none.

    Examples
    --------
    >>> show_value(30 * "a"), show_value(" ")
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaa...", 'missing')
    """
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return "missing"
    return shorten(repr(value))
