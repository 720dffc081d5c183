"""Removal of empty features, for sparse matrices with far more columns than stored values.

The memory of many classifiers is proportional to the number of features. A file in svmlight format
that numbers features by hashes may have two billion of them, of which the samples use a few.
"""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._base.csr import locate_columns

_MIN_FEATURES = 1 << 20
_MIN_FEATURES_PER_VALUE = 10


def is_mostly_empty(X: Any) -> bool:
    """Return whether a matrix is sparse and has many more columns than stored values."""
    if isinstance(X, np.ndarray) or not sp.issparse(X):
        return False
    matrix: Any = X
    return bool(matrix.shape[1] > max(_MIN_FEATURES, _MIN_FEATURES_PER_VALUE * matrix.nnz))


class EmptyFeatureRemover(TransformerMixin, BaseEstimator):
    """Remove the features that are zero in all training samples.

    Unlike `sklearn.feature_selection.VarianceThreshold`, the memory is proportional to the number
    of stored values and not to the number of features.
    """

    def fit(self, X: Any, y: object = None) -> Self:
        """Find the features that are not empty."""
        X = sp.csr_array(validate_data(self, X, accept_sparse="csr", dtype="numeric"))
        features = np.unique(X.indices[X.data != 0])
        # Classifiers require at least one feature.
        self.features_ = features if len(features) else np.zeros(1, dtype=X.indices.dtype)
        return self

    def transform(self, X: Any) -> sp.csr_matrix:
        """Remove the features that were empty in `fit`."""
        check_is_fitted(self)
        X = sp.csr_array(validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False))
        # Not by indexing the columns, for which scipy allocates an array of n_features.
        columns, is_kept = locate_columns(X.indices, self.features_)
        indptr = np.concatenate(([0], np.cumsum(is_kept)))[X.indptr]
        return sp.csr_matrix(
            (X.data[is_kept], columns[is_kept], indptr), shape=(X.shape[0], len(self.features_))
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features that are kept; by default "x0", "x1", and so on."""
        check_is_fitted(self)
        if input_features is not None:
            return np.asarray(input_features, dtype=object)[self.features_]
        return np.array([f"x{feature}" for feature in self.features_], dtype=object)
