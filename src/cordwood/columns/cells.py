"""Values of cells: conversion to texts, categories, numbers and parts of dates."""

import math
from datetime import datetime
from numbers import Number
from typing import Any

from cordwood._base.labels import is_missing
from cordwood.datasets.values import InvalidValue, TimeParser, parse_number, show_value

# The category of a missing value. A missing number is NaN.
MISSING = "(missing)"

# Strings that mean that a number or a date is missing, in lower case.
_MISSING_STRINGS = frozenset(("", "-", "?", "n/a", "na", "nan", "none", "null"))

DATE_PARTS = ("year", "month", "weekday", "day of year", "days")
_SECONDS_PER_DAY = 86_400


def to_text(value: Any) -> str:
    """Return a text; a missing text is empty."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return ""
    raise InvalidValue(f"is of type {type(value).__name__}, not a string")


def to_category(value: Any) -> str:
    """Return a category as a string, which does not depend on the type of its column.

    An integer column with missing values is often stored as floats.

    >>> [to_category(value) for value in ("a", 2, 2.0, "2", None, " ")]
    ['a', '2', '2', '2', '(missing)', '(missing)']
    """
    if isinstance(value, str):
        return value.strip() or MISSING
    if is_missing(value):
        return MISSING
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if hasattr(value, "__len__"):
        raise InvalidValue(f"is of type {type(value).__name__}, not a category")
    return str(value)


def to_number(value: Any) -> float:
    """Return a number; NaN if it is missing.

    >>> [to_number(value) for value in (2, " 1e3", True, "NA")]
    [2.0, 1000.0, 1.0, nan]
    """
    if is_missing(value) or (isinstance(value, str) and _is_missing_string(value)):
        return math.nan
    if not isinstance(value, str | Number):
        raise InvalidValue(f"is of type {type(value).__name__}, not a number")
    number = float(value) if isinstance(value, bool) else parse_number(value)
    if number is None:
        raise InvalidValue(f"is {show_value(value)}, not a number")
    if math.isinf(number):
        raise InvalidValue("is infinite, not a number")
    return number


def to_date_parts(value: Any) -> tuple[float, ...]:
    """Return the parts of a date, in the order of `DATE_PARTS`; all are NaN if it is missing.

    >>> to_date_parts("2024-02-01T12:00")
    (2024.0, 2.0, 3.0, 32.0, 19754.5)
    """
    # Weekdays are numbered from 0, Monday. Days are counted from 1970-01-01; the time of day is a
    # fraction.
    if is_missing(value) or (isinstance(value, str) and _is_missing_string(value)):
        return (math.nan,) * len(DATE_PARTS)
    parsed = TimeParser()(value)
    if not isinstance(parsed, datetime):
        raise InvalidValue(f"is {show_value(value)}, not an ISO 8601 date")
    days = (parsed - datetime(1970, 1, 1)).total_seconds() / _SECONDS_PER_DAY
    day_of_year = parsed.timetuple().tm_yday
    parts = (parsed.year, parsed.month, parsed.weekday(), day_of_year, days)
    return tuple(map(float, parts))


def _is_missing_string(value: str) -> bool:
    return value.strip().lower() in _MISSING_STRINGS
