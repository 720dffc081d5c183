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
