"""Duplicate samples: how to find them, and folds that keep them together."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number_duplicates(X: Any) -> NDArray[np.intp]:
    """Return an id for each sample; duplicates, and only they, have the same id.

    Parameters
    ----------
    X : array, sparse matrix, data frame or sequence of texts of length n_samples

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> number_duplicates(["to be", "or not", "to be"])
    array([0, 1, 0])
    >>> number_duplicates(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 3.0]]))
    array([0, 1, 1])
    """
    ids: dict[Hashable, int] = {}
    return np.array([ids.setdefault(key, len(ids)) for key in _hashable_samples(X)], np.intp)


def stratify_groups(
    y: NDArray[Any], groups: NDArray[np.intp], n_folds: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Assign groups to folds, stratified by the class of their first sample.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Class codes or labels, in random order.
    groups : intp array of shape (n_samples,)
        Group of each sample.
    n_folds : int

    Returns
    -------
    known : intp array of shape (n_groups,)
        The groups, sorted.
    folds : intp array of shape (n_groups,)
        Fold of each group.

    Examples
    --------
    >>> stratify_groups(np.array([0, 0, 0, 1, 1, 1]), np.array([4, 4, 2, 1, 3, 3]), 2)
    (array([1, 2, 3, 4]), array([1, 1, 0, 0]))
    """
    known, first, sizes = np.unique(groups, return_index=True, return_counts=True)
    # Sorted by class, large groups before small ones, so that assigning folds in turn stratifies
    # them and balances their sizes.
    order = np.lexsort((first, -sizes, y[first]))
    folds = np.empty(len(order), np.intp)
    folds[order] = np.arange(len(order)) % n_folds
    return known, folds


def _hashable_samples(X: Any) -> Iterable[Hashable]:
    """Yield a key for each sample that only its duplicates have."""
    if hasattr(X, "tocsr"):
        csr = X.tocsr(copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        bounds = zip(csr.indptr[:-1], csr.indptr[1:], strict=True)
        return (
            (csr.indices[start:stop].tobytes(), csr.data[start:stop].tobytes())
            for start, stop in bounds
        )
    if hasattr(X, "itertuples"):
        tuples: Iterable[Hashable] = X.itertuples(index=False, name=None)
        return tuples
    if getattr(X, "ndim", 1) == 2:
        dense = np.asarray(X)
        if dense.dtype == object:
            return map(tuple, dense.tolist())
        return (sample.tobytes() for sample in np.ascontiguousarray(dense) + 0)  # -0.0 becomes 0.0
    return (sample if isinstance(sample, str) else repr(sample) for sample in X)
