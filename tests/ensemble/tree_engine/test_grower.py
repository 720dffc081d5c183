"""Trees against scikit-learn: every split of ours is as good as the best that it finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from cordwood.ensemble._tree_engine.bootstrap import draw_counts
from cordwood.ensemble._tree_engine.grower import _unit, drop_census, join, vote
from cordwood.ensemble._tree_engine.importances import impurity, unfold
from cordwood.ensemble._tree_engine.untrusted import check_forest
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier

N_CLASSES = 4

WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "integer": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "bag": lambda rng, n: rng.poisson(1, n).astype(float),
    "real": lambda rng, n: rng.gamma(1, 1, n),
    "large": lambda rng, n: rng.integers(1, 2000, n).astype(float),
    "small": lambda rng, n: rng.gamma(1, 1e-6, n),
}
SETTINGS = {
    "unlimited": {},
    "leaf": {"min_samples_leaf": 4},
    "split": {"min_samples_split": 12},
    "weight": {"min_weight_fraction_leaf": 0.04},
    "depth": {"max_depth": 4},
    "leaf and weight": {"min_samples_leaf": 3, "min_weight_fraction_leaf": 0.02, "max_depth": 9},
}


def rows_of(nodes, X):
    """The rows of each node, found by walking down from the root."""
    inside = np.zeros((len(nodes.left), len(X)), bool)
    inside[0] = True
    for node in np.flatnonzero(nodes.left >= 0):  # parents stand before their children
        goes_left = X[:, nodes.feature[node]] <= nodes.threshold[node]
        inside[nodes.left[node]] = inside[node] & goes_left
        inside[nodes.right[node]] = inside[node] & ~goes_left
    return inside


def best_decrease(X, codes, weights, model, min_weight):
    """What the best split decreases, by scikit-learn; None where it finds no split."""
    if 2 * min_weight > weights.sum() * (1 + 1e-9):
        return None
    stump = DecisionTreeClassifier(
        criterion=model.criterion,
        max_depth=1,
        min_samples_leaf=model.min_samples_leaf,
        min_samples_split=model.min_samples_split,
        # Rounding must not forbid what is just allowed.
        min_weight_fraction_leaf=min(0.5, min_weight / weights.sum() * (1 - 1e-9)),
    )
    tree = stump.fit(X, codes, sample_weight=weights).tree_
    if tree.node_count == 1:
        return None
    weighted = tree.impurity * tree.weighted_n_node_samples
    return weighted[0] - weighted[1] - weighted[2]


def check_counts(nodes, X, codes, weights):
    """Drop the training rows down the tree and count them again; returns the rows of each node."""
    inside = rows_of(nodes, X)
    # Leaves are kept in single precision: exact for integers, else to seven digits.
    whole = np.array_equal(weights, np.rint(weights))
    counts = [np.bincount(codes[rows], weights[rows], minlength=N_CLASSES) for rows in inside]
    np.testing.assert_allclose(nodes.counts, counts, rtol=0 if whole else 1e-6)
    assert nodes.sizes.tolist() == inside.sum(axis=1).tolist()
    inner = nodes.left >= 0
    children = np.concatenate([nodes.left[inner], nodes.right[inner]])
    assert sorted(children) == list(range(1, len(inner)))
    return inside


def check_splits(model, nodes, inside, X, codes, weights):
    """Compare each split, and each leaf, with what scikit-learn would do with the same rows."""
    exact = nodes._replace(
        counts=np.array(
            [np.bincount(codes[rows], weights[rows], minlength=N_CLASSES) for rows in inside]
        )
    )
    weighted = exact.counts.sum(axis=1) * impurity(exact, entropy=model.criterion == "entropy")
    decreases = weighted - weighted[nodes.left] - weighted[nodes.right]
    min_weight = model.min_weight_fraction_leaf * weights.sum()
    for node, rows in enumerate(inside):
        deepest = nodes.depth[node] == model.max_depth
        best = best_decrease(X[rows], codes[rows], weights[rows], model, min_weight)
        if nodes.left[node] < 0:
            assert deepest or best is None
            continue
        assert not deepest
        scale = weights[rows].sum()
        assert decreases[node] == pytest.approx(best, rel=1e-9, abs=1e-12 * scale)
        below = X[inside[nodes.left[node]], nodes.feature[node]].max()
        above = X[inside[nodes.right[node]], nodes.feature[node]].min()
        assert nodes.threshold[node] == np.float32((float(below) + float(above)) / 2)
    return np.count_nonzero(nodes.left >= 0)


@pytest.mark.parametrize("kind", ["words", "numbers"])
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_split_is_a_best_one(request, kind, weighting, criterion, setting):
    make = request.getfixturevalue(kind)
    X, codes = make(160, 24, N_CLASSES, 5)
    weights = WEIGHTS[weighting](np.random.default_rng(6), len(X))
    model = RandomForestClassifier(
        1,
        criterion=criterion,
        max_features=None,
        bootstrap=False,
        random_state=0,
        **SETTINGS[setting],
    )
    container = sp.csr_array if kind == "words" else np.asarray
    model.fit(container(X), codes, sample_weight=weights)
    seen = weights > 0
    data = X[seen], codes[seen], weights[seen]
    nodes = unfold(model.forest_, 0, N_CLASSES)
    inside = check_counts(nodes, *data)
    assert check_splits(model, nodes, inside, *data) > 5
    assert nodes.sizes.min() >= model.min_samples_leaf


def test_every_split_is_a_best_one_where_lists_grow_long_and_are_made_anew(words):
    X, codes = words(1500, 120, N_CLASSES, 8)
    weights = np.random.default_rng(1).gamma(1, 1, len(X))
    model = RandomForestClassifier(1, max_features=None, bootstrap=False, max_depth=40)
    model.fit(sp.csc_matrix(X), codes, sample_weight=weights)
    nodes = unfold(model.forest_, 0, N_CLASSES)
    inside = check_counts(nodes, X, codes, weights)
    assert check_splits(model, nodes, inside, X, codes, weights) > 100


@pytest.mark.parametrize("kind", ["words", "numbers"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_leaves_hold_what_the_training_rows_say(request, kind, criterion, forest, bootstrap):
    X, codes = request.getfixturevalue(kind)(200, 40, N_CLASSES, 2)
    model = forest(6, criterion=criterion, bootstrap=bootstrap, random_state=3).fit(X, codes)
    for tree in range(6):
        weights = np.ones(len(X))
        if bootstrap:
            weights = draw_counts(model._bootstrap_seeds[tree], len(X), len(X)).astype(float)
        seen = weights > 0
        nodes = unfold(model.forest_, tree, N_CLASSES)
        inside = check_counts(nodes, X[seen], codes[seen], weights[seen])
        assert (inside.any(axis=1)).all()
        # Rows end apart unless they are equal or of one class.
        for leaf in np.flatnonzero(nodes.left < 0):
            rows = X[seen][inside[leaf]]
            assert (rows == rows[0]).all() or np.count_nonzero(nodes.counts[leaf]) == 1


@pytest.mark.parametrize("kind", ["words", "numbers"])
def test_random_cuts_part_the_rows_of_their_nodes(request, kind):
    X, codes = request.getfixturevalue(kind)(200, 40, N_CLASSES, 2)
    model = ExtraTreesClassifier(5, random_state=0).fit(X, codes)
    cuts = []
    for tree in range(5):
        nodes = unfold(model.forest_, tree, N_CLASSES)
        inside = rows_of(nodes, X)
        for node in np.flatnonzero(nodes.left >= 0):
            values = X[inside[node], nodes.feature[node]]
            assert values.min() <= nodes.threshold[node] < values.max()
            cuts.append((nodes.threshold[node] - values.min()) / np.ptp(values))
    # Among single features nothing prefers the middle: a cut may lie anywhere.
    assert np.quantile(cuts, 0.1) < 0.25
    assert np.quantile(cuts, 0.9) > 0.75


# --- forests ----------------------------------------------------------------------------------


def test_forests_joined_are_their_trees_one_behind_the_other(words):
    X, codes = words(150, 30, N_CLASSES, 0)
    parts = [
        RandomForestClassifier(n, min_samples_leaf=3, random_state=n).fit(X, codes).forest_
        for n in (1, 3, 2)
    ]
    whole = join(parts)
    check_forest(whole, N_CLASSES, 30)
    rows = sp.csr_matrix(X)
    expected = sum(vote(part, rows, N_CLASSES)[0] for part in parts)
    votes, n_votes = vote(whole, rows, N_CLASSES)
    np.testing.assert_allclose(votes, expected, rtol=1e-12)
    assert set(n_votes) == {6}
    tree = 0
    for part in parts:
        for number in range(part.n_trees):
            for joined, alone in zip(
                unfold(whole, tree, N_CLASSES), unfold(part, number, N_CLASSES), strict=True
            ):
                assert np.array_equal(joined, alone)
            tree += 1


def widen(forest):
    return forest._replace(
        split=forest.split.astype(np.uint32), other=forest.other.astype(np.int32)
    )


@pytest.mark.parametrize("is_wide", [(False, True), (True, False), (True, True)])
def test_a_forest_joined_with_a_wide_one_is_wide_and_votes_the_same(words, is_wide):
    X, codes = words(150, 30, N_CLASSES, 0)
    parts = [
        RandomForestClassifier(3, min_samples_leaf=3, random_state=seed).fit(X, codes).forest_
        for seed in (0, 1)
    ]
    narrow = join(parts)
    wide = join([widen(part) if w else part for part, w in zip(parts, is_wide, strict=True)])
    assert narrow.split.dtype == np.uint16
    assert narrow.other.dtype == np.int16
    assert wide.split.dtype == np.uint32
    assert wide.other.dtype == np.int32
    check_forest(wide, N_CLASSES, 30)
    rows = sp.csr_matrix(X)
    assert vote(wide, rows, N_CLASSES)[0].tobytes() == vote(narrow, rows, N_CLASSES)[0].tobytes()


def test_many_features_make_a_forest_wide_and_change_nothing_else(words):
    X, codes = words(120, 30, N_CLASSES, 0)
    forests = []
    for n in (2**15, 2**15 + 1):
        # Ours are the last ones, so that the greatest code is met.
        rows = sp.hstack([sp.csr_matrix((120, n - 30)), sp.csr_matrix(X)], format="csr")
        forest = ExtraTreesClassifier(3, max_features=None, random_state=0).fit(rows, codes).forest_
        check_forest(forest, N_CLASSES, n)
        assert (forest.split >> 1).max() > n - 30
        votes, _ = vote(forest, sp.csr_matrix(rows.astype(np.float32)), N_CLASSES)
        np.testing.assert_array_equal(votes, 3 * np.eye(N_CLASSES)[codes])
        forests.append(forest)
    assert [forest.is_wide for forest in forests] == [False, True]


def test_large_trees_make_a_forest_wide():
    """Each row is a leaf of its own, and a wrong step would lead to another class."""
    n = 30_000
    X = np.random.default_rng(0).permutation(n).astype(np.float32)[:, None]
    codes = X[:, 0].astype(int) % 2
    for n_rows, is_wide in ((5000, False), (n, True)):
        model = ExtraTreesClassifier(2, random_state=0).fit(X[:n_rows], codes[:n_rows])
        assert model.forest_.is_wide == is_wide
        assert model.forest_.n_leaves > n_rows / 2
        check_forest(model.forest_, 2, 1)
        assert (model.predict(X[:n_rows]) == codes[:n_rows]).all()


def test_a_census_is_joined_only_if_it_is_whole(words):
    X, codes = words(80, 20, N_CLASSES, 0)
    forest = RandomForestClassifier(2, random_state=0).fit(X, codes).forest_
    assert join([forest, forest]).has_census
    assert join([forest, join([])]).has_census
    for parts in ([forest, drop_census(forest)], [drop_census(forest), forest]):
        joined = join(parts)
        assert not joined.has_census
        assert joined.leaf_weight.size == joined.leaf_size.size == 0
        check_forest(joined, N_CLASSES, 20)


def test_grown_arrays_cannot_be_changed(words):
    X, codes = words(50, 20, N_CLASSES, 0)
    for array in RandomForestClassifier(2, random_state=0).fit(X, codes).forest_:
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


@pytest.mark.parametrize("weights", [[0.0, 3, 255], [1e-9, 1], [0.1, 0.7, 0.3], [1, 256], [1e20]])
def test_the_heaviest_row_has_at_most_the_greatest_level(weights):
    weights = np.array(weights)
    levels = np.ceil(weights / _unit(weights))
    assert levels.max() <= 255
    assert ((levels > 0) == (weights > 0)).all()


def test_the_heaviest_row_has_at_most_the_greatest_level_whatever_the_rounding():
    for heaviest in np.random.default_rng(0).random(2000):
        weights = np.array([heaviest, heaviest / 3])
        assert np.ceil(weights / _unit(weights)).max() <= 255
