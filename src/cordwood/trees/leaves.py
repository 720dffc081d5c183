"""What a forest says of rows whose leaves are known, tree by tree and all together."""

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.leaves import add_votes, answer
from cordwood.trees.forest import freeze
from cordwood.trees.records import Forest, read_only


def find_answers(forest: Forest, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
    """Find each tree's answer for each row: the heaviest class of the leaf, the first among equals.

    Parameters
    ----------
    forest : Forest
    leaves : int32 array of shape (n_trees, n_rows)
        Numbers of leaves, as `reach` gives them; -1 where a tree is not asked.

    Returns
    -------
    int32 array of shape (n_trees, n_rows)
        Codes of classes; -1 where a tree was not asked.
    """
    answers = np.empty(leaves.shape, np.int32)
    answer(forest, read_only(leaves), answers)
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
        Numbers of leaves, as `reach` gives them; -1 where a tree has no vote.
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


def take_trees(forest: Forest, first: int, last: int) -> Forest:
    """Give some trees of a forest, from first to before last, as a forest of their own."""
    nodes = slice(forest.node_start[first], forest.node_start[last])
    leaves = slice(forest.leaf_start[first], forest.leaf_start[last])
    leaf_class = forest.leaf_class[leaves].copy()
    is_mixed = leaf_class < 0
    mixed = ~leaf_class[is_mixed]
    leaf_class[is_mixed] = ~np.arange(len(mixed), dtype=np.int32)
    lengths = forest.mixed_start[mixed + 1] - forest.mixed_start[mixed]
    mixed_start = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.arange(mixed_start[-1])
    entries += np.repeat(forest.mixed_start[mixed] - mixed_start[:-1], lengths)
    return freeze(
        Forest(
            node_start=forest.node_start[first : last + 1] - nodes.start,
            leaf_start=forest.leaf_start[first : last + 1] - leaves.start,
            split=forest.split[nodes],
            threshold=forest.threshold[nodes],
            other=forest.other[nodes],
            leaf_class=leaf_class,
            leaf_weight=forest.leaf_weight[leaves],
            leaf_size=forest.leaf_size[leaves],
            mixed_start=mixed_start,
            mixed_class=forest.mixed_class[entries],
            mixed_weight=forest.mixed_weight[entries],
        )
    )
