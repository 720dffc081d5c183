"""Lazy trees against scikit-learn: with one feature and no bootstrap, nothing is random."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from cordwood._base.csr import check_labelled_csr, csr_arrays
from cordwood.ensemble.tree_engine.lazy_trees import (
    LazyTreeParams,
    allocate_lazy_workspace,
    label_rows,
    lazy_vote,
)

N_CLASSES = 3


def make_params(n_trees=1, n_features=1, **changes):
    params = LazyTreeParams(
        n_trees=n_trees,
        bootstrap=False,
        random_split=False,
        entropy=False,
        max_features=np.arange(n_features + 1),
        log_factorial=np.cumsum(np.log(np.maximum(np.arange(n_features + 1), 1))),
        x_log_x=np.arange(500) * np.log2(np.maximum(np.arange(500), 1)),
    )
    return params._replace(**changes)


def predict_proba(X, y, queries, params, seed=0):
    """Predict queries by lazy trees on all samples."""
    X, queries = (csr_arrays(sp.csr_matrix(np.asarray(a, np.float32))) for a in (X, queries))
    train = label_rows(X, y.astype(np.uint32))
    n_samples, n_queries = X.shape[0], queries.shape[0]
    neighbors = np.tile(np.arange(n_samples, dtype=np.int32), (n_queries, 1))
    workspace = allocate_lazy_workspace(train, N_CLASSES, n_samples)
    votes = np.zeros((n_queries, N_CLASSES))
    lazy_vote(train, params, workspace, queries, neighbors, seed, votes)
    return votes


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([-7, -2.5, -1, 0, 0, 0, 1, 1, 1, 2, 3.5]), st.integers(0, 2)),
        min_size=2,
        max_size=90,
    )
)
def test_tree_on_one_feature_matches_scikit_learn(samples):
    X, y = np.array([[x] for x, _ in samples]), np.array([label for _, label in samples])
    queries = np.array([[-9], [-3], [-2], [-0.7], [-0.1], [0], [0.4], [1.2], [1.6], [3], [9.0]])
    tree = DecisionTreeClassifier().fit(X, y)
    expected = np.zeros((len(queries), N_CLASSES))
    expected[:, tree.classes_] = tree.predict_proba(queries)
    np.testing.assert_allclose(predict_proba(X, y, queries, make_params()), expected, atol=1e-12)


def test_tree_on_many_values_matches_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)).round(2)
    y = ((X[:, 0] * 2).astype(int) + rng.integers(0, 2, 400)) % 3
    queries = rng.normal(size=(60, 1)).round(2)
    tree = DecisionTreeClassifier().fit(X.astype(np.float32), y)
    expected = tree.predict_proba(queries.astype(np.float32))
    np.testing.assert_allclose(predict_proba(X, y, queries, make_params()), expected, atol=1e-12)


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("random_split", [False, True])
def test_duplicates_of_different_classes_share_a_leaf(entropy, random_split):
    X, y = np.ones((8, 300)), np.array([0, 0, 0, 0, 0, 1, 1, 2])
    X[0] = 2
    params = make_params(50, 300, entropy=entropy, random_split=random_split)
    votes = predict_proba(X, y, np.ones((1, 300)), params)
    np.testing.assert_allclose(votes, [[4 / 7, 2 / 7, 1 / 7]])


def test_features_of_the_query_alone_count_as_constant():
    """One feature separates the classes, one is noise, and 98 are nonzero in the query only.

    A node that draws two of the hundred features draws again until one is not constant. If this is
    the noise feature, the informative one follows in the next node, so that the predictions are
    those of nodes that draw all features.
    """
    X = np.zeros((40, 100))
    X[:20, 0], X[::2, 1] = 1, 1
    y = np.repeat([0, 1], 20)
    y[[0, 39]] = 2
    query = np.ones((1, 100))
    params = make_params(4000, 100, max_features=np.minimum(2, np.arange(101)))
    few = predict_proba(X, y, query, params, seed=1)
    many = predict_proba(X, y, query, params._replace(max_features=np.arange(101)), seed=1)
    np.testing.assert_allclose(many, few, atol=0.02)
    assert few[0, 1] < 0.05


GOOD = {
    "indptr": np.array([0, 2, 2, 4], np.int64),
    "indices": np.array([0, 4, 1, 2], np.int32),
    "data": np.array([1, 2, -1, 0.5], np.float32),
    "codes": np.array([0, 1, 1], np.uint32),
}
BAD = [
    ("indptr", np.array([0, 2, 2, 5], np.int64), "indptr"),
    ("indptr", np.array([1, 2, 2, 4], np.int64), "indptr"),
    ("indptr", np.array([0, 3, 2, 4], np.int64), "indptr"),
    ("indptr", np.array([0, 4], np.int64), "indptr"),
    ("indptr", np.array([0, 2, 2, 4], np.int32), "int64"),
    ("indices", np.array([0, 5, 1, 2], np.int32), "indices"),
    ("indices", np.array([0, -1, 1, 2], np.int32), "indices"),
    ("indices", np.array([4, 0, 1, 2], np.int32), "indices"),
    ("indices", np.array([0, 4, 2, 2], np.int32), "indices"),
    ("data", np.array([1, 2, np.nan, 1], np.float32), "data"),
    ("data", np.array([1, 2, 0, 1], np.float32), "data"),
    ("data", np.ones((2, 2), np.float32), "float32"),
    ("data", np.ones(3, np.float32), "indptr"),
    ("codes", np.array([0, 2, 1], np.uint32), "codes"),
    ("codes", [0, 1, 1], "uint32"),
]


@pytest.mark.parametrize(("name", "array", "message"), BAD)
def test_invalid_csr_arrays_raise(name, array, message):
    copies = check_labelled_csr(**GOOD, n_features=5, n_classes=2)
    assert all(copy is not given for copy, given in zip(copies, GOOD.values(), strict=True))
    with pytest.raises(ValueError, match=message):
        check_labelled_csr(**{**GOOD, name: array}, n_features=5, n_classes=2)
