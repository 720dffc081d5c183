"""Adapter for classifiers of other packages, such as LightGBM and XGBoost."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from cordwood._base.csr import check_sparse

# Number of values of a dense block of samples in `predict_proba`: 64 MB in single precision.
_BLOCK_VALUES = 16_000_000


class ExternalClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Adapter that passes samples and labels to a classifier in a format that it supports.

    LightGBM accepts sparse matrices of scipy but not sparse arrays. XGBoost treats the values that
    a sparse matrix does not store as missing instead of zero, which changes the trees
    (dmlc/xgboost#5960), and requires labels from 0 to n_classes - 1.
    """

    def __init__(self, estimator: Any, *, dense: bool = False) -> None:
        self.estimator = estimator
        self.dense = dense

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier on encoded labels."""
        X = _to_csr_or_array(X)
        self.classes_, class_codes = np.unique(y, return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(self._convert(X), class_codes)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Compute the probability of each class."""
        check_is_fitted(self)
        X = _to_csr_or_array(X)
        size = max(1, _BLOCK_VALUES // X.shape[1]) if self.dense else X.shape[0]
        blocks = [
            self.estimator_.predict_proba(self._convert(X[start : start + size]))
            for start in range(0, X.shape[0], size)
        ]
        return np.concatenate(blocks)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each sample."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def _convert(self, X: Any) -> Any:
        return X.toarray() if self.dense and not isinstance(X, np.ndarray) else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _to_csr_or_array(X: Any) -> Any:
    # Neither the conversion in scipy nor the other packages check indices.
    X = check_sparse(X)
    return sp.csr_matrix(X, dtype=np.float32) if hasattr(X, "tocsr") else np.asarray(X)
