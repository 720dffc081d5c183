"""What the leaves that documents have reached say: one class each, or a share for every class."""

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import borrow
from cordwood._jit import Floats, Int, Record, kernel
from cordwood.ensemble._tree_engine._kernels_apply import add_shares


@kernel
def answer(
    forest: Record, leaves: NDArray[np.int32], n_classes: Int, answers: NDArray[np.int32]
) -> None:
    """Give each leaf's heaviest class, the first among equals; -1 where there is no leaf."""
    forest = borrow(forest)
    start, weight = forest.mixed_start, forest.mixed_weight
    for tree in range(leaves.shape[0]):
        first_mixed = forest.mixed_first[tree] - n_classes
        for row in range(leaves.shape[1]):
            leaf = leaves[tree, row]
            code = np.int64(-1) if leaf < 0 else ~np.int64(forest.other[leaf])
            if code >= n_classes:
                mixed = first_mixed + code
                best = start[mixed]
                for i in range(best + 1, start[mixed + 1]):
                    if weight[i] > weight[best]:
                        best = i
                code = np.int64(forest.mixed_class[best])
            answers[tree, row] = code


@kernel
def add_votes(forest: Record, leaves: NDArray[np.int32], factors: Floats, votes: Floats) -> None:
    """Add to each row's votes, tree by tree, its leaf's class frequencies times the tree's factor.

    Where there is no leaf, nothing is added.
    """
    forest = borrow(forest)
    start, classes, weight = forest.mixed_start, forest.mixed_class, forest.mixed_weight
    n_classes = votes.shape[1]
    for tree in range(leaves.shape[0]):
        factor, first_mixed = factors[tree], forest.mixed_first[tree] - n_classes
        for row in range(leaves.shape[1]):
            leaf = leaves[tree, row]
            if leaf < 0:
                continue
            code = ~np.int64(forest.other[leaf])
            if code < n_classes:
                votes[row, code] += factor
            else:
                add_shares(start, classes, weight, first_mixed + code, factor, votes, row)
