"""Expanded trees and importances, compared with scikit-learn's trees of the same nodes."""

import numpy as np
import pytest

from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.tree_engine.forest import drop_leaf_stats
from cordwood.ensemble.tree_engine.importances import expand_tree, importances, node_impurity
from synthetic_data import make_counts

N_CLASSES, N_FEATURES, N_TREES = 3, 30, 5


@pytest.fixture(scope="module", params=["gini", "entropy"])
def model(request):
    X, y = make_counts(150, N_FEATURES, N_CLASSES, 4)
    return RandomForestClassifier(
        N_TREES, criterion=request.param, min_samples_leaf=2, random_state=0
    ).fit(X, y)


def test_expanded_nodes_are_consistent(model):
    for tree in range(N_TREES):
        nodes = expand_tree(model.forest_, tree, N_CLASSES)
        inner = np.flatnonzero(nodes.left >= 0)
        left, right = nodes.left[inner], nodes.right[inner]
        assert (left > inner).all()
        assert (right > inner).all()
        assert nodes.depth[0] == 0
        for children in (left, right):
            assert (nodes.depth[children] == nodes.depth[inner] + 1).all()
        is_leaf = nodes.left < 0
        assert (nodes.right[is_leaf] == -1).all()
        assert (nodes.feature[is_leaf] == -1).all()
        assert is_leaf.sum() == np.diff(model.forest_.leaf_start)[tree]
        n_samples = nodes.n_node_samples
        assert (n_samples[inner] == n_samples[left] + n_samples[right]).all()


def test_node_impurity_matches_its_definition(model):
    nodes = expand_tree(model.forest_, 0, N_CLASSES)
    entropy = model.criterion == "entropy"
    for node, weights in enumerate(nodes.class_weights):
        frequency = weights[weights > 0] / weights.sum()
        gini, bits = 1 - (frequency**2).sum(), -(frequency * np.log2(frequency)).sum()
        expected = bits if entropy else gini
        assert node_impurity(nodes, entropy=entropy)[node] == pytest.approx(expected, abs=1e-15)


def test_importances_match_scikit_learn(model):
    expected = model.to_sklearn().feature_importances_
    assert expected.max() > 0
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-9, atol=1e-15)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_weighted_importances_are_weighted_means_over_trees(model):
    weights = np.array([0.1, 3.0, 0.0, 1.0, 0.4])
    of_trees = [tree.feature_importances_ for tree in model.to_sklearn().estimators_]
    found = importances(
        model.forest_,
        N_CLASSES,
        N_FEATURES,
        entropy=model.criterion == "entropy",
        tree_weights=weights,
    )
    np.testing.assert_allclose(found, weights @ of_trees / weights.sum(), rtol=1e-9, atol=1e-15)


def test_forests_without_leaf_statistics_raise(model):
    forest = drop_leaf_stats(model.forest_)
    with pytest.raises(ValueError, match="no leaf statistics"):
        expand_tree(forest, 0, N_CLASSES)
    with pytest.raises(ValueError, match="no leaf statistics"):
        importances(forest, N_CLASSES, N_FEATURES, entropy=False)


def test_importances_of_single_leaves_are_zero():
    model = ExtraTreesClassifier(3, random_state=0).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert model.feature_importances_.tolist() == [0, 0]
    assert importances(model.forest_, 2, 2, entropy=True).tolist() == [0, 0]


def test_single_leaves_are_ignored_in_the_mean():
    """Small bootstrap samples may have a single class; scikit-learn ignores such trees as well."""
    X, y = np.arange(8.0)[:, None] % 4, [0, 0, 0, 0, 0, 0, 1, 1]
    model = RandomForestClassifier(30, max_samples=3, random_state=0).fit(X, y)
    n_nodes = np.diff(model.forest_.node_start)
    assert (n_nodes == 1).any()
    assert (n_nodes > 1).any()
    assert model.feature_importances_.tolist() == [1]


# --- kernels ----------------------------------------------------------------------------------


def leaf_stats(forest, node):
    """Class weights and number of samples of the leaf that a node refers to."""
    leaf = np.cumsum(forest.far_child < 0)[node] - 1
    code = int(~forest.far_child[node])
    weights = np.zeros(N_CLASSES)
    if code < N_CLASSES:
        weights[code] = forest.leaf_weight[leaf]
    else:
        tree = np.searchsorted(forest.node_start, node, side="right") - 1
        impure = forest.impure_leaf_start[tree] + code - N_CLASSES
        entries = slice(*forest.impure_entry_start[impure : impure + 2])
        weights[forest.impure_class[entries]] = forest.impure_weight[entries]
    return weights, int(forest.leaf_size[leaf])


def sum_tree(kernels, forest, tree):
    n_rows = int(np.diff(forest.node_start)[tree] + np.diff(forest.leaf_start)[tree])
    class_weights, n_node_samples = np.zeros((n_rows, N_CLASSES)), np.zeros(n_rows, np.int64)
    kernels.importances.sum_node_stats(forest, tree, class_weights, n_node_samples)
    return class_weights, n_node_samples


def test_node_statistics_are_sums_over_the_leaves_below(kernels, model):
    forest = model.forest_
    for tree in range(N_TREES):
        first, last = forest.node_start[tree : tree + 2]
        class_weights, n_node_samples = sum_tree(kernels, forest, tree)

        def node_stats(node, first=first):
            child = forest.far_child[node]
            weights, size = leaf_stats(forest, node) if child < 0 else node_stats(first + child)
            if forest.threshold[node] > -np.inf:
                next_weights, next_size = node_stats(node + 1)
                return weights + next_weights, size + next_size
            return weights, size

        for node in range(last - first):
            weights, size = node_stats(first + node)
            np.testing.assert_allclose(class_weights[node], weights, rtol=1e-6)
            assert n_node_samples[node] == size
        for leaf, node in enumerate(first + np.flatnonzero(forest.far_child[first:last] < 0)):
            weights, _ = leaf_stats(forest, node)
            np.testing.assert_allclose(class_weights[last - first + leaf], weights, rtol=1e-6)


def test_impurity_decrease_is_the_difference_between_node_and_children(kernels, model):
    forest, entropy = model.forest_, model.criterion == "entropy"
    for tree in range(N_TREES):
        first, last = forest.node_start[tree : tree + 2]
        class_weights, _ = sum_tree(kernels, forest, tree)
        frequency = class_weights / class_weights.sum(axis=1, keepdims=True)
        logs = np.log2(frequency, where=frequency > 0, out=np.zeros_like(frequency))
        impurity = -(frequency * logs).sum(axis=1) if entropy else 1 - (frequency**2).sum(axis=1)
        impurity *= class_weights.sum(axis=1)
        child = forest.far_child[first:last].astype(int)
        far = impurity[np.where(child < 0, last - first + np.cumsum(child < 0) - 1, child)]
        inner = np.flatnonzero(forest.threshold[first:last] > -np.inf)
        expected = np.bincount(
            forest.feature_and_side[first:last][inner] >> 1,
            weights=impurity[inner] - impurity[inner + 1] - far[inner],
            minlength=N_FEATURES,
        )
        decrease = np.zeros(N_FEATURES)
        kernels.importances.add_impurity_decrease(forest, tree, N_CLASSES, entropy, decrease)
        assert expected.max() > 1
        np.testing.assert_allclose(decrease, expected, rtol=1e-9, atol=1e-12)
