"""Base class of the classifiers that store the training set and predict from neighbors."""

from __future__ import annotations  # `help` shows the short names

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from cordwood._base.cluster import active_cluster, map_blocks
from cordwood._base.csr import (
    MAX_DENSE_FEATURES,
    check_labelled_csr,
    check_sparse,
    number_columns,
    to_csr,
)
from cordwood._base.param_validation import check_choice, check_jobs, check_number
from cordwood._base.sklearn_private import check_sample_weight
from cordwood._base.threads import map_parallel
from cordwood._base.voting_classifier import BaseVotingClassifier
from cordwood.neighbors.index import (
    METRICS,
    build_index,
    choose_metric,
    query_index,
    widen_index,
)

# Writes the class probabilities of a block of queries, given the queries, the indices and the
# distances of their neighbors, and a zeroed array of shape (n_queries, n_classes).
VoteFunction = Callable[
    [sp.csr_matrix, NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]], None
]

# Number of queries per block, which bounds the memory for their neighbors.
BLOCK_SIZE = 32

# Of the samples that `loo_max_samples` selects.
_SEED = 0


class BaseNeighborsClassifier(BaseVotingClassifier):
    """Base of classifiers that store the training set and an index for neighbor queries.

    Subclasses implement `_make_vote_function`, and call `_store` in `fit`.
    """

    metric: str
    n_neighbors: int
    n_jobs: int | None
    sent_once = True  # to each worker of a cluster, which indexes the training set
    # Parameters of a subclass: neighbors that leave-one-out predictions ignore, and the number of
    # samples among which they seek neighbors.
    loo_skip: int = 0
    loo_max_samples: int | None = None
    _weights: NDArray[np.float64] | None = None  # sample weights relative to the largest

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Find the nearest training samples of each query.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Queries. If None, the training samples are the queries, and a sample is not considered
            its own neighbor.
        n_neighbors : int, default=None
            Number of neighbors; the estimator's `n_neighbors` if None. If it exceeds the number of
            training samples, all samples are returned.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Euclidean distance, or one minus the cosine; infinity if there are fewer neighbors.
            Only returned if `return_distance` is True.
        indices : ndarray of shape (n_queries, n_neighbors)
            Indices of the neighbors, the nearest first; -1 if there are fewer neighbors.
        """
        check_is_fitted(self)
        excluded = None
        if X is None:
            X, excluded = self.get_training_samples(), np.arange(len(self._codes))
        else:
            X = to_csr(
                validate_data(
                    self, check_sparse(X), accept_sparse="csr", dtype=np.float32, reset=False
                )
            )
        k = self._count_neighbors(self.n_neighbors if n_neighbors is None else n_neighbors)
        X = self._number_columns(X)
        index = widen_index(self._index, X.shape[1])
        groups = self._exclude_weightless(np.arange(len(self._codes)))
        neighbors = np.empty((X.shape[0], k), np.int32)
        distances = np.empty((X.shape[0], k))

        def find(first: int) -> None:
            block = slice(first, first + BLOCK_SIZE)
            query_groups = None if excluded is None else excluded[block]
            neighbors[block], distances[block] = query_index(
                index, X[block], k, query_groups=query_groups, groups=groups
            )

        self._run_blocks(find, X.shape[0])
        return (distances, neighbors) if return_distance else neighbors

    def loo_decision_function(
        self, groups: ArrayLike | None = None, indices: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Compute leave-one-out probabilities of the training samples.

        Each sample is predicted from its neighbors among the other training samples, as if it
        were a new one. The result is suitable as out-of-fold predictions for stacking: labels of
        excluded samples are not used. Inverse document frequencies are those of the whole
        training set.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            Group of each training sample. All samples of a sample's group are excluded.
        indices : array-like of int of shape (n_queries,), default=None
            Indices of the training samples to predict; all if None. Their probabilities are the
            same as if all were predicted.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Probabilities, with columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = self.get_training_samples()
        group_codes = np.arange(X.shape[0])
        if groups is not None:
            check_consistent_length(X, groups)
            group_codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        if group_codes.max() == 0:
            raise ValueError(
                f"Leave-one-out predictions need at least two groups; all {X.shape[0]} training "
                "samples are in one."
            )
        group_codes = group_codes.astype(np.int64)
        query_groups = group_codes
        if indices is not None:
            chosen = _check_indices(indices, X.shape[0])
            X, query_groups = X[chosen], group_codes[chosen]
        # Groups already contain the relatives of a sample.
        n_skipped = self.loo_skip if groups is None else 0
        candidates = self._draw_candidates()
        if candidates is not None:
            n_skipped = -(-n_skipped * len(candidates) // len(group_codes))  # of fewer relatives
        return self._predict_queries(
            X, query_groups, group_codes, is_loo=True, n_skipped=n_skipped, candidates=candidates
        )

    def _draw_candidates(self) -> NDArray[np.intp] | None:
        """Return the samples that may be neighbors in leave-one-out predictions; None for all."""
        n_samples = len(self._codes)
        if self.loo_max_samples is None or n_samples <= self.loo_max_samples:
            return None
        # The same samples in each call, because predictions must not depend on the queries.
        drawn = np.random.default_rng(_SEED).permutation(n_samples)[: self.loo_max_samples]
        return np.sort(drawn)

    def _store(self, X: sp.csc_matrix | sp.csr_matrix, codes: NDArray[np.uint32]) -> None:
        """Store and index the training set."""
        samples = to_csr(X.tocsr())
        self.metric_ = choose_metric(samples) if self.metric == "auto" else self.metric
        self._indptr = samples.indptr.astype(np.int64)
        self._indices, self._data, self._codes = samples.indices, samples.data, codes
        self._prepare()
        self._count_neighbors(self.n_neighbors)  # subclasses may have an upper limit

    def _prepare(self) -> None:
        """Build the data structures that model files do not contain."""
        X = self.get_training_samples()
        self._columns = np.unique(X.indices) if X.shape[1] > MAX_DENSE_FEATURES else None
        self._index = build_index(self._number_columns(X), self.metric_)

    def _number_columns(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """With too many features, number those that occur in training samples, then all others.

        The data structures of neighbor queries take memory for every column of the result.
        """
        return X if self._columns is None else number_columns(X, self._columns)

    def get_training_samples(self) -> sp.csr_matrix:
        """Return the training samples, which the classifier keeps.

        Returns
        -------
        CSR matrix of float32 of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        arrays = (self._data, self._indices, self._indptr)
        X = sp.csr_matrix(arrays, shape=(len(self._codes), self.n_features_in_))
        X.has_canonical_format = True
        return X

    def _predict_proba(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        query_groups, groups = np.full(X.shape[0], -1), np.arange(len(self._codes))
        return self._predict_queries(X, query_groups, groups, is_loo=False)

    def _predict_queries(
        self,
        X: sp.csr_matrix,
        query_groups: NDArray[np.int64],
        groups: NDArray[np.int64],
        *,
        is_loo: bool,
        n_skipped: int = 0,
        candidates: NDArray[np.intp] | None = None,
    ) -> NDArray[np.float64]:
        """Predict queries from training samples that are not in the query's group."""
        # Queries without neighbors get the class frequencies of these samples. The nearest
        # `n_skipped` neighbors are ignored. With `candidates`, no other samples are neighbors.
        X = self._number_columns(X)
        predict = partial(
            self._predict_numbered, is_loo=is_loo, n_skipped=n_skipped, candidates=candidates
        )
        workers = active_cluster()
        if workers is None:
            return predict(X, query_groups, groups)
        predict_blocks = partial(_predict_blocks, predict, X, query_groups, groups)
        n_blocks = -(-X.shape[0] // BLOCK_SIZE)
        return np.concatenate(list(map_blocks(predict_blocks, max(n_blocks, 1), workers)))

    def _predict_numbered(
        self,
        X: sp.csr_matrix,
        query_groups: NDArray[np.int64],
        groups: NDArray[np.int64],
        *,
        is_loo: bool,
        n_skipped: int,
        candidates: NDArray[np.intp] | None,
    ) -> NDArray[np.float64]:
        groups = self._exclude_weightless(groups)
        n_neighbors = self._count_neighbors(self.n_neighbors)
        n_found = self._count_neighbors(n_neighbors + n_skipped)
        if candidates is None:
            index, candidate_groups = self._index, groups
        else:
            rows = self._number_columns(self.get_training_samples())[candidates]
            index, candidate_groups = build_index(rows, self.metric_), groups[candidates]
            n_found = min(n_found, len(candidates))
        index = widen_index(index, X.shape[1])
        n_skipped = min(n_skipped, n_found - 1)
        n_queries = X.shape[0]
        n_threads = self._count_threads(n_queries)
        vote = self._make_vote_function(n_neighbors, n_threads, X.shape[1], is_loo=is_loo)
        proba = np.zeros((X.shape[0], len(self.classes_)))

        def predict(first: int) -> None:
            block = slice(first, first + BLOCK_SIZE)
            queries, block_proba = X if n_queries <= BLOCK_SIZE else X[block], proba[block]
            neighbors, distances = query_index(
                index, queries, n_found, query_groups=query_groups[block], groups=candidate_groups
            )
            neighbors, distances = neighbors[:, n_skipped:], distances[:, n_skipped:]
            if candidates is not None:
                neighbors = np.where(neighbors < 0, -1, candidates[neighbors]).astype(np.int32)
            vote(queries, neighbors, distances, block_proba)
            for i in np.flatnonzero(neighbors[:, 0] < 0):
                block_proba[i] = self._class_frequencies(groups != query_groups[first + i])

        self._run_blocks(predict, X.shape[0])
        return proba

    @abstractmethod
    def _make_vote_function(
        self, n_neighbors: int, n_threads: int, n_columns: int, *, is_loo: bool
    ) -> VoteFunction:
        """Return the function that predicts a block of queries from their neighbors."""
        # `n_threads` threads call the function at the same time. It may leave zeros for queries
        # without neighbors.

    def _class_frequencies(self, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the weighted class frequencies of the training samples in a mask."""
        weights = None if self._weights is None else self._weights[mask]
        if weights is not None and not weights.any():
            weights = None  # of samples without weight, unweighted frequencies are all there is
        counts = np.bincount(self._codes[mask], weights, len(self.classes_))
        return np.asarray(counts / counts.sum())

    def _exclude_weightless(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups of the training samples, -1 for samples that are never neighbors."""
        return groups if self._weights is None else np.where(self._weights > 0, groups, -1)

    def _run_blocks(self, function: Callable[[int], None], n_queries: int) -> None:
        """Call a function with the index of the first query of each block, in threads."""
        blocks = range(0, n_queries, BLOCK_SIZE)
        for _ in map_parallel(function, blocks, self._count_threads(n_queries)):
            pass

    def _count_threads(self, n_queries: int) -> int:
        check_jobs(self.n_jobs)
        return int(min(effective_n_jobs(self.n_jobs), max(1, -(-n_queries // BLOCK_SIZE))))

    def _count_neighbors(self, n_neighbors: Any) -> int:
        check_number("n_neighbors", n_neighbors, 1)
        return min(int(n_neighbors), len(self._codes))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        derived = ("_rows", "_index", "_columns")
        return {name: value for name, value in state.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_codes"):
            # Model files may be untrusted, and kernels do not check bounds.
            check_choice("metric_", self.metric_, METRICS)
            arrays = (self._indptr, self._indices, self._data, self._codes)
            self._indptr, self._indices, self._data, self._codes = check_labelled_csr(
                *arrays, self.n_features_in_, len(self.classes_)
            )
            if self._weights is not None:
                self._weights = check_sample_weight(self._weights, self._codes)
            self._prepare()


def _predict_blocks(
    predict: Callable[..., NDArray[np.float64]],
    X: sp.csr_matrix,
    query_groups: NDArray[np.int64],
    groups: NDArray[np.int64],
    first: int,
    last: int,
) -> list[NDArray[np.float64]]:
    """Predict the queries from one block to before another."""
    queries = slice(first * BLOCK_SIZE, last * BLOCK_SIZE)
    return [predict(X[queries], query_groups[queries], groups)]


def _check_indices(indices: ArrayLike, n_samples: int) -> NDArray[np.intp]:
    """Validate indices of training samples; an empty array is valid."""
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            "indices must be a 1-d array of integers; got an array of "
            f"{array.dtype} of shape {array.shape}. Convert a boolean mask with np.flatnonzero."
        )
    invalid = array[(array < 0) | (array >= n_samples)]
    if len(invalid):
        raise ValueError(
            f"indices must be between 0 and {n_samples - 1}, the indices of the training samples; "
            f"got {invalid[0]}."
        )
    return array.astype(np.intp)
