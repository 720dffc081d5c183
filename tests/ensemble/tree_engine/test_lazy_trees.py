"""One tree without bootstrap has nothing random in it where there is one column to cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from cordwood._csr import check_labelled_csr
from cordwood.ensemble._tree_engine.lazy_trees import PathRules, allocate, collect, vote

N_CLASSES = 3


def make_rules(n_trees=1, n_columns=1, **changes):
    rules = PathRules(
        n_trees=n_trees,
        bootstrap=False,
        random_cut=False,
        entropy=False,
        quota=np.arange(n_columns + 1),
        log_factorial=np.cumsum(np.log(np.maximum(np.arange(n_columns + 1), 1))),
        x_log_x=np.arange(500) * np.log2(np.maximum(np.arange(500), 1)),
    )
    return rules._replace(**changes)


def answer(X, codes, queries, rules, seed=0):
    """Answer queries by trees on all rows."""
    X, queries = (sp.csr_matrix(np.asarray(part, np.float32)) for part in (X, queries))
    rows = collect(X, codes.astype(np.uint32))
    n_rows, n_queries = X.shape[0], queries.shape[0]
    neighbors = np.tile(np.arange(n_rows, dtype=np.int32), (n_queries, 1))
    votes = np.zeros((n_queries, N_CLASSES))
    vote(rows, rules, allocate(rows, N_CLASSES, n_rows), queries, neighbors, seed, votes)
    return votes


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([-7, -2.5, -1, 0, 0, 0, 1, 1, 1, 2, 3.5]), st.integers(0, 2)),
        min_size=2,
        max_size=90,
    )
)
def test_a_tree_on_one_column_is_scikit_learns(documents):
    X, codes = np.array([[x] for x, _ in documents]), np.array([code for _, code in documents])
    queries = np.array([[-9], [-3], [-2], [-0.7], [-0.1], [0], [0.4], [1.2], [1.6], [3], [9.0]])
    tree = DecisionTreeClassifier().fit(X, codes)
    expected = np.zeros((len(queries), N_CLASSES))
    expected[:, tree.classes_] = tree.predict_proba(queries)
    np.testing.assert_allclose(answer(X, codes, queries, make_rules()), expected, atol=1e-12)


def test_long_lists_and_many_values_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1)).round(2)
    codes = ((X[:, 0] * 2).astype(int) + rng.integers(0, 2, 400)) % 3
    queries = rng.normal(size=(60, 1)).round(2)
    tree = DecisionTreeClassifier().fit(X.astype(np.float32), codes)
    expected = tree.predict_proba(queries.astype(np.float32))
    np.testing.assert_allclose(answer(X, codes, queries, make_rules()), expected, atol=1e-12)


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("random_cut", [False, True])
def test_equal_documents_of_different_classes_share_the_answer(entropy, random_cut):
    X, codes = np.ones((8, 300)), np.array([0, 0, 0, 0, 0, 1, 1, 2])
    X[0] = 2
    rules = make_rules(50, 300, entropy=entropy, random_cut=random_cut)
    votes = answer(X, codes, np.ones((1, 300)), rules)
    np.testing.assert_allclose(votes, [[4 / 7, 2 / 7, 1 / 7]])


def test_words_that_no_neighbour_has_take_their_share_of_the_draws():
    """One word tells the classes, one tells nothing, and 98 more are the query's alone.

    A node that draws two of the hundred words goes on until one can be cut. So the telling word is
    taken in half of the trees, or a little more often: whenever both are drawn at once. And where
    the other one is taken, the telling word is next.
    """
    X = np.zeros((40, 100))
    X[:20, 0], X[::2, 1] = 1, 1
    codes = np.repeat([0, 1], 20)
    codes[[0, 39]] = 2
    query = np.ones((1, 100))
    rules = make_rules(4000, 100, quota=np.minimum(2, np.arange(101)))
    few = answer(X, codes, query, rules, seed=1)
    many = answer(X, codes, query, rules._replace(quota=np.arange(101)), seed=1)
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
def test_arrays_of_a_stranger_are_checked(name, array, message):
    copies = check_labelled_csr(**GOOD, n_features=5, n_classes=2)
    assert all(copy is not given for copy, given in zip(copies, GOOD.values(), strict=True))
    with pytest.raises(ValueError, match=message):
        check_labelled_csr(**{**GOOD, name: array}, n_features=5, n_classes=2)
