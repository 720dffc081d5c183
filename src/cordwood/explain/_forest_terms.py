"""Attributions of forests: exact Shapley values of their votes."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from cordwood._base.csr import csr_arrays
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import BaseForestClassifier
from cordwood.ensemble.tree_engine.forest import Forest, freeze
from cordwood.explain._attribution import Attribution, Attributor, Link
from cordwood.explain._path_integrals import Floats
from cordwood.explain._tree_shap import tree_shap

_METHOD = "exact: Shapley values of the trees' votes"


def make_forest_attributor(estimator: Any) -> Attributor | None:
    """Return the attributor of a tree ensemble; None if the estimator is another one."""
    if isinstance(estimator, BaseForestClassifier):
        n_trees = estimator.forest_.n_trees
        return _make(estimator.forest_, np.full(n_trees, 1 / n_trees), len(estimator.classes_))
    if isinstance(estimator, BoostedForestClassifier):
        weights = estimator.tree_weights_ / estimator.tree_weights_.sum()
        return _make(estimator.forest_, weights, len(estimator.classes_))
    if isinstance(estimator, AdaBoostM2Classifier):
        return _make(
            _plausible_forest(estimator),
            estimator.estimator_weights_,
            len(estimator.classes_),
            link="normalize",
        )
    return None


def _make(
    forest: Forest, tree_weights: Floats, n_classes: int, *, link: Link = "identity"
) -> Attributor:
    def attribute(X: sp.csr_matrix) -> Attribution:
        values, start = tree_shap(
            forest, csr_arrays(X), tree_weights, n_classes, normalize=link == "identity"
        )
        is_used = values.any(axis=1)
        values = values[is_used]
        end = start + values.sum(axis=0)
        return Attribution(X.indices[is_used], values, start, end, link)

    return Attributor(attribute, _METHOD, True)


def _plausible_forest(estimator: AdaBoostM2Classifier) -> Forest:
    """Return the trees with leaves that vote with weight one for each plausible label."""
    forest = estimator.forest_
    n_classes, leaf_start = len(estimator.classes_), forest.leaf_start
    plausible = np.unpackbits(estimator.plausible_, axis=1, count=n_classes, bitorder="little")
    leaf, label = np.nonzero(plausible)
    counts = np.bincount(leaf, minlength=forest.n_leaves)
    is_leaf = forest.far_child < 0
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_start))[is_leaf]
    far_child = forest.far_child.astype(np.int32)
    far_child[is_leaf] = ~(n_classes + np.arange(forest.n_leaves) - leaf_start[tree])
    return freeze(
        forest._replace(
            feature_and_side=forest.feature_and_side.astype(np.uint32),
            far_child=far_child,
            impure_leaf_start=leaf_start,
            impure_entry_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            impure_class=label.astype(np.int32),
            impure_weight=np.ones(len(label), np.float32),
        )
    )
