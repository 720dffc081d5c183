"""Validation of class labels and label indicators, and the test for missing values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import DataError


def check_n_classes(labels: Sequence[Any], source: str) -> None:
    """Raise if there are fewer than two classes among the labels."""
    classes = set(labels)
    if not classes:
        raise DataError(f"{source} has no samples; a classifier needs at least two classes")
    if len(classes) == 1:
        raise DataError(
            f"all {len(labels)} samples of {source} have the label {classes.pop()!r}; a classifier "
            "needs at least two classes"
        )


def check_no_missing(labels: Sequence[Any], source: str) -> None:
    """Raise if a label is None or NaN."""
    for position, label in enumerate(labels):
        if is_missing(label):
            raise DataError(f"{source}[{position}] is {label!r}; remove unlabelled samples")


def find_indicators(y: Any) -> NDArray[np.bool_] | None:
    """Return label indicators as a dense array of shape (n_samples, n_labels).

    None unless `y` is a matrix of zeros and ones with at least one column.

    >>> find_indicators([[1, 0], [1, 1]])
    array([[ True, False],
           [ True,  True]])
    >>> find_indicators([1, 0]) is None, find_indicators([["a"], ["a", "b"]]) is None
    (True, True)
    """
    try:
        dense = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    except ValueError:  # lists of different lengths
        return None
    is_matrix = dense.ndim == 2 and dense.dtype.kind in "biuf" and dense.shape[1] > 0
    return np.asarray(dense != 0) if is_matrix and np.isin(dense, (0, 1)).all() else None


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or a missing value of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value; arrays have several
        return type(value).__name__ == "NAType"
