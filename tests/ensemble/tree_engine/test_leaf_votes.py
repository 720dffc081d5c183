import numpy as np
import pytest
import scipy.sparse as sp
from cordwood.ensemble._tree_engine.untrusted import check_forest

from cordwood.ensemble._tree_engine import _kernels_leaf_votes as kernels
from cordwood.ensemble._tree_engine.grower import join, reach, vote
from cordwood.ensemble._tree_engine.leaf_votes import (
    find_answers,
    number_leaves,
    sum_votes,
    take_trees,
)
from cordwood.ensemble.forests import RandomForestClassifier


@pytest.fixture(scope="module")
def grown(words):
    """A forest with many mixed leaves, its rows, and leaves of which a third are not asked for."""
    X, y = words(150, 40, 4, seed=1, noise=0.4)
    model = RandomForestClassifier(7, min_samples_leaf=4, random_state=0).fit(X, y)
    rows = sp.csr_matrix(X)
    leaves = reach(model.forest_, rows)
    leaves[np.random.default_rng(0).random(leaves.shape) < 0.3] = -1
    leaves[:, 5] = -1
    return model, rows, leaves


def shares_of(model, X):
    return np.stack([tree.predict_proba(X) for tree in model.to_sklearn().estimators_])


def test_answers_are_those_of_scikit_learn_s_trees(grown):
    model, rows, leaves = grown
    expected = np.where(leaves < 0, -1, shares_of(model, rows).argmax(axis=2))
    assert (~model.forest_.other >= 4).any()
    answers = find_answers(model.forest_, leaves, 4)
    assert np.array_equal(answers, expected)
    plain = np.empty_like(answers)
    kernels.answer.py_func(model.forest_, leaves, 4, plain)
    assert np.array_equal(plain, expected)


def test_votes_are_those_of_scikit_learn_s_trees(grown):
    model, rows, leaves = grown
    factors = np.arange(1, 8) / 3
    shares = shares_of(model, rows) * (leaves >= 0)[:, :, None]
    expected = np.einsum("t,trc->rc", factors, shares)
    votes = sum_votes(model.forest_, leaves, factors, 4)
    np.testing.assert_allclose(votes, expected, rtol=1e-6)
    assert not votes[5].any()
    plain = np.zeros_like(votes)
    kernels.add_votes.py_func(model.forest_, leaves, factors, plain)
    np.testing.assert_allclose(plain, votes, rtol=1e-12)


@pytest.mark.parametrize(("first", "last"), [(0, 7), (0, 3), (2, 5), (6, 7)])
def test_some_trees_vote_as_they_do_in_the_forest(grown, first, last):
    model, rows, _ = grown
    part = take_trees(model.forest_, first, last)
    check_forest(part, 4, rows.shape[1])
    weights = np.zeros(7)
    weights[first:last] = 1
    expected, _ = vote(model.forest_, rows, 4, tree_weights=weights)
    assert vote(part, rows, 4)[0].tobytes() == expected.tobytes()


def test_parts_make_up_the_whole(grown):
    forest = grown[0].forest_
    again = join([take_trees(forest, 0, 2), take_trees(forest, 2, 6), take_trees(forest, 6, 7)])
    for name in forest._fields:
        assert np.array_equal(getattr(again, name), getattr(forest, name)), name


def test_mixed_leaves_may_be_numbered_in_any_order(grown):
    """As in a file of a stranger, which `check_forest` lets pass."""
    model, rows, _ = grown
    forest = take_trees(model.forest_, 3, 4)
    n_mixed = len(forest.mixed_start) - 1
    assert n_mixed > 2
    pieces = [slice(*forest.mixed_start[i : i + 2]) for i in range(n_mixed)][::-1]
    code = ~forest.other
    backwards = forest._replace(
        other=~np.where(code >= 4, 2 * 4 + n_mixed - 1 - code, code).astype(np.int16),
        mixed_start=np.concatenate(
            [[0], np.cumsum([piece.stop - piece.start for piece in pieces])]
        ),
        mixed_class=np.concatenate([forest.mixed_class[piece] for piece in pieces]),
        mixed_weight=np.concatenate([forest.mixed_weight[piece] for piece in pieces]),
    )
    backwards = check_forest(backwards, 4, rows.shape[1])
    assert vote(forest, rows, 4)[0].tobytes() == vote(backwards, rows, 4)[0].tobytes()


def test_leaves_are_numbered_in_the_order_of_the_nodes_that_refer_to_them(grown):
    forest, rows = grown[0].forest_, grown[1]
    leaves = reach(forest, rows)
    numbers = number_leaves(forest, leaves)
    for tree in range(7):
        first, last = forest.leaf_start[tree : tree + 2]
        assert numbers[tree].min() >= first
        assert numbers[tree].max() < last
    nodes = np.flatnonzero(forest.other < 0)
    assert np.array_equal(nodes[numbers], leaves)
    assert len(nodes) == forest.n_leaves
