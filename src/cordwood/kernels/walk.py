"""Documents down the trees: the leaf that each one reaches, and the leaves' votes.

In a tree's arrays the larger child of a node stands right behind it. A document lacks most of the
words that a tree asks for, so it mostly steps to the next node: the branch is foreseen and the
nodes arrive in order.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.borrow import borrow
from cordwood.kernels.jit import kernel, piece
from cordwood.kernels.types import Floats, Int, Record, Singles

_ONE = np.int32(1)
_U0, _U1, _U6, _U63 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


@piece
def find_leaf(
    split: NDArray[np.int32],
    threshold: Singles,
    other: NDArray[np.int32],
    root: Int,
    present: NDArray[np.uint64],
    x: Singles,
    place: Int,
) -> Int:
    """Follow one document from a tree's root; returns the leaf's number within the tree.

    `split` holds twice the feature, plus one where the next node is for values above the
    threshold; minus one at a leaf. `other` is the child that is not next, or the complement of a
    leaf's number. The document's values stand in row `place` of `x`, and its bits in `present`
    tell which of them are not zero: these are few enough to stay in the fastest memory.
    """
    node = np.uint64(root)
    while True:
        code = split[node]
        if code < 0:
            return ~other[node]
        feature = np.uint64(code) >> _U1
        value = np.float32(0.0)
        if present[place, feature >> _U6] >> (feature & _U63) & _U1:
            value = x[place, feature]
        if (value > threshold[node]) == (code & _ONE):
            node += _U1
        else:
            jump = other[node]
            if jump < 0:
                return ~jump
            node = np.uint64(root) + np.uint64(jump)


@piece
def add_shares(
    mixed_start: NDArray[np.int64],
    mixed_class: NDArray[np.int32],
    mixed_weight: Singles,
    leaf: Int,
    votes: Floats,
    row: Int,
) -> None:
    """Add the class frequencies of a mixed leaf to a row's votes."""
    # Summed here, in double precision, so that the shares sum to one.
    total = 0.0
    for i in range(mixed_start[leaf], mixed_start[leaf + 1]):
        total += np.float64(mixed_weight[i])
    for i in range(mixed_start[leaf], mixed_start[leaf + 1]):
        votes[row, mixed_class[i]] += np.float64(mixed_weight[i]) / total


@kernel
def vote(
    forest: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Singles,
    first: Int,
    last: Int,
    bags: NDArray[np.uint8],
    present: NDArray[np.uint64],
    x: Singles,
    votes: Floats,
    n_votes: NDArray[np.int64],
) -> None:
    """Add up the leaf frequencies of the trees, in their order, for the rows from first to last.

    A row whose bit is set in a tree's row of `bags` gets no vote of that tree; with no rows in
    `bags` every tree votes. As many rows as `x` and `present` have are done at a time; `present` is
    all zeros, and is so again at the end.
    """
    forest = borrow(forest)
    split, threshold, other = forest.split, forest.threshold, forest.other
    node_start, leaf_start = forest.node_start, forest.leaf_start
    leaf_class, mixed_start = forest.leaf_class, forest.mixed_start
    mixed_class, mixed_weight = forest.mixed_class, forest.mixed_weight
    # A block of rows goes down one tree after the other, so that the tree's nodes stay at hand.
    n_block = len(x)
    for start in range(first, last, n_block):
        end = min(start + n_block, last)
        for row in range(start, end):
            place = np.uint64(row - start)
            for i in range(indptr[row], indptr[row + 1]):
                feature = np.uint64(indices[i])
                x[place, feature] = data[i]
                present[place, feature >> _U6] |= _U1 << (feature & _U63)
        for tree in range(len(node_start) - 1):
            for row in range(start, end):
                if len(bags) > 0 and bags[tree, row >> 3] >> (row & 7) & 1:
                    continue
                leaf = find_leaf(
                    split, threshold, other, node_start[tree], present, x, np.uint64(row - start)
                )
                label = leaf_class[np.uint64(leaf_start[tree] + leaf)]
                if label >= 0:
                    votes[row, label] += 1.0
                else:
                    add_shares(mixed_start, mixed_class, mixed_weight, ~label, votes, row)
                n_votes[row] += 1
        for row in range(start, end):
            for i in range(indptr[row], indptr[row + 1]):
                present[np.uint64(row - start), np.uint64(indices[i]) >> _U6] = _U0
