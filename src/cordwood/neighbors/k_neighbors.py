"""k-nearest-neighbors classifier."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.param_validation import N_JOBS, Constraint, integer, options
from cordwood.neighbors.base import BaseNeighborsClassifier, VoteFunction
from cordwood.neighbors.index import METRICS

# Largest distance between duplicates, whose cosine has single precision. Euclidean distances of
# duplicates are exactly zero; a positive bound would depend on the scale of the features.
_MAX_DUPLICATE_DISTANCE = {"cosine": 1e-6, "tfidf_cosine": 1e-6, "euclidean": 0.0}


class NeighborsClassifier(BaseNeighborsClassifier):
    r"""k-nearest-neighbors classifier with an inverted index.

    Like `sklearn.neighbors.KNeighborsClassifier`, with three differences: an inverted index
    makes cosine queries on sparse data several times faster, `loo_decision_function` returns
    leave-one-out probabilities of the training samples without refitting, and with a cosine
    metric only samples that share a feature with the query are neighbors, which may be fewer than
    `n_neighbors`. A query without neighbors gets the class frequencies of the training set.

    Parameters
    ----------
    n_neighbors : int, default=30
        Number of neighbors. If it exceeds the number of training samples, all are used.
    weights : {"distance", "uniform"}, default="distance"
        Weight of a neighbor's vote: the inverse of its distance, or one. With "distance",
        neighbors at distance zero outvote all others, as in scikit-learn. With a cosine metric,
        distances of at most 1e-6 are zero except for rounding.
    metric : {"cosine", "euclidean", "tfidf_cosine", "auto"}, default="cosine"
        Metric of the neighbors. "cosine" and "euclidean" use the values of `X`. "tfidf_cosine" is
        the cosine distance of tf-idf weights, for `X` that contains counts. "auto" is
        "tfidf_cosine" if all values of the training set are nonnegative integers, "cosine" if all
        are nonnegative, otherwise "euclidean".
    loo_skip : int, default=0
        Number of nearest neighbors that `loo_decision_function` ignores, unless it has `groups`.
        Training samples often have near relatives, such as other reviews of the same movie, that
        new samples do not have.
    loo_max_samples : int or None, default=None
        Maximum number of training samples among which `loo_decision_function` seeks neighbors, so
        that its time does not grow with the square of their number. If there are more, these are
        drawn at random, and `loo_skip` is reduced in the same proportion. Other predictions seek
        among all.
    n_jobs : int or None, default=None
        Number of threads over which queries are distributed. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    metric_ : {"cosine", "euclidean", "tfidf_cosine"}
        Metric in use.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are
        all strings.

    See Also
    --------
    LazyForestClassifier : Grows a forest on the nearest neighbors of each query.
    sklearn.neighbors.KNeighborsClassifier : More metrics and search algorithms.

    Notes
    -----
    Cosine distances are :math:`1 - \cos(x, z)`, computed in single precision; samples with a cosine
    of at most 1e-6 are not neighbors. The tf-idf weight of a count tf is

    .. math:: (1 + \ln \mathrm{tf}) \ln \frac{n}{\mathrm{df}}

    where n is the number of training samples and df the number of those that contain the feature.
    Samples at the same distance are ordered by their index in the training set.

    A sample weight multiplies the vote of a sample, and its share of the class frequencies. Samples
    of weight zero are never neighbors, but count in n and df. Weights do not change which samples
    are the nearest, so a sample of weight two is not the same as two samples, which take two of
    the `n_neighbors` places.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cordwood.neighbors import NeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NeighborsClassifier(5).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.959
    >>> loo_proba = model.loo_decision_function()
    >>> loo_labels = model.classes_[loo_proba.argmax(axis=1)]
    >>> print(f"{(loo_labels == y[:1000]).mean():.3f}")
    0.984
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_neighbors": integer(1),
        "weights": options("distance", "uniform"),
        "metric": options("auto", *METRICS),
        "loo_skip": integer(0),
        "loo_max_samples": options(None) | integer(1),
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_neighbors: int = 30,
        *,
        weights: str = "distance",
        metric: str = "cosine",
        loo_skip: int = 0,
        loo_max_samples: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.loo_skip = loo_skip
        self.loo_max_samples = loo_max_samples
        self.n_jobs = n_jobs

    def _fit(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        codes: NDArray[np.uint32],
        weights: NDArray[np.float64],
    ) -> None:
        # Only the ratios of weights matter, and scaled ones cannot make a vote overflow.
        self._weights = None if (weights == 1).all() else weights / weights.max()
        self._store(X, codes)

    def _make_vote_function(
        self, n_neighbors: int, n_threads: int, n_columns: int, *, is_loo: bool
    ) -> VoteFunction:
        self._validate_params()  # they may have been changed since fit

        def vote(
            queries: sp.csr_matrix,
            neighbors: NDArray[np.int32],
            distances: NDArray[np.float64],
            proba: NDArray[np.float64],
        ) -> None:
            n_queries, n_classes = proba.shape
            cells = np.arange(n_queries)[:, None] * n_classes + self._codes[neighbors]
            weights = self._vote_weights(neighbors, distances)
            votes = np.bincount(cells.ravel(), weights.ravel(), proba.size).reshape(proba.shape)
            has_neighbors = neighbors[:, :1] >= 0
            np.divide(votes, votes.sum(axis=1, keepdims=True), out=proba, where=has_neighbors)

        return vote

    def _vote_weights(
        self, neighbors: NDArray[np.int32], distances: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the weights of the neighbors' votes; zero where the distance is infinite."""
        exists = np.isfinite(distances)
        if self.weights == "uniform":
            votes = exists.astype(np.float64)
        else:
            is_duplicate = distances <= _MAX_DUPLICATE_DISTANCE[self.metric_]
            with np.errstate(divide="ignore"):
                inverse = np.where(exists, 1 / distances, 0.0)
            votes = np.where(is_duplicate.any(axis=1, keepdims=True), is_duplicate, inverse)
        return votes if self._weights is None else votes * self._weights[neighbors]
