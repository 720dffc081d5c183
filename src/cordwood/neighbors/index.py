"""Indexes of training samples for exact nearest-neighbor queries."""

from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import read_only
from cordwood.neighbors._knn import find_by_cosine, find_by_distance, normalize_samples

METRICS = ("tfidf_cosine", "cosine", "euclidean")

# Features that occur in a larger fraction of the samples are stored as dense columns, which are
# faster to add than posting lists.
_DENSE_FRACTION = 0.25

# Size of the buffer of candidate keys, per neighbor; about 1.5 are used.
_KEYS_PER_NEIGHBOR = 4


class CosineIndex(NamedTuple):
    """Inverted index of samples of unit length; frequent features are dense columns."""

    # (n_features,): factors of the features before samples are scaled to unit length.
    idf: NDArray[np.float64]
    log_counts: bool  # whether a value tf is replaced by 1 + ln tf
    start: NDArray[np.uint64]  # (n_features + 1,): start of the posting list of each feature
    posting: NDArray[np.uint32]  # posting lists: samples that contain a feature, and their values
    weight: NDArray[np.float32]
    # (n_features,): row of `dense` that holds a feature; -1 if the feature has a posting list.
    dense_row: NDArray[np.int32]
    dense: NDArray[np.float32]  # (n_dense_features, n_samples): values of frequent features

    @property
    def n_samples(self) -> int:
        """Number of indexed samples."""
        return int(self.dense.shape[1])


class EuclideanIndex(NamedTuple):
    """Samples in CSR format, for a linear scan."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]

    @property
    def n_samples(self) -> int:
        """Number of indexed samples."""
        return len(self.indptr) - 1


Index: TypeAlias = CosineIndex | EuclideanIndex


def choose_metric(X: sp.csr_matrix) -> str:
    """Choose a metric by the values of `X`.

    Returns "tfidf_cosine" if all values are nonnegative integers (counts), "cosine" if all values
    are nonnegative, otherwise "euclidean".
    """
    if (X.data < 0).any():
        return "euclidean"
    return "tfidf_cosine" if _are_counts(X.data) and (X.data == np.rint(X.data)).all() else "cosine"


def build_index(X: sp.csr_matrix, metric: str) -> Index:
    """Build an index of samples.

    >>> X = sp.csr_matrix(np.array([[1, 2, 0], [0, 0, 5], [3, 0, 0]], np.float32))
    >>> neighbors, distances = query_index(build_index(X, "cosine"), X, 2)
    >>> neighbors
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
        return EuclideanIndex(read_only(indptr), read_only(X.indices), read_only(X.data))
    n_samples, n_features = X.shape
    document_frequency = np.bincount(X.indices, minlength=n_features)
    idf = np.ones(n_features)
    if metric == "tfidf_cosine":
        idf = np.log(n_samples / np.maximum(document_frequency, 1))
    weight = _normalize(X, indptr, idf, metric == "tfidf_cosine")
    columns = sp.csr_matrix((weight, X.indices, X.indptr), shape=X.shape).tocsc()
    frequent = np.flatnonzero(document_frequency > _DENSE_FRACTION * n_samples)
    dense_row = np.full(n_features, -1, np.int32)
    dense_row[frequent] = np.arange(len(frequent))
    dense = np.ascontiguousarray(columns[:, frequent].toarray().T)
    columns = columns.multiply(sp.csr_matrix(dense_row < 0)).tocsc() if len(frequent) else columns
    return CosineIndex(
        idf=read_only(idf),
        log_counts=metric == "tfidf_cosine",
        start=read_only(columns.indptr.astype(np.uint64)),
        posting=read_only(columns.indices.astype(np.uint32)),
        weight=read_only(columns.data),
        dense_row=read_only(dense_row),
        dense=read_only(dense),
    )


def widen_index(index: Index, n_features: int) -> Index:
    """Return the index with more features, which occur in none of its samples."""
    n_new = n_features - len(index.idf) if isinstance(index, CosineIndex) else 0
    if not isinstance(index, CosineIndex) or not n_new:
        return index
    idf = np.log(index.n_samples) if index.log_counts else 1.0
    return index._replace(
        idf=read_only(np.pad(index.idf, (0, n_new), constant_values=idf)),
        start=read_only(np.pad(index.start, (0, n_new), mode="edge")),
        dense_row=read_only(np.pad(index.dense_row, (0, n_new), constant_values=-1)),
    )


def query_index(
    index: Index,
    X: sp.csr_matrix,  # (n_queries, n_features)
    n_neighbors: int,
    *,
    query_groups: NDArray[np.int64] | None = None,  # (n_queries,)
    groups: NDArray[np.int64] | None = None,  # (n_samples,)
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the indices and distances of the exact nearest neighbors, the nearest first.

    Where there are fewer neighbors, the index is -1 and the distance infinite.
    """
    # Neighbors do not depend on the other queries. With a cosine metric, only samples with a cosine
    # above 1e-6 are neighbors. Samples at the same distance, in single precision, are ordered by
    # index. Samples of the query's group, and of the group -1, are excluded; by default, the group
    # of a sample is its index.
    n_queries, n_features = X.shape
    if query_groups is None:
        query_groups = np.full(n_queries, -1, np.int64)
    if groups is None:
        groups = np.arange(index.n_samples, dtype=np.int64)
    indptr = X.indptr.astype(np.int64)
    neighbors = np.empty((n_queries, n_neighbors), np.int32)
    similarities = np.empty((n_queries, n_neighbors))
    keys = np.empty(_KEYS_PER_NEIGHBOR * (n_neighbors + 1), np.int64)
    pattern = (read_only(indptr), read_only(X.indices))
    both_groups = (read_only(query_groups), read_only(groups))
    outputs = (keys, neighbors, similarities)
    if isinstance(index, CosineIndex):
        data = read_only(_normalize(X, indptr, index.idf, index.log_counts))
        cosines = np.zeros(index.n_samples, np.float32)
        find_by_cosine(index, *pattern, data, *both_groups, cosines, *outputs)
        return neighbors, np.maximum(1.0 - similarities, 0.0)
    x, scores = np.zeros(n_features), np.zeros(index.n_samples)
    find_by_distance(index, *pattern, read_only(X.data), *both_groups, x, scores, *outputs)
    return neighbors, np.sqrt(np.maximum(-similarities, 0.0))


def _normalize(
    X: sp.csr_matrix, indptr: NDArray[np.int64], idf: NDArray[np.float64], log_counts: bool
) -> NDArray[np.float32]:
    if log_counts and not _are_counts(X.data):
        raise ValueError(
            'metric="tfidf_cosine" requires counts, but X contains the value '
            f'{X.data.min():g}; use metric="cosine" or metric="euclidean".'
        )
    out = np.empty(X.nnz, np.float32)
    arrays = (indptr, X.indices, X.data, idf)
    normalize_samples(*(read_only(array) for array in arrays), log_counts, out)
    return out


def _are_counts(data: NDArray[np.float32]) -> bool:
    return bool((data >= 1).all())
