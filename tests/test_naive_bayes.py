import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB

from cordwood.exceptions import CordwoodError
from cordwood.naive_bayes import NaiveBayesClassifier, PeerClassifier


@pytest.mark.parametrize(
    ("variant", "twin"),
    [
        ("multinomial", MultinomialNB(alpha=0.1)),
        ("complement", ComplementNB(alpha=0.1)),
        ("gaussian", GaussianNB(var_smoothing=0.1)),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_naive_bayes_is_scikit_learns_in_each_variant(variant, twin, container):
    X, y = load_iris(return_X_y=True)
    X[X < 1.5] = 0
    names = np.array(["a", "b", "c"])[y]
    ours = NaiveBayesClassifier(variant=variant, alpha=0.1).fit(container(X), names)
    expected = clone(twin).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours.predict_proba(container(X)), expected, rtol=1e-9, atol=1e-15)
    assert (ours.predict(container(X)) == ours.classes_[expected.argmax(axis=1)]).all()
    assert ours.classes_.tolist() == ["a", "b", "c"]
    assert ours.n_features_in_ == 4


def test_gaussian_smoothing_is_a_share_of_the_largest_variance():
    X, y = load_wine(return_X_y=True)  # columns of very unlike size
    for alpha in (1e-9, 1e-3, 10.0):
        ours = NaiveBayesClassifier(variant="gaussian", alpha=alpha).fit(X - 5, y)
        theirs = GaussianNB(var_smoothing=alpha).fit(X, y)
        np.testing.assert_allclose(
            ours.predict_proba(X - 5), theirs.predict_proba(X), rtol=1e-6, atol=1e-12
        )


def test_a_column_that_never_varies_needs_smoothing():
    X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.5, 1.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="the same in all rows of a class; set alpha above 0"):
        NaiveBayesClassifier(variant="gaussian", alpha=0.0).fit(X, y)
    assert NaiveBayesClassifier(variant="gaussian", alpha=0.1).fit(X, y).predict(X).shape == (4,)


def test_naive_bayes_knows_three_variants():
    with pytest.raises(CordwoodError, match="variant is 'normal', but can be"):
        NaiveBayesClassifier(variant="normal").fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("variant", ["multinomial", "complement", "gaussian"])
def test_naive_bayes_says_whether_it_takes_negative_numbers(variant):
    X, y = [[-1.0], [-2.0], [3.0], [4.0]], [0, 0, 1, 1]
    model = NaiveBayesClassifier(variant=variant)
    if model.__sklearn_tags__().input_tags.positive_only:
        with pytest.raises(ValueError, match="Negative values"):
            model.fit(X, y)
    else:
        assert model.fit(X, y).predict(X).tolist() == y


def test_xgboost_reads_absent_entries_as_zeros():
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    random = np.random.RandomState(0)
    X = random.randint(-2, 3, (300, 6)).astype(np.float32)
    X[random.uniform(size=X.shape) < 0.6] = 0
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "yes", "no")
    peer = xgboost.XGBClassifier(n_estimators=20, max_depth=5, learning_rate=0.1, n_jobs=1)
    codes = (y == "yes").astype(int)
    dense = clone(peer).fit(X, codes).predict_proba(X)
    missing = clone(peer).fit(sp.csr_matrix(X), codes).predict_proba(sp.csr_matrix(X))
    ours = PeerClassifier(peer, dense=True).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(ours.predict_proba(sp.csr_array(X)), dense)
    # The oracle can tell the two readings apart.
    assert np.abs(missing - dense).max() > 0.01


def test_rows_are_made_dense_block_by_block():
    # So many columns that a block holds 16 rows.
    X = sp.csr_array((np.ones(25), (range(25), [0] * 25)), shape=(50, 1_000_000))
    model = PeerClassifier(LogisticRegression(), dense=True)
    model.fit(X[:, :10], np.repeat(["a", "b"], 25))
    model.estimator_ = Columns(model.estimator_)
    assert model.predict(X).tolist() == ["a"] * 25 + ["b"] * 25
    assert model.estimator_.sizes == [16, 16, 16, 2]


class Columns:
    def __init__(self, estimator):
        self.estimator = estimator
        self.sizes = []

    def predict_proba(self, X):
        assert isinstance(X, np.ndarray)
        self.sizes.append(len(X))
        return self.estimator.predict_proba(X[:, :10])
