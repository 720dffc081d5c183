"""Baselines: learners of other hands, on rows and labels of every kind that ours take.

What the ensembles are compared with is scikit-learn's or another package's own; what is here only
lets a grid choose between its variants, or hands it its rows in the way it wants them.
"""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.utils import Tags, check_array, check_X_y
from sklearn.utils.sparsefuncs import mean_variance_axis

from cordwood.exceptions import CordwoodError


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):
    """Naive Bayes in one of three variants, so that a grid can choose between them.

    Parameters
    ----------
    variant : {"multinomial", "complement", "gaussian"}
        Scikit-learn's `MultinomialNB` or `ComplementNB`, which count; or its `GaussianNB`, here
        for sparse rows as well, which takes each column for a measure.
    alpha : float
        What is added to each count; or, with "gaussian", to each variance, as a share of the
        largest one.
    """

    def __init__(self, *, variant: str = "multinomial", alpha: float = 1.0) -> None:
        self.variant = variant
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what the columns of each class look like."""
        if self.variant not in _VARIANTS:
            raise CordwoodError(
                f"variant is {self.variant!r}, but can be 'multinomial', 'complement' or 'gaussian'"
            )
        self.model_ = _VARIANTS[self.variant](alpha=self.alpha).fit(X, y)
        self.classes_ = self.model_.classes_
        self.n_features_in_ = self.model_.n_features_in_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class."""
        return np.asarray(self.model_.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the most probable class."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.variant != "gaussian"
        return tags


class _GaussianBayes:
    """Scikit-learn's `GaussianNB` by products of matrices, because it takes dense rows only."""

    def __init__(self, *, alpha: float) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Self:
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        parts = [_find_moments(X[codes == code]) for code in range(len(counts))]
        means, variances = (np.array(part) for part in zip(*parts, strict=True))
        variances += self.alpha * _find_moments(X)[1].max()
        if not variances.all():
            raise ValueError("a column is the same in all rows of a class; set alpha above 0")
        self._precisions, self._pulls = 1 / variances, means / variances
        # What no row has a say in.
        constants = np.log(2 * np.pi * variances) + means * self._pulls
        self._offsets = np.log(counts / len(codes)) - constants.sum(axis=1) / 2
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        squares = X**2 if isinstance(X, np.ndarray) else X.power(2)
        logs = self._offsets + X @ self._pulls.T - squares @ self._precisions.T / 2
        return np.asarray(softmax(logs, axis=1))


def _find_moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give mean and variance of each column."""
    return mean_variance_axis(X, axis=0) if sp.issparse(X) else (X.mean(axis=0), X.var(axis=0))


_VARIANTS = {
    "multinomial": MultinomialNB,
    "complement": ComplementNB,
    "gaussian": _GaussianBayes,
}


class PeerClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of another package, on rows and labels of every kind that ours take.

    XGBoost takes what a sparse row does not store for missing, not for zero, and grows other trees
    from the same numbers (dmlc/xgboost#5960); it also wants classes by number. LightGBM does not
    know scipy's sparse arrays, only its matrices.

    Parameters
    ----------
    estimator : classifier
        Of the other package.
    dense : bool
        Whether to make rows dense, at 4 bytes for each row and column in training.
    """

    def __init__(self, estimator: Any, *, dense: bool = False) -> None:
        self.estimator = estimator
        self.dense = dense

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator on numbered classes."""
        X = _as_rows(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(self._convert(X), codes)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Give the probability of each class."""
        X = _as_rows(X)
        # Made dense in slices, the rows take at most 64 MB.
        size = max(1, 16_000_000 // X.shape[1]) if self.dense else X.shape[0]
        votes = [
            self.estimator_.predict_proba(self._convert(X[start : start + size]))
            for start in range(0, X.shape[0], size)
        ]
        return np.concatenate(votes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the most probable class."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def _convert(self, X: Any) -> Any:
        return X.toarray() if self.dense and not isinstance(X, np.ndarray) else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _as_rows(X: Any) -> Any:
    return sp.csr_matrix(X, dtype=np.float32) if hasattr(X, "tocsr") else np.asarray(X)
