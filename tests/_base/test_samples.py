"""Validation of samples: the same results, warnings and errors as scikit-learn's."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from cordwood import NaiveBayesClassifier
from cordwood._base.csr import stack_columns
from cordwood._base.samples import check_fitted, validate_samples

FRAME = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=["a", "b", "c"])
X = FRAME.to_numpy()
MATRICES = {
    "dense": X,
    "list": X.tolist(),
    "integers": X.astype(np.int64),
    "float32": X.astype(np.float32),
    "csr": sp.csr_matrix(X),
    "csr array": sp.csr_array(X),
    "csc": sp.csc_matrix(X),
    "no samples": X[:0],
    "no sparse samples": sp.csr_matrix(X[:0]),
    "other features": sp.csr_matrix(X[:, :2]),
    "one dimension": X[0],
    "nan": np.where(X == 5, np.nan, X),
    "sparse infinity": sp.csr_matrix(np.where(X == 5, np.inf, X)),
    "strings": np.full((2, 3), "a"),
}


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function()
        except ValueError as error:
            return type(error), str(error)
    values = found.toarray() if sp.issparse(found) else found
    shown = [str(warning.message) for warning in caught]
    return type(found), found.dtype, values.tolist(), shown


@pytest.mark.parametrize("has_names", [False, True])
@pytest.mark.parametrize("dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("name", MATRICES)
def test_samples_are_validated_as_by_scikit_learn(name, dtype, has_names):
    estimator = NaiveBayesClassifier().fit(FRAME if has_names else X, [0, 1, 0, 1])
    samples = MATRICES[name]
    expected = outcome(
        lambda: validate_data(
            estimator, samples, accept_sparse="csr", dtype=dtype or "numeric", reset=False
        )
    )
    assert outcome(lambda: validate_samples(estimator, samples, dtype)) == expected


def test_values_that_overflow_are_rejected():
    estimator = NaiveBayesClassifier().fit(X, [0, 1, 0, 1])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="infinity"):
        validate_samples(estimator, sp.csr_matrix(X * 1e300), np.float32)


def test_an_unfitted_estimator_is_rejected():
    with pytest.raises(NotFittedError, match="NaiveBayesClassifier"):
        check_fitted(NaiveBayesClassifier())


@pytest.mark.parametrize("n_samples", [0, 1, 7, 1000, 1001, 2500])
def test_columns_are_stacked_as_by_scipy(n_samples):
    rng = np.random.default_rng(0)
    blocks = [
        sp.random(n_samples, n, density=0.3, format="csr", dtype=np.float32, random_state=rng)
        for n in (5, 1, 40)
    ]
    stacked, expected = stack_columns(blocks), sp.hstack(blocks).tocsr()
    assert stacked.shape == expected.shape
    for name in ("data", "indices", "indptr"):
        assert getattr(stacked, name).dtype == getattr(expected, name).dtype
        assert np.array_equal(getattr(stacked, name), getattr(expected, name))
