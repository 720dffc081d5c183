"""Grown trees against scikit-learn: every split is as good as the best one that it finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from cordwood._base.csr import csc_arrays
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.tree_engine.binning import bin_matrix
from cordwood.ensemble.tree_engine.bootstrap import draw_counts
from cordwood.ensemble.tree_engine.grower import TreeParams, _weight_unit, grow_forest
from cordwood.ensemble.tree_engine.importances import expand_tree, node_impurity
from synthetic_data import make_counts, make_numbers

N_CLASSES = 4

MAKE = {"counts": make_counts, "numbers": make_numbers}
WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "integer": lambda rng, n: rng.integers(1, 5, n).astype(float),
    "bootstrap": lambda rng, n: rng.poisson(1, n).astype(float),
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


def find_node_samples(nodes, X):
    """Return a mask of the samples of each node."""
    inside = np.zeros((len(nodes.left), len(X)), bool)
    inside[0] = True
    for node in np.flatnonzero(nodes.left >= 0):  # parents come before their children
        goes_left = X[:, nodes.feature[node]] <= nodes.threshold[node]
        inside[nodes.left[node]] = inside[node] & goes_left
        inside[nodes.right[node]] = inside[node] & ~goes_left
    return inside


def sum_class_weights(inside, y, weights):
    return np.array([np.bincount(y[m], weights[m], minlength=N_CLASSES) for m in inside])


def best_decrease(X, y, weights, model, min_weight):
    """Return the largest decrease in impurity by scikit-learn; None if it finds no split."""
    if 2 * min_weight > weights.sum() * (1 + 1e-9):
        return None
    stump = DecisionTreeClassifier(
        criterion=model.criterion,
        max_depth=1,
        min_samples_leaf=model.min_samples_leaf,
        min_samples_split=model.min_samples_split,
        # Rounding must not exclude splits that are just allowed.
        min_weight_fraction_leaf=min(0.5, min_weight / weights.sum() * (1 - 1e-9)),
    )
    tree = stump.fit(X, y, sample_weight=weights).tree_
    if tree.node_count == 1:
        return None
    weighted = tree.impurity * tree.weighted_n_node_samples
    return weighted[0] - weighted[1] - weighted[2]


def check_statistics(nodes, X, y, weights):
    """Compare the statistics of nodes with the training samples that reach them; return these."""
    inside = find_node_samples(nodes, X)
    # Leaves are stored in single precision: exact for integers, otherwise to seven digits.
    is_integer = np.array_equal(weights, np.rint(weights))
    expected = sum_class_weights(inside, y, weights)
    np.testing.assert_allclose(nodes.class_weights, expected, rtol=0 if is_integer else 1e-6)
    assert nodes.n_node_samples.tolist() == inside.sum(axis=1).tolist()
    inner = nodes.left >= 0
    children = np.concatenate([nodes.left[inner], nodes.right[inner]])
    assert sorted(children) == list(range(1, len(inner)))
    return inside


def check_splits(model, nodes, inside, X, y, weights):
    """Compare each node with scikit-learn's stump on its samples; return the number of splits."""
    exact = nodes._replace(class_weights=sum_class_weights(inside, y, weights))
    impurity = node_impurity(exact, entropy=model.criterion == "entropy")
    weighted = exact.class_weights.sum(axis=1) * impurity
    decreases = weighted - weighted[nodes.left] - weighted[nodes.right]
    min_weight = model.min_weight_fraction_leaf * weights.sum()
    for node, mask in enumerate(inside):
        is_deepest = nodes.depth[node] == model.max_depth
        best = best_decrease(X[mask], y[mask], weights[mask], model, min_weight)
        if nodes.left[node] < 0:
            assert is_deepest or best is None
            continue
        assert not is_deepest
        scale = weights[mask].sum()
        assert decreases[node] == pytest.approx(best, rel=1e-9, abs=1e-12 * scale)
        below = X[inside[nodes.left[node]], nodes.feature[node]].max()
        above = X[inside[nodes.right[node]], nodes.feature[node]].min()
        assert nodes.threshold[node] == np.float32((float(below) + float(above)) / 2)
    return np.count_nonzero(nodes.left >= 0)


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_split_is_a_best_split(kind, weighting, criterion, setting):
    X, y = MAKE[kind](160, 24, N_CLASSES, 5)
    weights = WEIGHTS[weighting](np.random.default_rng(6), len(X))
    model = RandomForestClassifier(
        1,
        criterion=criterion,
        max_features=None,
        bootstrap=False,
        random_state=0,
        **SETTINGS[setting],
    )
    container = sp.csr_array if kind == "counts" else np.asarray
    model.fit(container(X), y, sample_weight=weights)
    used = weights > 0
    data = X[used], y[used], weights[used]
    nodes = expand_tree(model.forest_, 0, N_CLASSES)
    inside = check_statistics(nodes, *data)
    assert check_splits(model, nodes, inside, *data) > 5
    assert nodes.n_node_samples.min() >= model.min_samples_leaf


def test_every_split_is_a_best_split_if_lists_are_long_and_rebuilt():
    X, y = make_counts(1500, 120, N_CLASSES, 8)
    weights = np.random.default_rng(1).gamma(1, 1, len(X))
    model = RandomForestClassifier(1, max_features=None, bootstrap=False, max_depth=40)
    model.fit(sp.csc_matrix(X), y, sample_weight=weights)
    nodes = expand_tree(model.forest_, 0, N_CLASSES)
    inside = check_statistics(nodes, X, y, weights)
    assert check_splits(model, nodes, inside, X, y, weights) > 100


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_leaf_statistics_are_those_of_the_training_samples(kind, criterion, forest, bootstrap):
    X, y = MAKE[kind](200, 40, N_CLASSES, 2)
    model = forest(6, criterion=criterion, bootstrap=bootstrap, random_state=3).fit(X, y)
    for tree in range(6):
        weights = np.ones(len(X))
        if bootstrap:
            weights = draw_counts(model._bootstrap_seeds[tree], len(X), len(X)).astype(float)
        used = weights > 0
        nodes = expand_tree(model.forest_, tree, N_CLASSES)
        inside = check_statistics(nodes, X[used], y[used], weights[used])
        assert (inside.any(axis=1)).all()
        # Unlimited trees separate all samples but duplicates and samples of one class.
        for leaf in np.flatnonzero(nodes.left < 0):
            in_leaf = X[used][inside[leaf]]
            is_pure = np.count_nonzero(nodes.class_weights[leaf]) == 1
            assert is_pure or (in_leaf == in_leaf[0]).all()


@pytest.mark.parametrize("kind", MAKE)
def test_random_thresholds_are_within_the_range_of_values(kind):
    X, y = MAKE[kind](200, 40, N_CLASSES, 2)
    model = ExtraTreesClassifier(5, random_state=0).fit(X, y)
    positions = []
    for tree in range(5):
        nodes = expand_tree(model.forest_, tree, N_CLASSES)
        inside = find_node_samples(nodes, X)
        for node in np.flatnonzero(nodes.left >= 0):
            values = X[inside[node], nodes.feature[node]]
            assert values.min() <= nodes.threshold[node] < values.max()
            positions.append((nodes.threshold[node] - values.min()) / np.ptp(values))
    # Thresholds are drawn uniformly, not only near the middle.
    assert np.quantile(positions, 0.1) < 0.25
    assert np.quantile(positions, 0.9) > 0.75


def test_on_tree_stops_growing():
    X, y = make_counts(100, 20, N_CLASSES, 0)
    params = TreeParams(
        entropy=False,
        random_split=True,
        max_features=4,
        max_depth=2**31 - 1,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        x_log_x=np.empty(0),
    )
    data = bin_matrix(csc_arrays(sp.csc_matrix(X))), y.astype(np.uint32), N_CLASSES, params
    counts = []

    def stop_at_three(trees):
        counts.append(len(trees))
        return len(trees) == 3

    weights = np.ones(100)
    stopped = grow_forest(*data, range(10), lambda _: weights, n_jobs=2, on_tree=stop_at_three)
    assert counts == [1, 2, 3]
    for a, b in zip(stopped, grow_forest(*data, range(3), lambda _: weights), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("weights", [[0.0, 3, 255], [1e-9, 1], [0.1, 0.7, 0.3], [1, 256], [1e20]])
def test_weight_levels_are_at_most_255(weights):
    weights = np.array(weights)
    levels = np.ceil(weights / _weight_unit(weights))
    assert levels.max() <= 255
    assert ((levels > 0) == (weights > 0)).all()


def test_weight_levels_are_at_most_255_whatever_the_rounding():
    for heaviest in np.random.default_rng(0).random(2000):
        weights = np.array([heaviest, heaviest / 3])
        assert np.ceil(weights / _weight_unit(weights)).max() <= 255
