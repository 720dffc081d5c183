"""Copies: rows that are the same as others, whatever kind of rows these are."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number_copies(X: Any) -> NDArray[np.intp]:
    """Number the rows such that copies have the same number, and no others.

    Parameters
    ----------
    X : array, sparse matrix, data frame or sequence of texts

    Returns
    -------
    int array of shape (n_rows,)

    Examples
    --------
    >>> number_copies(["to be", "or not", "to be"])
    array([0, 1, 0])
    >>> number_copies(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 3.0]]))
    array([0, 1, 1])
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in _find_keys(X)], np.intp)


def _find_keys(X: Any) -> Iterable[Hashable]:
    """Give something for each row that only its copies have."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr(copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return (
            (rows.indices[first:last].tobytes(), rows.data[first:last].tobytes())
            for first, last in bounds
        )
    if hasattr(X, "itertuples"):
        tuples: Iterable[Hashable] = X.itertuples(index=False, name=None)
        return tuples
    if getattr(X, "ndim", 1) == 2:
        rows = np.asarray(X)
        if rows.dtype == object:
            return map(tuple, rows.tolist())
        return (row.tobytes() for row in np.ascontiguousarray(rows) + 0)  # -0.0 becomes 0.0
    return (item if isinstance(item, str) else repr(item) for item in X)
