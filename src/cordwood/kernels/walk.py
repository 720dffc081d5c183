"""Documents down the trees: the leaf that each one reaches, and the leaves' votes.

In a tree's arrays the larger child of a node stands right behind it. A document lacks most of the
words that a tree asks for, so it mostly steps to the next node: the branch is foreseen and the
nodes arrive in order.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.jit import kernel, piece
from cordwood.kernels.types import Floats, Int, Record, Singles

_ONE = np.int32(1)


@piece
def find_leaf(
    split: NDArray[np.int32],
    threshold: Singles,
    other: NDArray[np.int32],
    root: Int,
    x: Singles,
) -> Int:
    """Follow one document from a tree's root; returns the leaf's number within the tree.

    `split` holds twice the feature, plus one where the next node is for values above the
    threshold; minus one at a leaf. `other` is the child that is not next, or the complement of a
    leaf's number.
    """
    node = np.uint64(root)
    while True:
        code = split[node]
        if code < 0:
            return ~other[node]
        above = x[np.uint32(code) >> np.uint32(1)] > threshold[node]
        if above == (code & _ONE):
            node += np.uint64(1)
        else:
            jump = other[node]
            if jump < 0:
                return ~jump
            node = np.uint64(root) + np.uint64(jump)


@kernel
def vote(
    forest: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Singles,
    first: Int,
    last: Int,
    bags: NDArray[np.uint8],
    x: Singles,
    votes: Floats,
    n_votes: NDArray[np.int64],
) -> None:
    """Add up the leaf frequencies of the trees, in their order, for the rows from first to last.

    A row whose bit is set in a tree's row of `bags` gets no vote of that tree; with no rows in
    `bags` every tree votes. `x` is a row of zeros, and is one again at the end.
    """
    split, threshold, other = forest.split, forest.threshold, forest.other
    node_start, leaf_start = forest.node_start, forest.leaf_start
    leaf_class, mixed_start = forest.leaf_class, forest.mixed_start
    mixed_class, mixed_weight = forest.mixed_class, forest.mixed_weight
    for row in range(first, last):
        for i in range(indptr[row], indptr[row + 1]):
            x[indices[i]] = data[i]
        for tree in range(len(node_start) - 1):
            if len(bags) > 0 and bags[tree, row >> 3] >> (row & 7) & 1:
                continue
            leaf = leaf_start[tree] + find_leaf(split, threshold, other, node_start[tree], x)
            label = leaf_class[leaf]
            if label >= 0:
                votes[row, label] += 1.0
            else:
                # Summed here, in double precision, so that the shares sum to one.
                total = 0.0
                for i in range(mixed_start[~label], mixed_start[~label + 1]):
                    total += np.float64(mixed_weight[i])
                for i in range(mixed_start[~label], mixed_start[~label + 1]):
                    votes[row, mixed_class[i]] += np.float64(mixed_weight[i]) / total
            n_votes[row] += 1
        for i in range(indptr[row], indptr[row + 1]):
            x[indices[i]] = 0.0
