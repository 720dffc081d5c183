"""What the leaves that documents have reached say: one class each, or a share for every class."""

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.borrow import borrow
from cordwood.kernels.jit import kernel
from cordwood.kernels.types import Floats, Record
from cordwood.kernels.walk import add_shares


@kernel
def answer(forest: Record, leaves: NDArray[np.int32], answers: NDArray[np.int32]) -> None:
    """Give each leaf's heaviest class, the first among equals; -1 where there is no leaf."""
    forest = borrow(forest)
    start, weight = forest.mixed_start, forest.mixed_weight
    for tree in range(leaves.shape[0]):
        for row in range(leaves.shape[1]):
            leaf = leaves[tree, row]
            if leaf < 0:
                answers[tree, row] = -1
                continue
            label = forest.leaf_class[leaf]
            if label < 0:
                best = start[~label]
                for i in range(best + 1, start[~label + 1]):
                    if weight[i] > weight[best]:
                        best = i
                label = forest.mixed_class[best]
            answers[tree, row] = label


@kernel
def add_votes(forest: Record, leaves: NDArray[np.int32], factors: Floats, votes: Floats) -> None:
    """Add to each row's votes, tree by tree, its leaf's class frequencies times the tree's factor.

    Where there is no leaf, nothing is added.
    """
    forest = borrow(forest)
    start, classes, weight = forest.mixed_start, forest.mixed_class, forest.mixed_weight
    for tree in range(leaves.shape[0]):
        factor = factors[tree]
        for row in range(leaves.shape[1]):
            leaf = leaves[tree, row]
            if leaf < 0:
                continue
            label = forest.leaf_class[leaf]
            if label >= 0:
                votes[row, label] += factor
            else:
                add_shares(start, classes, weight, ~label, factor, votes, row)
