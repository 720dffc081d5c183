"""Nearest neighbours: training rows that are most like a query vote on it."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._param_validation import check_choice
from cordwood.neighbors._neighbors_base import BaseNeighborsClassifier, Counter

# In single precision a row and its copy are this far apart.
_NO_DISTANCE = 1e-6


class NeighborsClassifier(BaseNeighborsClassifier):
    """The nearest training rows vote, as in scikit-learn's `KNeighborsClassifier`.

    It differs from that one in three ways: it keeps an index by words, which answers several times
    faster; it can answer for each training row without it, which stacking needs; and by angle only
    rows with something in common with a query are its neighbours, of which there may be fewer than
    `n_neighbors`. A query without any is answered by the frequencies of the classes in the training
    rows.

    Parameters
    ----------
    n_neighbors : int, default=30
        How many rows vote; all there are, where there are fewer.
    weights : {"distance", "uniform"}, default="distance"
        Whether a row's vote counts by the inverse of its distance, or all count the same. Rows
        at no distance at all outvote the others.
    metric : {"cosine", "euclidean", "words", "auto"}, default="cosine"
        How neighbours are found; see `LazyForestClassifier`.
    n_jobs : int, optional
        Number of threads. It changes the time, never the result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    metric_ : str
        The metric in use.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NeighborsClassifier(5).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.95
    True
    """

    def __init__(
        self,
        n_neighbors: int = 30,
        *,
        weights: str = "distance",
        metric: str = "cosine",
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.n_jobs = n_jobs

    def _fit(
        self, X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        check_choice("weights", self.weights, ("distance", "uniform"))
        self._store(X, codes)

    def _make_counter(self, n_neighbors: int, n_threads: int, *, is_loo: bool) -> Counter:
        check_choice("weights", self.weights, ("distance", "uniform"))

        def count(
            queries: sp.csr_matrix,
            ids: NDArray[np.int32],
            distances: NDArray[np.float64],
            votes: NDArray[np.float64],
        ) -> None:
            n_queries, n_classes = votes.shape
            places = np.arange(n_queries)[:, None] * n_classes + self._codes[ids]
            weights = self._weigh(distances)
            sums = np.bincount(places.ravel(), weights.ravel(), votes.size).reshape(votes.shape)
            # Without neighbours nobody votes, and the sum is zero.
            np.divide(sums, sums.sum(axis=1, keepdims=True), out=votes, where=ids[:, :1] >= 0)

        return count

    def _weigh(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the votes of neighbours; those that are none are infinitely far."""
        there = np.isfinite(distances)
        if self.weights == "uniform":
            return there.astype(np.float64)
        copies = distances < _NO_DISTANCE
        with np.errstate(divide="ignore"):
            inverse = np.where(there, 1 / distances, 0.0)
        return np.where(copies.any(axis=1, keepdims=True), copies, inverse)
