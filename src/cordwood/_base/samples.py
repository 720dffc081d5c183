"""Validation of the samples of a prediction, in less time than a short text takes to predict.

scikit-learn's functions determine the tags of the estimator, and of all estimators in it, and look
for names of features in every call.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._base.csr import check_sparse


def check_fitted(estimator: Any) -> None:
    """Raise NotFittedError if the estimator has no fitted attributes."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(estimator)):
        check_is_fitted(estimator)


def validate_samples(estimator: Any, X: Any, dtype: Any = None) -> Any:
    """Validate samples by `validate_data`, except a matrix of floats that is obviously valid.

    By default, the type of the values is not changed.
    """
    check_fitted(estimator)
    X = check_sparse(X)
    is_sparse = isinstance(X, sp.csr_matrix | sp.csr_array)
    if (is_sparse or type(X) is np.ndarray) and X.dtype.kind == "f" and X.ndim == 2:
        has_names = hasattr(estimator, "feature_names_in_")
        if X.shape[0] and X.shape[1] == estimator.n_features_in_ and not has_names:
            converted = X if dtype is None else X.astype(dtype, copy=False)
            if np.isfinite(converted.data if is_sparse else converted).all():
                return converted
    return validate_data(estimator, X, accept_sparse="csr", dtype=dtype or "numeric", reset=False)
