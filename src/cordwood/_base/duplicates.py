"""Duplicate samples: how to find them, and folds that keep them together."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number_duplicates(X: Any) -> NDArray[np.intp]:
    """Return an id for each sample; duplicates, and only they, have the same id.

    >>> number_duplicates(["to be", "or not", "to be"])
    array([0, 1, 0])
    >>> number_duplicates(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 3.0]]))
    array([0, 1, 1])
    """
    ids: dict[Hashable, int] = {}
    return np.array([ids.setdefault(key, len(ids)) for key in hashable_samples(X)], np.intp)


def assign_folds(
    y: NDArray[Any], groups: NDArray[np.intp], n_folds: int, samples: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Assign samples to folds, stratified by class, with each group in one fold.

    >>> y, groups = np.array([0, 0, 0, 1, 1, 1]), np.array([4, 4, 2, 1, 3, 3])
    >>> assign_folds(y, groups, 2, np.arange(6))
    array([0, 0, 1, 1, 0, 0])
    >>> assign_folds(y, groups, 2, np.array([0, 3, 4]))
    array([ 0,  0, -1,  1,  0,  0])
    """
    # A sample that is not in `samples` is in the fold of its group, which would otherwise leak its
    # label; it is in no fold (-1) if no other sample is in its group. The class of a group is that
    # of its first sample.
    known, first, sizes = np.unique(groups[samples], return_index=True, return_counts=True)
    # Sorted by class, large groups before small ones, so that assigning folds in turn stratifies
    # them and balances their sizes.
    order = np.lexsort((first, -sizes, y[samples][first]))
    fold_of_group = np.empty(len(order), np.intp)
    fold_of_group[order] = np.arange(len(order)) % n_folds
    index = np.minimum(np.searchsorted(known, groups), len(known) - 1)
    return np.where(known[index] == groups, fold_of_group[index], -1)


def hashable_samples(X: Any) -> Iterable[Hashable]:
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
