"""Predictions and votes of trees from leaves that are known, as a round of boosting needs them."""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import borrow, read_only
from cordwood._kernels.jit import Float64Array, Int, Record, kernel
from cordwood.ensemble.tree_engine.apply import add_class_frequencies
from cordwood.ensemble.tree_engine.forest import Forest


def predict_trees(forest: Forest, leaves: NDArray[np.int32], n_classes: int) -> NDArray[np.int32]:
    """Return the class that each tree predicts for each sample.

    A tree predicts the class of the largest weight in the leaf; the first of equal ones.
    """
    # Leaves are -1 where a tree makes no prediction, and so are its classes.
    predictions = np.empty(leaves.shape, np.int32)
    predict_leaves(forest, read_only(leaves), n_classes, predictions)
    return predictions


def sum_votes(
    forest: Forest,
    leaves: NDArray[np.int32],  # (n_trees, n_samples)
    tree_weights: NDArray[np.float64],  # (n_trees,)
    n_classes: int,
) -> NDArray[np.float64]:
    """Sum the class frequencies of the leaves, times the weight of the tree, over the trees."""
    # Leaves are -1 where a tree does not vote.
    votes = np.zeros((leaves.shape[1], n_classes))
    add_leaf_votes(forest, read_only(leaves), read_only(tree_weights), votes)
    return votes


@kernel
def predict_leaves(
    forest: Record, leaves: NDArray[np.int32], n_classes: Int, predictions: NDArray[np.int32]
) -> None:
    """Write the class of the largest weight in each leaf; -1 where there is no leaf."""
    forest = borrow(forest)
    start, weight = forest.impure_entry_start, forest.impure_weight
    for tree in range(leaves.shape[0]):
        first_impure = forest.impure_leaf_start[tree] - n_classes
        for sample in range(leaves.shape[1]):
            leaf = leaves[tree, sample]
            code = np.int64(-1) if leaf < 0 else ~np.int64(forest.far_child[leaf])
            if code >= n_classes:
                impure = first_impure + code
                best = start[impure]
                for i in range(best + 1, start[impure + 1]):
                    if weight[i] > weight[best]:
                        best = i
                code = np.int64(forest.impure_class[best])
            predictions[tree, sample] = code


@kernel
def add_leaf_votes(
    forest: Record, leaves: NDArray[np.int32], tree_weights: Float64Array, votes: Float64Array
) -> None:
    """Add the class frequencies of each sample's leaves, times the trees' weights, to its votes.

    Nothing is added where there is no leaf.
    """
    forest = borrow(forest)
    start, classes, weight = forest.impure_entry_start, forest.impure_class, forest.impure_weight
    n_classes = votes.shape[1]
    for tree in range(leaves.shape[0]):
        factor, first_impure = tree_weights[tree], forest.impure_leaf_start[tree] - n_classes
        for row in range(leaves.shape[1]):
            leaf = leaves[tree, row]
            if leaf < 0:
                continue
            code = ~np.int64(forest.far_child[leaf])
            if code < n_classes:
                votes[row, code] += factor
            else:
                impure = first_impure + code
                add_class_frequencies(start, classes, weight, impure, factor, votes, row)
