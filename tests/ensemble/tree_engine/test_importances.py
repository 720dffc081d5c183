"""Trees laid out node by node, against the trees of scikit-learn that hold the same."""

import numpy as np
import pytest

from cordwood.ensemble._tree_engine.grower import drop_census
from cordwood.ensemble._tree_engine.importances import importances, impurity, unfold
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier

N_CLASSES = 3


@pytest.fixture(scope="module", params=["gini", "entropy"])
def model(request, words):
    X, codes = words(150, 30, N_CLASSES, 4)
    return RandomForestClassifier(
        5, criterion=request.param, min_samples_leaf=2, random_state=0
    ).fit(X, codes)


def test_parents_stand_before_their_children_and_every_node_has_its_depth(model):
    for tree in range(5):
        nodes = unfold(model.forest_, tree, N_CLASSES)
        inner = np.flatnonzero(nodes.left >= 0)
        assert (nodes.left[inner] > inner).all()
        assert (nodes.right[inner] > inner).all()
        assert nodes.depth[0] == 0
        for children in (nodes.left, nodes.right):
            assert (nodes.depth[children[inner]] == nodes.depth[inner] + 1).all()
        leaf = nodes.left < 0
        assert (nodes.right[leaf] == -1).all()
        assert (nodes.feature[leaf] == -1).all()
        assert leaf.sum() == np.diff(model.forest_.leaf_start)[tree]
        assert (
            nodes.sizes[inner] == nodes.sizes[nodes.left[inner]] + nodes.sizes[nodes.right[inner]]
        ).all()


def test_impurity_is_the_textbook_s(model):
    nodes = unfold(model.forest_, 0, N_CLASSES)
    entropy = model.criterion == "entropy"
    for node, counts in enumerate(nodes.counts):
        share = counts[counts > 0] / counts.sum()
        expected = -(share * np.log2(share)).sum() if entropy else 1 - (share**2).sum()
        assert impurity(nodes, entropy=entropy)[node] == pytest.approx(expected, abs=1e-15)


def test_importances_are_scikit_learn_s(model):
    expected = model.to_sklearn().feature_importances_
    assert expected.max() > 0
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-9, atol=1e-15)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_importances_are_the_trees_weighted(model):
    """By scikit-learn, tree by tree."""
    weights = np.array([0.1, 3.0, 0.0, 1.0, 0.4])
    theirs = [tree.feature_importances_ for tree in model.to_sklearn().estimators_]
    found = importances(
        model.forest_,
        N_CLASSES,
        30,
        entropy=model.criterion == "entropy",
        tree_weights=weights,
    )
    np.testing.assert_allclose(found, weights @ theirs / weights.sum(), rtol=1e-9, atol=1e-15)


def test_what_the_census_tells_is_not_told_without_it(model):
    forest = drop_census(model.forest_)
    with pytest.raises(ValueError, match="does not know the weights of its leaves"):
        unfold(forest, 0, N_CLASSES)
    with pytest.raises(ValueError, match="does not know the weights of its leaves"):
        importances(forest, N_CLASSES, 30, entropy=False)


def test_importances_of_trees_that_are_single_leaves_are_zero():
    model = ExtraTreesClassifier(3, random_state=0).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert model.feature_importances_.tolist() == [0, 0]
    assert importances(model.forest_, 2, 2, entropy=True).tolist() == [0, 0]


def test_single_leaves_do_not_dilute_the_importances_of_trees():
    """Bags of few rows may be of one class: scikit-learn leaves such trees out as well."""
    X, y = np.arange(8.0)[:, None] % 4, [0, 0, 0, 0, 0, 0, 1, 1]
    model = RandomForestClassifier(30, max_samples=3, random_state=0).fit(X, y)
    sizes = np.diff(model.forest_.node_start)
    assert (sizes == 1).any()
    assert (sizes > 1).any()
    assert model.feature_importances_.tolist() == [1]
