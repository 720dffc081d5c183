"""What a forest says of rows whose leaves are known, tree by tree and all together."""

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood.ensemble._tree_engine._kernels_leaf_votes import add_votes, answer
from cordwood.ensemble._tree_engine.grower import freeze
from cordwood.ensemble._tree_engine.records import Forest


def find_answers(forest: Forest, leaves: NDArray[np.int32], n_classes: int) -> NDArray[np.int32]:
    """Find each tree's answer for each row: the heaviest class of the leaf, the first among equals.

    Parameters
    ----------
    forest : Forest
    leaves : int32 array of shape (n_trees, n_rows)
        Leaves, as `reach` gives them; -1 where a tree is not asked.
    n_classes : int

    Returns
    -------
    int32 array of shape (n_trees, n_rows)
        Codes of classes; -1 where a tree was not asked.
    """
    answers = np.empty(leaves.shape, np.int32)
    answer(forest, read_only(leaves), n_classes, answers)
    return answers


def sum_votes(
    forest: Forest,
    leaves: NDArray[np.int32],
    factors: NDArray[np.float64],
    n_classes: int,
) -> NDArray[np.float64]:
    """Sum over the trees the class frequencies of the leaves, times a factor of the tree.

    Parameters
    ----------
    forest : Forest
    leaves : int32 array of shape (n_trees, n_rows)
        Leaves, as `reach` gives them; -1 where a tree has no vote.
    factors : float64 array of shape (n_trees,)
    n_classes : int

    Returns
    -------
    float64 array of shape (n_rows, n_classes)
        Rows without any vote are zero.
    """
    votes = np.zeros((leaves.shape[1], n_classes))
    add_votes(forest, read_only(leaves), read_only(factors), votes)
    return votes


def number_leaves(forest: Forest, leaves: NDArray[np.int32]) -> NDArray[np.int64]:
    """Number leaves, as `reach` gives them, from zero to `forest.n_leaves`."""
    return np.cumsum(forest.other < 0)[leaves] - 1


def take_trees(forest: Forest, first: int, last: int) -> Forest:
    """Give some trees of a forest, from first to before last, as a forest of their own."""
    nodes, leaves, mixed = (
        slice(start[first], start[last])
        for start in (forest.node_start, forest.leaf_start, forest.mixed_first)
    )
    entries = slice(forest.mixed_start[mixed.start], forest.mixed_start[mixed.stop])
    return freeze(
        Forest(
            node_start=forest.node_start[first : last + 1] - nodes.start,
            leaf_start=forest.leaf_start[first : last + 1] - leaves.start,
            mixed_first=forest.mixed_first[first : last + 1] - mixed.start,
            split=forest.split[nodes],
            threshold=forest.threshold[nodes],
            other=forest.other[nodes],
            leaf_weight=forest.leaf_weight[leaves],
            leaf_size=forest.leaf_size[leaves],
            mixed_start=forest.mixed_start[mixed.start : mixed.stop + 1] - entries.start,
            mixed_class=forest.mixed_class[entries],
            mixed_weight=forest.mixed_weight[entries],
        )
    )
