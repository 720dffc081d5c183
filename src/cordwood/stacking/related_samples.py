"""Search for related samples: duplicates, near-duplicates and samples of the same group.

Samples are near-duplicates if they are much nearer to each other than to other samples near them:
their distance is less than 0.3 times the distance of the 20th neighbor of one of them. Unlike a
threshold of the distance, this depends neither on the scale of the features nor on the density of
the samples; texts that follow a common template, for example, are not near-duplicates.

In few dimensions, neighbors are that near by chance: for locally uniform samples in m dimensions,
the probability that any of 19 neighbors is nearer than r times the distance of the 20th is about
19 r^m. The ratio r is reduced so that it is at most 1 %, where m is estimated from the distances of
the 10th and the 20th neighbor, which are not near-duplicates.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import NearestNeighbors

from cordwood._base.csr import MAX_DENSE_FEATURES, drop_empty_columns, to_csr
from cordwood._base.duplicates import number_duplicates
from cordwood.neighbors.index import build_index, choose_metric, query_index

# Near-duplicates are sought for at most this many samples.
_MAX_QUERIES = 3000

# Only the beginnings of texts are compared, of this many characters.
_MAX_CHARS = 1000

# Words, and punctuation, which short texts may differ in.
_TOKEN_PATTERN = r"\w+|[^\w\s]+"

_N_NEIGHBORS = 20
_MAX_DISTANCE_RATIO = 0.3
_MAX_CHANCE = 0.01

# With fewer samples, the 20th neighbor is not near.
_MIN_SAMPLES = 100

# Larger clusters of near-duplicates are not regarded as related: new samples are as similar.
_MAX_CLUSTER_FRACTION = 0.05


class RelatedSamples(NamedTuple):
    """Clusters of related samples."""

    cluster: NDArray[np.intp]  # samples of the same group are in the same cluster
    is_related: NDArray[np.bool_]  # to a sample of another group, or to any without groups
    is_query: NDArray[np.bool_]  # whether near-duplicates of the sample were sought


def find_related(X: Any, groups: Any, rng: np.random.RandomState) -> RelatedSamples:
    """Cluster samples that are duplicates, near-duplicates or of the same group.

    Near-duplicates are found among texts, numeric arrays, sparse matrices and data frames of
    numbers without missing values; of all other samples, only exact duplicates are found.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(300, 10))
    >>> X[1] = X[0] + 0.01
    >>> np.flatnonzero(find_related(X, None, rng).is_related)
    array([0, 1])
    """
    duplicates = number_duplicates(X)
    n_samples = len(duplicates)
    units = np.arange(n_samples) if groups is None else _encode(groups)
    base = merge_partitions(duplicates, units)
    queries = np.sort(rng.permutation(n_samples)[:_MAX_QUERIES])
    cluster = merge_partitions(base, _cluster_near_duplicates(X, queries, n_samples))
    is_large = np.bincount(cluster)[cluster] > _MAX_CLUSTER_FRACTION * n_samples
    cluster = _encode(np.where(is_large, n_samples + base, cluster))
    pairs = np.unique(np.column_stack([cluster, units]), axis=0)  # distinct groups of each cluster
    is_related = np.bincount(pairs[:, 0])[cluster] > 1
    return RelatedSamples(cluster, is_related, np.isin(np.arange(n_samples), queries))


def _cluster_near_duplicates(X: Any, queries: NDArray[np.intp], n_samples: int) -> NDArray[np.intp]:
    """Return the connected components of the near-duplicates of the queries."""
    singletons = np.arange(n_samples)
    if n_samples < _MIN_SAMPLES or (matrix := _to_matrix(X)) is None:
        return singletons
    neighbors, distances = _find_neighbors(matrix, queries)
    is_near = (distances < _choose_ratio(distances) * distances[:, -1:]) & (neighbors >= 0)
    rows, columns = np.nonzero(is_near)
    return _connect(queries[rows], neighbors[rows, columns], n_samples)


def _choose_ratio(distances: NDArray[np.float64]) -> float:
    """Return below which ratio to the last distance neighbors are near-duplicates.

    In m dimensions, the logarithm of the ratio of the k-th and the j-th distance has the
    expectation (1/j + ... + 1/(k-1)) / m.
    """
    n = distances.shape[1]
    half = n // 2
    middle, last = distances[:, half - 1], distances[:, -1]
    is_positive = middle > 0
    if not is_positive.any():
        return 0.0
    log_ratio = np.log(last[is_positive] / middle[is_positive]).mean()
    log_ratio_times_dimension = (1 / np.arange(half, n)).sum()
    inverse_dimension = log_ratio / log_ratio_times_dimension
    return float(min(_MAX_DISTANCE_RATIO, (_MAX_CHANCE / (n - 1)) ** inverse_dimension))


def _to_matrix(X: Any) -> Any:
    """Return numeric features of the samples; None if they cannot be compared."""
    if hasattr(X, "tocsr"):
        if not _is_finite(X.data):
            return None
        csr = to_csr(X.astype(np.float32))
        # The index of the neighbors takes memory for every column.
        return csr if csr.shape[1] <= MAX_DENSE_FEATURES else drop_empty_columns(csr)[0]
    if getattr(X, "ndim", 1) == 1:
        return _count_words(X) if all(isinstance(text, str) for text in X) else None
    try:
        dense = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        return None
    if dense.ndim != 2 or not _is_finite(dense):
        return None
    scale = dense.std(axis=0)
    return dense / np.where(scale > 0, scale, 1)


def _is_finite(values: Any) -> bool:
    return bool(values.dtype.kind in "fiub" and np.isfinite(values).all())


def _count_words(texts: Iterable[str]) -> sp.csr_matrix | None:
    vectorizer = CountVectorizer(token_pattern=_TOKEN_PATTERN, dtype=np.float32)
    try:
        counts = vectorizer.fit_transform(text[:_MAX_CHARS] for text in texts)
    except ValueError:  # no words
        return None
    return to_csr(counts)


def _find_neighbors(
    X: Any, queries: NDArray[np.intp]
) -> tuple[NDArray[np.integer[Any]], NDArray[np.float64]]:
    """Return the neighbors of some samples, the nearest first, and their distances.

    Distances of non-negative sparse samples are those of samples scaled to unit length.
    """
    if not hasattr(X, "tocsr") or (X.data < 0).any():
        finder = NearestNeighbors(n_neighbors=_N_NEIGHBORS + 1, algorithm="brute").fit(X)
        distances, neighbors = finder.kneighbors(X[queries])
        return neighbors[:, 1:], distances[:, 1:]  # without the sample itself
    index = build_index(X, choose_metric(X))
    neighbors, cosine_distances = query_index(
        index, X[queries], _N_NEIGHBORS, query_groups=queries.astype(np.int64)
    )
    return neighbors, np.sqrt(2 * np.minimum(cosine_distances, 1))


def merge_partitions(*partitions: Any) -> NDArray[np.intp]:
    """Return the finest partition whose parts contain all parts of the given partitions.

    Examples
    --------
    Samples 0 and 1 are duplicates, samples 1 and 2 are in the same group:

    >>> merge_partitions([0, 0, 1, 2], ["a", "b", "b", "c"])
    array([0, 0, 0, 1])
    """
    n_samples = len(partitions[0])
    # Connect each sample with the first one of each of its parts.
    firsts = [np.unique(part, return_index=True)[1][part] for part in map(_encode, partitions)]
    samples = np.tile(np.arange(n_samples), len(partitions))
    return _encode(_connect(samples, np.concatenate(firsts), n_samples))


def _encode(values: Any) -> NDArray[np.intp]:
    """Return the position of each value among the sorted distinct values."""
    return np.asarray(np.unique(np.asarray(values), return_inverse=True)[1].ravel())


def _connect(
    a: NDArray[np.integer[Any]], b: NDArray[np.integer[Any]], n_samples: int
) -> NDArray[np.intp]:
    """Return the connected components of a graph with an edge between a[i] and b[i]."""
    graph = sp.coo_matrix((np.ones(len(a), np.int8), (a, b)), shape=(n_samples, n_samples))
    return np.asarray(connected_components(graph, directed=False)[1], np.intp)
