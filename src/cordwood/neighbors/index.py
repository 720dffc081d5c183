"""Build an index of rows once, then ask it for the rows nearest to others."""

from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood.neighbors._knn import find_by_angle, find_by_distance, weigh

METRICS = ("words", "cosine", "euclidean")

# From this share of the rows on, adding a whole column is faster than walking its list.
_DENSE_SHARE = 0.25

# Candidates there is room for, for each neighbour wanted; half as many more are expected.
_ROOM = 4


class AngleIndex(NamedTuple):
    """Rows of unit length by columns: lists of entries, or whole columns where these are long.

    Parameters
    ----------
    idf : float64 array of shape (n_columns,)
        What values are multiplied by before a row is scaled to unit length.
    log_counts : bool
        Whether a value tf counts as 1 + ln tf.
    start : uint64 array of shape (n_columns + 1,)
    posting, weight : uint32 and float32 arrays
        The rows in which a column is not zero, and their values there.
    place : int32 array of shape (n_columns,)
        The column's place in `dense`; -1 if it is a list.
    dense : float32 array of shape (n_dense, n_rows)
    """

    idf: NDArray[np.float64]
    log_counts: bool
    start: NDArray[np.uint64]
    posting: NDArray[np.uint32]
    weight: NDArray[np.float32]
    place: NDArray[np.int32]
    dense: NDArray[np.float32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.dense.shape[1])


class DistanceIndex(NamedTuple):
    """Rows as they are, in CSR."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1


Index: TypeAlias = AngleIndex | DistanceIndex


def choose_metric(X: sp.csr_matrix) -> str:
    """Choose how to compare rows by the values in them, whatever they are stored in.

    Whole numbers from one on are taken for counts of words; other values that are not negative
    for weights, whose direction matters; all else for measurements.
    """
    if (X.data < 0).any():
        return "euclidean"
    return "words" if _are_counts(X.data) and (X.data == np.rint(X.data)).all() else "cosine"


def build(X: sp.csr_matrix, metric: str) -> Index:
    """Build an index of rows.

    Parameters
    ----------
    X : CSR matrix of float32 of shape (n_rows, n_columns)
        Without stored zeros, duplicates or unsorted indices.
    metric : {"words", "cosine", "euclidean"}
        "words" is the cosine of (1 + ln tf) * ln(n_rows / df), for values tf that are counts.

    Returns
    -------
    AngleIndex or DistanceIndex

    Examples
    --------
    >>> X = sp.csr_matrix(np.array([[1, 2, 0], [0, 0, 5], [3, 0, 0]], np.float32))
    >>> ids, distances = query(build(X, "cosine"), X, 2)
    >>> ids
    array([[ 0,  2],
           [ 1, -1],
           [ 2,  0]], dtype=int32)
    >>> distances.round(2)
    array([[0.  , 0.55],
           [0.  ,  inf],
           [0.  , 0.55]])
    """
    indptr = X.indptr.astype(np.int64)
    if metric == "euclidean":
        return DistanceIndex(read_only(indptr), read_only(X.indices), read_only(X.data))
    n_rows, n_columns = X.shape
    in_rows = np.bincount(X.indices, minlength=n_columns)
    idf = np.ones(n_columns)
    if metric == "words":
        idf = np.log(n_rows / np.maximum(in_rows, 1))
    weight = _weigh(X, indptr, idf, metric == "words")
    columns = sp.csr_matrix((weight, X.indices, X.indptr), shape=X.shape).tocsc()
    frequent = np.flatnonzero(in_rows > _DENSE_SHARE * n_rows)
    place = np.full(n_columns, -1, np.int32)
    place[frequent] = np.arange(len(frequent))
    dense = np.ascontiguousarray(columns[:, frequent].toarray().T)
    columns = columns.multiply(sp.csr_matrix(place < 0)).tocsc() if len(frequent) else columns
    return AngleIndex(
        idf=read_only(idf),
        log_counts=metric == "words",
        start=read_only(columns.indptr.astype(np.uint64)),
        posting=read_only(columns.indices.astype(np.uint32)),
        weight=read_only(columns.data),
        place=read_only(place),
        dense=read_only(dense),
    )


def query(
    index: Index,
    X: sp.csr_matrix,
    n_neighbors: int,
    *,
    own: NDArray[np.int64] | None = None,
    group: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the nearest rows of an index, exactly, and the same whatever is asked beside.

    By angle, only rows of a cosine above 1e-6 are neighbours: a document without a word in common
    tells nothing. Among rows at the same distance, in single precision, those of lower numbers
    are nearer.

    Parameters
    ----------
    index : AngleIndex or DistanceIndex
    X : CSR matrix of float32 of shape (n_queries, n_columns)
        Without stored zeros, duplicates or unsorted indices.
    n_neighbors : int
        How many to find, at most as many as there are rows.
    own : int64 array of shape (n_queries,), optional
        The queries' groups: rows of the same `group` are not their neighbours.
    group : int64 array of shape (n_rows,), optional
        The rows' groups; their numbers, by default, so that `own` names a row to leave out.

    Returns
    -------
    ids : int32 array of shape (n_queries, n_neighbors)
        The nearest first; -1 where there are no more.
    distances : float64 array of shape (n_queries, n_neighbors)
        Euclidean, or one minus the cosine; infinite where there are no more.
    """
    n_queries, n_columns = X.shape
    if own is None:
        own = np.full(n_queries, -1, np.int64)
    if group is None:
        group = np.arange(index.n_rows, dtype=np.int64)
    indptr = X.indptr.astype(np.int64)
    ids = np.empty((n_queries, n_neighbors), np.int32)
    found = np.empty((n_queries, n_neighbors))
    keys = np.empty(_ROOM * n_neighbors + _ROOM, np.int64)
    asked = (read_only(indptr), read_only(X.indices))
    groups = (read_only(own), read_only(group))
    if isinstance(index, AngleIndex):
        values = read_only(_weigh(X, indptr, index.idf, index.log_counts))
        singles = np.zeros(index.n_rows, np.float32)
        find_by_angle(index, *asked, values, *groups, singles, keys, ids, found)
        return ids, np.maximum(1.0 - found, 0.0)
    x, scores = np.zeros(n_columns), np.zeros(index.n_rows)
    find_by_distance(index, *asked, read_only(X.data), *groups, x, scores, keys, ids, found)
    return ids, np.sqrt(np.maximum(-found, 0.0))


def _weigh(
    X: sp.csr_matrix, indptr: NDArray[np.int64], idf: NDArray[np.float64], log_counts: bool
) -> NDArray[np.float32]:
    if log_counts and not _are_counts(X.data):
        raise ValueError(
            'metric="words" takes counts, of at least 1, and X has the value '
            f'{X.data.min():g}; give counts, or fit with metric="cosine" or metric="euclidean"'
        )
    out = np.empty(X.nnz, np.float32)
    weigh(
        read_only(indptr), read_only(X.indices), read_only(X.data), read_only(idf), log_counts, out
    )
    return out


def _are_counts(data: NDArray[np.float32]) -> bool:
    return bool((data >= 1).all())
