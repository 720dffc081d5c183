"""A grown tree node by node: children, documents, impurity, and what follows from them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._tree_engine._kernels_importances import add_gains, total_nodes
from cordwood.ensemble._tree_engine.records import Forest


class Nodes(NamedTuple):
    """One tree in the usual form: every leaf is a node, every node knows both children.

    Parameters
    ----------
    left, right : int64 arrays of shape (n_nodes,)
        The children; -1 at leaves.
    feature : int64 array of shape (n_nodes,)
        -1 at leaves.
    threshold : float32 array of shape (n_nodes,)
        Values not above it go left.
    counts : float64 array of shape (n_nodes, n_classes)
        Weights of the training documents by class.
    sizes : int64 array of shape (n_nodes,)
        Numbers of the training documents.
    depth : int64 array of shape (n_nodes,)
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    counts: NDArray[np.float64]
    sizes: NDArray[np.int64]
    depth: NDArray[np.int64]


def unfold(forest: Forest, tree: int, n_classes: int) -> Nodes:
    """Lay out one tree node by node, the root first and parents before their children."""
    _check_census(forest)
    here = slice(forest.node_start[tree], forest.node_start[tree + 1])
    split, other = forest.split[here].astype(np.int64), forest.other[here].astype(np.int64)
    n_inner, n_leaves = len(split), int(np.diff(forest.leaf_start[tree : tree + 2])[0])
    counts = np.zeros((n_inner + n_leaves, n_classes))
    sizes = np.zeros(n_inner + n_leaves, np.int64)
    total_nodes(forest, tree, counts, sizes)
    # A node that is itself a leaf and the leaf that it stands for are one and the same.
    ends = forest.threshold[here] == -np.inf
    jump = np.where(other >= 0, other, n_inner + np.cumsum(other < 0) - 1)
    kept = np.ones(n_inner + n_leaves, bool)
    kept[jump[ends]] = False
    new = np.cumsum(kept) - 1
    following = np.arange(1, n_inner + 1)
    next_is_right = (split & 1).astype(bool)
    left = np.full(n_inner + n_leaves, -1)
    right, feature = left.copy(), left.copy()
    inner = np.flatnonzero(~ends)
    left[inner] = new[np.where(next_is_right, jump, following)[inner]]
    right[inner] = new[np.where(next_is_right, following, jump)[inner]]
    feature[inner] = split[inner] >> 1
    threshold = np.zeros(n_inner + n_leaves, np.float32)
    threshold[inner] = forest.threshold[here][inner]
    left, right, feature = left[kept], right[kept], feature[kept]
    return Nodes(
        left=left,
        right=right,
        feature=feature,
        threshold=threshold[kept],
        counts=counts[kept],
        sizes=sizes[kept],
        depth=_depths(left, right),
    )


def impurity(nodes: Nodes, *, entropy: bool) -> NDArray[np.float64]:
    """Gini impurity or entropy of every node."""
    share = nodes.counts / nodes.counts.sum(axis=1, keepdims=True)
    if not entropy:
        return np.asarray(1.0 - (share**2).sum(axis=1))
    logs = np.log2(share, where=share > 0, out=np.zeros_like(share))
    return np.asarray(-(share * logs).sum(axis=1))


def importances(
    forest: Forest,
    n_classes: int,
    n_features: int,
    *,
    entropy: bool,
    tree_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Weighted mean over the trees of each feature's share in the decrease of impurity.

    Trees that are a single leaf are left out, as in scikit-learn; all are zero if all trees are.
    """
    _check_census(forest)
    total = np.zeros(n_features)
    for tree in range(forest.n_trees):
        gains = np.zeros(n_features)
        add_gains(forest, tree, n_classes, entropy, gains)
        weight, gained = 1.0 if tree_weights is None else tree_weights[tree], gains.sum()
        if gained > 0:
            gains *= weight / gained
            total += gains
    return total / total.sum() if total.any() else total


def _check_census(forest: Forest) -> None:
    if not forest.has_census:
        raise ValueError(
            "the forest does not know the weights of its leaves; those of boosted forests do not"
        )


def _depths(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Depth of every node, level by level from the root."""
    depth = np.zeros(len(left), np.int64)
    level = np.zeros(1, np.int64)
    reached = 0
    while len(level):
        depth[level] = reached
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
        reached += 1
    return depth
