"""Conversion of columns to lists, and missing values, without importing a dataframe library."""

from collections.abc import Iterable
from typing import Any

# Methods that return Python objects: of numpy and pandas, of polars, of pyarrow.
_CONVERSIONS = ("tolist", "to_list", "to_pylist")


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


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or a missing value of pandas.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except (
        TypeError,
        ValueError,
    ):  # the comparison is itself missing, as of pandas.NA, or an array
        return type(value).__name__ == "NAType"
