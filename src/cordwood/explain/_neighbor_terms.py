"""Attributions of classifiers that predict by the nearest training samples."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.csr import locate_columns
from cordwood.explain._attribution import Attribution, Attributor, NeighborTerms
from cordwood.explain._path_integrals import Floats
from cordwood.neighbors.base import BaseNeighborsClassifier
from cordwood.neighbors.index import CosineIndex, query_index
from cordwood.neighbors.k_neighbors import NeighborsClassifier

_METHOD = "approximate: vote of each neighbor, shared by the terms that make it similar"


def make_neighbors_attributor(estimator: Any) -> Attributor | None:
    """Return the attributor of nearest neighbors; None if the estimator is another one."""
    # With very many features, each query has its own numbers of columns.
    if not isinstance(estimator, NeighborsClassifier) or estimator._columns is not None:
        return None
    start = baseline(estimator)

    def attribute(X: sp.csr_matrix) -> Attribution:
        neighbors, distances = find_neighbors(estimator, X)
        if not len(neighbors) or not len(X.indices):
            return Attribution(X.indices[:0], np.zeros((0, len(start))), start, start, "identity")
        votes = estimator._vote_weights(neighbors[None], distances[None])[0]
        found, values = share_votes(estimator, X, neighbors, distances, votes / votes.sum(), start)
        return Attribution(
            X.indices, values, start, start + values.sum(axis=0), "identity", neighbors=found
        )

    return Attributor(attribute, _METHOD, False)


def baseline(estimator: BaseNeighborsClassifier) -> Floats:
    """Return the probabilities of the empty text."""
    empty = sp.csr_matrix(np.zeros((1, estimator.n_features_in_), np.float32))
    return np.asarray(estimator.predict_proba(empty)[0])


def find_neighbors(
    estimator: BaseNeighborsClassifier, X: sp.csr_matrix
) -> tuple[NDArray[np.int32], Floats]:
    """Return the indices and the distances of the neighbors of one sample."""
    n_neighbors = estimator._count_neighbors(estimator.n_neighbors)
    groups = estimator._exclude_weightless(np.arange(len(estimator._codes)))
    neighbors, distances = query_index(estimator._index, X, n_neighbors, groups=groups)
    exists = neighbors[0] >= 0
    return neighbors[0][exists], distances[0][exists]


def share_votes(
    estimator: BaseNeighborsClassifier,
    X: sp.csr_matrix,
    neighbors: NDArray[np.int32],
    distances: Floats,
    votes: Floats,
    start: Floats,
) -> tuple[NeighborTerms, Floats]:
    """Distribute the votes of neighbors over the terms that they share with the sample.

    The second value has the contributions of the terms in the order of ``X.indices``.
    """
    codes = estimator._codes[neighbors].astype(np.intp)
    # A neighbor moves the probabilities from start towards its class, in proportion to its vote.
    moves = -np.outer(votes, start)
    moves[np.arange(len(codes)), codes] += votes
    products = _similarity_terms(estimator, X, neighbors)
    # The move is shared in proportion to the products whose sum is the cosine. A neighbor without
    # shared terms, which exists with the Euclidean metric only, is shared equally.
    totals = products.sum(axis=1)
    is_shared = totals > 0
    shares = np.full(products.shape, 1 / max(len(X.indices), 1))
    shares[is_shared] = products[is_shared] / totals[is_shared, None]
    is_cosine = isinstance(estimator._index, CosineIndex)
    order = np.argsort(-products, axis=1, kind="stable")
    n_shared = (products > 0).sum(axis=1)
    found = NeighborTerms(
        samples=neighbors,
        class_codes=codes,
        similarity=1 - distances if is_cosine else -distances,
        values=moves,
        shared=[row[:n] for row, n in zip(order.tolist(), n_shared.tolist(), strict=True)],
    )
    return found, shares.T @ moves


def _similarity_terms(
    estimator: BaseNeighborsClassifier, X: sp.csr_matrix, neighbors: NDArray[np.int32]
) -> Floats:
    """Return the products of the values of each neighbor and the sample, up to a factor per row.

    They are not negative, and of shape (n_neighbors, n_nonzero).
    """
    indptr = estimator._indptr
    lengths = indptr[neighbors + 1] - indptr[neighbors]
    rows = np.repeat(np.arange(len(neighbors)), lengths)
    entries = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    entries += np.repeat(indptr[neighbors], lengths)
    position, is_shared = locate_columns(estimator._indices[entries], X.indices)
    rows, position, entries = rows[is_shared], position[is_shared], entries[is_shared]
    products = np.zeros((len(neighbors), len(X.indices)))
    ours, theirs = (
        _term_weights(estimator, values, X.indices[position])
        for values in (X.data[position], estimator._data[entries])
    )
    products[rows, position] = np.maximum(ours * theirs, 0.0)
    return products


def _term_weights(
    estimator: BaseNeighborsClassifier, values: NDArray[np.float32], columns: NDArray[np.int32]
) -> Floats:
    """Return the weights of values in the metric, before normalization."""
    weights = values.astype(np.float64)
    index = estimator._index
    if isinstance(index, CosineIndex):
        weights = (1 + np.log(weights) if index.log_counts else weights) * index.idf[columns]
    return weights
