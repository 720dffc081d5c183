import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from cordwood.recipes._adapters import ExternalClassifier


def test_xgboost_treats_implicit_values_as_zeros():
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    rng = np.random.RandomState(0)
    X = rng.randint(-2, 3, (300, 6)).astype(np.float32)
    X[rng.uniform(size=X.shape) < 0.6] = 0
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    external = xgboost.XGBClassifier(n_estimators=20, max_depth=5, learning_rate=0.1, n_jobs=1)
    class_codes = (y == "yes").astype(int)
    dense = clone(external).fit(X, class_codes).predict_proba(X)
    missing = clone(external).fit(sp.csr_matrix(X), class_codes).predict_proba(sp.csr_matrix(X))
    adapted = ExternalClassifier(external, dense=True).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(adapted.predict_proba(sp.csr_array(X)), dense)
    # Without the adapter, the result is different.
    assert np.abs(missing - dense).max() > 0.01


class RecordingClassifier:
    """Records the sizes of the blocks, and uses the first ten features only."""

    def __init__(self, estimator):
        self.estimator = estimator
        self.sizes = []

    def predict_proba(self, X):
        assert isinstance(X, np.ndarray)
        self.sizes.append(len(X))
        return self.estimator.predict_proba(X[:, :10])


def test_sparse_samples_are_converted_in_blocks():
    # With a million features, a block of 16 million values has 16 samples.
    X = sp.csr_array((np.ones(25), (range(25), [0] * 25)), shape=(50, 1_000_000))
    model = ExternalClassifier(LogisticRegression(), dense=True)
    model.fit(X[:, :10], np.repeat(["a", "b"], 25))
    model.estimator_ = RecordingClassifier(model.estimator_)
    assert model.predict(X).tolist() == ["a"] * 25 + ["b"] * 25
    assert model.estimator_.sizes == [16, 16, 16, 2]


def test_unfitted_classifier_raises():
    with pytest.raises(NotFittedError):
        ExternalClassifier(LogisticRegression()).predict([[1.0]])


def test_invalid_sparse_samples_raise():
    X = sp.csr_array(np.eye(4))
    model = ExternalClassifier(LogisticRegression()).fit(X, [0, 0, 1, 1])
    X.indices[2] = 1000
    for method in (lambda: model.fit(X, [0, 0, 1, 1]), lambda: model.predict_proba(X)):
        with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
            method()
