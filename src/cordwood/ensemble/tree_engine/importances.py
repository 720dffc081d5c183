"""Expanded trees, with statistics of every node, and impurity-based feature importances."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import borrow
from cordwood._kernels.jit import Float, Float64Array, Int, Record, helper, kernel
from cordwood.ensemble.tree_engine.forest import Forest, number_features

# With more features than this, only those that trees split on are processed.
_MAX_DENSE_FEATURES = 2**20


class TreeNodes(NamedTuple):
    """One tree in the layout of scikit-learn: leaves are nodes, and nodes have both children."""

    left: NDArray[np.int64]  # (n_nodes,): the children; -1 at leaves
    right: NDArray[np.int64]  # (n_nodes,)
    feature: NDArray[np.int64]  # (n_nodes,): -1 at leaves
    threshold: NDArray[np.float32]  # (n_nodes,): values less than or equal to it go left
    # (n_nodes, n_classes): total weight of the training samples of each class.
    class_weights: NDArray[np.float64]
    n_node_samples: NDArray[np.int64]  # (n_nodes,): number of training samples
    depth: NDArray[np.int64]  # (n_nodes,)


def expand_tree(forest: Forest, tree: int, n_classes: int) -> TreeNodes:
    """Return all nodes of one tree, the root first and parents before their children."""
    _check_leaf_stats(forest)
    here = slice(forest.node_start[tree], forest.node_start[tree + 1])
    code = forest.feature_and_side[here].astype(np.int64)
    far_child = forest.far_child[here].astype(np.int64)
    n_inner, n_leaves = len(code), int(np.diff(forest.leaf_start[tree : tree + 2])[0])
    class_weights = np.zeros((n_inner + n_leaves, n_classes))
    n_node_samples = np.zeros(n_inner + n_leaves, np.int64)
    sum_node_stats(forest, tree, class_weights, n_node_samples)
    # A leaf node and the leaf that it refers to are the same node: keep the former.
    is_leaf_node = forest.threshold[here] == -np.inf
    far = np.where(far_child >= 0, far_child, n_inner + np.cumsum(far_child < 0) - 1)
    kept = np.ones(n_inner + n_leaves, bool)
    kept[far[is_leaf_node]] = False
    new = np.cumsum(kept) - 1
    following = np.arange(1, n_inner + 1)
    next_is_right = (code & 1).astype(bool)
    left = np.full(n_inner + n_leaves, -1)
    right, feature = left.copy(), left.copy()
    inner = np.flatnonzero(~is_leaf_node)
    left[inner] = new[np.where(next_is_right, far, following)[inner]]
    right[inner] = new[np.where(next_is_right, following, far)[inner]]
    feature[inner] = code[inner] >> 1
    threshold = np.zeros(n_inner + n_leaves, np.float32)
    threshold[inner] = forest.threshold[here][inner]
    left, right, feature = left[kept], right[kept], feature[kept]
    return TreeNodes(
        left=left,
        right=right,
        feature=feature,
        threshold=threshold[kept],
        class_weights=class_weights[kept],
        n_node_samples=n_node_samples[kept],
        depth=_node_depths(left, right),
    )


def node_impurity(nodes: TreeNodes, *, entropy: bool) -> NDArray[np.float64]:
    """Return the Gini impurity or the entropy of every node."""
    frequency = nodes.class_weights / nodes.class_weights.sum(axis=1, keepdims=True)
    if not entropy:
        return np.asarray(1.0 - (frequency**2).sum(axis=1))
    logs = np.log2(frequency, where=frequency > 0, out=np.zeros_like(frequency))
    return np.asarray(-(frequency * logs).sum(axis=1))


def importances(
    forest: Forest,
    n_classes: int,
    n_features: int,
    *,
    entropy: bool,
    tree_weights: NDArray[np.float64] | None = None,  # (n_trees,)
) -> NDArray[np.float64]:
    """Return the mean decrease in impurity of each feature, as a fraction of the total.

    As in scikit-learn, trees that consist of a single leaf are ignored; if all trees do, all
    importances are zero.
    """
    _check_leaf_stats(forest)
    if n_features > _MAX_DENSE_FEATURES:
        result = np.zeros(n_features)
        small, features = number_features(forest)
        result[features] = importances(
            small, n_classes, len(features), entropy=entropy, tree_weights=tree_weights
        )
        return result
    total = np.zeros(n_features)
    for tree in range(forest.n_trees):
        decrease = np.zeros(n_features)
        add_impurity_decrease(forest, tree, n_classes, entropy, decrease)
        weight, tree_total = 1.0 if tree_weights is None else tree_weights[tree], decrease.sum()
        if tree_total > 0:
            decrease *= weight / tree_total
            total += decrease
    return total / total.sum() if total.any() else total


def _check_leaf_stats(forest: Forest) -> None:
    if not forest.has_leaf_stats:
        raise ValueError(
            "The forest has no leaf statistics; boosted forests drop them after computing "
            "feature_importances_."
        )


def _node_depths(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the depth of every node."""
    depths = np.zeros(len(left), np.int64)
    level = np.zeros(1, np.int64)
    depth = 0
    while len(level):
        depths[level] = depth
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
        depth += 1
    return depths


@kernel
def sum_node_stats(
    forest: Record, tree: Int, class_weights: Float64Array, n_node_samples: NDArray[np.int64]
) -> None:
    """Sum class weights and numbers of samples of one tree's nodes, children before parents.

    The outputs are zeros on entry, with a row for each node, followed by one for each leaf.
    """
    forest = borrow(forest)
    n_classes = class_weights.shape[1]
    first, leaf = forest.node_start[tree], forest.leaf_start[tree + 1]
    n_nodes = forest.node_start[tree + 1] - first
    row_of_leaf = n_nodes - forest.leaf_start[tree]
    for node in range(n_nodes - 1, -1, -1):
        row = np.int64(forest.far_child[first + node])
        if row < 0:
            code = ~row
            leaf -= 1
            row = row_of_leaf + leaf
            n_node_samples[row] = forest.leaf_size[leaf]
            if code < n_classes:
                class_weights[row, code] = forest.leaf_weight[leaf]
            else:
                impure = forest.impure_leaf_start[tree] + code - n_classes
                for i in range(
                    forest.impure_entry_start[impure], forest.impure_entry_start[impure + 1]
                ):
                    class_weights[row, forest.impure_class[i]] = forest.impure_weight[i]
        class_weights[node] += class_weights[row]
        n_node_samples[node] += n_node_samples[row]
        if forest.threshold[first + node] > -np.inf:
            class_weights[node] += class_weights[node + 1]
            n_node_samples[node] += n_node_samples[node + 1]


@kernel
def add_impurity_decrease(
    forest: Record, tree: Int, n_classes: Int, entropy: bool, decrease: Float64Array
) -> None:
    """Add the weighted decrease in impurity of one tree's splits to their features."""
    # From the last node to the first: a node takes over the class weights of the next node and adds
    # those of its far child, which usually has a single class.
    forest = borrow(forest)
    first, last = forest.node_start[tree], forest.node_start[tree + 1]
    leaf = forest.leaf_start[tree + 1]
    start, classes, weights = forest.impure_entry_start, forest.impure_class, forest.impure_weight
    n_leaf_nodes = 0
    for node in range(first, last):
        n_leaf_nodes += forest.threshold[node] == -np.inf
    class_weights = np.zeros((n_leaf_nodes, n_classes))
    row_of = np.empty(last - first, np.int64)
    row = -1
    # Of the current node: total weight, sum of the classes' terms, and weighted impurity.
    total, terms, impurity = 0.0, 0.0, 0.0
    for node in range(last - 1, first - 1, -1):
        is_leaf_node = forest.threshold[node] == -np.inf
        if is_leaf_node:
            row += 1
            total, terms, impurity = 0.0, 0.0, 0.0
        row_of[node - first] = row
        own = class_weights[row]
        next_impurity = impurity
        far_total, far_terms = 0.0, 0.0
        far_child = np.int64(forest.far_child[node])
        leaf -= far_child < 0
        if far_child < 0 and ~far_child < n_classes:
            far_total = np.float64(forest.leaf_weight[leaf])
            far_terms = impurity_term(entropy, far_total)
            terms += add_class_weight(entropy, own, ~far_child, far_total)
        elif far_child < 0:
            impure = forest.impure_leaf_start[tree] + ~far_child - n_classes
            for i in range(start[impure], start[impure + 1]):
                weight = np.float64(weights[i])
                far_total += weight
                far_terms += impurity_term(entropy, weight)
                terms += add_class_weight(entropy, own, classes[i], weight)
        else:
            for label in range(n_classes):
                weight = class_weights[row_of[far_child], label]
                far_total += weight
                far_terms += impurity_term(entropy, weight)
                terms += add_class_weight(entropy, own, label, weight)
        total += far_total
        impurity = weighted_impurity(entropy, total, terms)
        if not is_leaf_node:
            far_impurity = weighted_impurity(entropy, far_total, far_terms)
            decrease[forest.feature_and_side[node] >> 1] += impurity - next_impurity - far_impurity


@helper
def impurity_term(entropy: bool, weight: Float) -> Float:
    """Return the term of a class of this weight in the impurity: w log2 w, or w squared."""
    if entropy:
        return weight * np.log2(weight) if weight > 0.0 else 0.0
    return weight * weight


@helper
def add_class_weight(
    entropy: bool, class_weights: Float64Array, label: Int, weight: Float
) -> Float:
    """Add a weight to a class; return the change of the sum of terms."""
    if weight == 0.0:
        return 0.0
    before = impurity_term(entropy, class_weights[label])
    class_weights[label] += weight
    return impurity_term(entropy, class_weights[label]) - before


@helper
def weighted_impurity(entropy: bool, total: Float, terms: Float) -> Float:
    """Return the impurity of a node, times its total weight."""
    return impurity_term(entropy, total) - terms if entropy else total - terms / total
