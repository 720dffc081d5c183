"""Apply forests to samples: the leaves that samples reach, and the sum of the trees' votes.

Samples descend a tree in blocks of 64. A sample lacks most of the features that a tree splits on,
so the samples of a block stay together for most of their path. A block is transposed first: each
feature has a 64-bit mask of the samples in which it is nonzero, and a node partitions the samples
that reach it with a single bitwise "and".
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSRArrays, borrow, count_bits, lowest_bit, read_only
from cordwood._kernels.jit import Float32Array, Float64Array, Int, Record, helper, inlined, kernel
from cordwood.ensemble.tree_engine.forest import Forest
from cordwood.ensemble.tree_engine.threads import map_threads

BLOCK = 64

# Samples per task of a thread, a multiple of BLOCK: few enough to balance the load, enough to
# amortize the call.
_CHUNK = 512

_U0, _U1 = np.uint64(0), np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class RowBlock(NamedTuple):
    """A transposed block of up to 64 samples; the workspace of one thread.

    It takes 20 bytes per feature, and up to 8 per entry of 64 samples.
    """

    # (n_features,): bit i is set if the feature is nonzero in sample i of the block.
    present: NDArray[np.uint64]
    start: NDArray[np.int64]  # (n_features,): where the values of the feature begin in `value`
    min_value: NDArray[np.float32]  # (n_features,): the smallest of these values
    feature: NDArray[np.int32]  # the features that are nonzero in any sample of the block
    value: NDArray[np.float32]  # the nonzero values, by feature, in the order of the samples
    # (64, 2): nodes that are still to be visited, each with a mask of its samples.
    stack: NDArray[np.uint64]
    leaf_node: NDArray[np.int64]  # (64,): for each sample, the node that refers to its leaf


def allocate_row_block(X: CSRArrays) -> RowBlock:
    """Allocate a workspace for applying trees to the samples of X."""
    n_features = X.shape[1]
    n_entries = int(X.indptr[-1])
    if X.shape[0] > BLOCK:
        ends = np.append(X.indptr[:-1:BLOCK], n_entries)
        n_entries = int(np.diff(ends).max())
    return RowBlock(
        present=np.zeros(n_features, np.uint64),
        start=np.empty(n_features, np.int64),
        min_value=np.empty(n_features, np.float32),
        feature=np.empty(min(n_entries, n_features), np.int32),
        value=np.empty(n_entries, np.float32),
        stack=np.empty((BLOCK, 2), np.uint64),
        leaf_node=np.empty(BLOCK, np.int64),
    )


def vote(
    forest: Forest,
    X: CSRArrays,  # (n_samples, n_features)
    n_classes: int,
    *,
    in_bag: NDArray[np.uint8] | None = None,  # (n_trees, ceil(n_samples / 8))
    tree_weights: NDArray[np.float64] | None = None,  # (n_trees,)
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum the class frequencies of the leaves that the samples reach; also count the votes."""
    # A tree does not vote on the samples of its in-bag mask.
    n_samples = X.shape[0]
    votes = np.zeros((n_samples, n_classes))
    n_votes = np.zeros(n_samples, np.int64)
    weights = read_only(np.ones(forest.n_trees) if tree_weights is None else tree_weights)
    in_bag = as_mask(in_bag)

    def vote_chunk(block: RowBlock, first: int) -> None:
        last = min(first + _CHUNK, n_samples)
        vote_range(forest, X, first, last, in_bag, weights, block, votes, n_votes)

    chunks = range(0, n_samples, _CHUNK)
    map_threads(vote_chunk, chunks, lambda: allocate_row_block(X), n_jobs=n_jobs)
    return votes, n_votes


def apply(
    forest: Forest,
    X: CSRArrays,  # (n_samples, n_features)
    *,
    in_bag: NDArray[np.uint8] | None = None,  # (n_trees, ceil(n_samples / 8))
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Return the leaf that each sample reaches in each tree, as the node that refers to it."""
    # The leaf is -1 where the sample is in the tree's in-bag mask.
    n_samples = X.shape[0]
    leaves = np.full((forest.n_trees, n_samples), -1, np.int32)
    in_bag = as_mask(in_bag)

    def apply_chunk(block: RowBlock, first: int) -> None:
        apply_range(forest, X, first, min(first + _CHUNK, n_samples), in_bag, block, leaves)

    chunks = range(0, n_samples, _CHUNK)
    map_threads(apply_chunk, chunks, lambda: allocate_row_block(X), n_jobs=n_jobs)
    return leaves


def as_mask(in_bag: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
    """Return in-bag masks for kernels: read-only, and without rows if there are none.

    C-contiguous, because numba compiles a kernel for each memory layout.
    """
    return read_only(np.empty((0, 0), np.uint8) if in_bag is None else np.ascontiguousarray(in_bag))


@inlined
def load_block(X: Record, first: Int, last: Int, block: Record) -> Int:
    """Transpose the samples from first to last; return the number of nonzero features."""
    # Bit r of `present` is set if sample first + r has a nonzero value. These values are in `value`
    # from `start` on, in the order of the samples; `min_value` is the smallest of them. `feature`
    # lists the nonzero features.
    indptr, indices, data = X.indptr, X.indices, X.data
    present, start, min_value, value = block.present, block.start, block.min_value, block.value
    n_present = 0
    for row in range(first, last):
        bit = _U1 << np.uint64(row - first)
        for i in range(indptr[row], indptr[row + 1]):
            column = np.uint64(indices[i])
            if present[column] == _U0:
                block.feature[n_present] = indices[i]
                n_present += 1
                min_value[column] = data[i]
            present[column] |= bit
            min_value[column] = min(min_value[column], data[i])
    end = np.int64(0)
    for i in range(n_present):
        column = np.uint64(block.feature[i])
        start[column] = end
        end += np.int64(count_bits(present[column]))
    for row in range(first, last):
        before = (_U1 << np.uint64(row - first)) - _U1
        for i in range(indptr[row], indptr[row + 1]):
            column = np.uint64(indices[i])
            value[np.uint64(start[column]) + count_bits(present[column] & before)] = data[i]
    return n_present


@inlined
def clear_block(block: Record, n_present: Int) -> None:
    """Reset a block for other samples."""
    for i in range(n_present):
        block.present[np.uint64(block.feature[i])] = _U0


@helper
def above_threshold(
    samples: np.uint64,
    present: np.uint64,
    start: np.int64,
    value: Float32Array,
    threshold: np.float32,
) -> Int:
    """Return the subset of `samples`, all of them nonzero, whose value is above the threshold."""
    above = _U0
    while samples:
        sample = lowest_bit(samples)
        bit = _U1 << sample
        if value[np.uint64(start) + count_bits(present & (bit - _U1))] > threshold:
            above |= bit
        samples &= samples - _U1
    return above


@helper
def set_leaf_node(samples: np.uint64, node: Int, leaf_node: NDArray[np.int64]) -> None:
    """Set the node that refers to the leaf of some samples."""
    while samples:
        leaf_node[lowest_bit(samples)] = node
        samples &= samples - _U1


@helper
def descend(
    feature_and_side: NDArray[Any],
    threshold: Float32Array,
    far_child: NDArray[Any],
    root: Int,
    samples: np.uint64,
    present: NDArray[np.uint64],
    start: NDArray[np.int64],
    min_value: Float32Array,
    value: Float32Array,
    stack: NDArray[np.uint64],
    leaf_node: NDArray[np.int64],
) -> None:
    """Pass samples down a tree and set the nodes that refer to their leaves."""
    # See `Forest` for the encoding of nodes. A leaf node needs no test of its own: its threshold is
    # minus infinity, so no sample is left for the next node. The stack never holds more nodes than
    # there are samples, because each of them has at least one.
    n_stacked = 0
    node = np.uint64(root)
    while True:
        code = np.uint64(feature_and_side[node])
        feature = code >> _U1
        limit = threshold[node]
        here = samples
        nonzero = present[feature]
        nonzero_here = samples & nonzero
        above = nonzero_here
        if nonzero_here and not min_value[feature] > limit:
            above = above_threshold(nonzero_here, nonzero, start[feature], value, limit)
        if np.float32(0.0) > limit:
            above |= samples & ~nonzero
        samples = above if code & _U1 else samples & ~above
        far = here ^ samples
        if far:
            child = np.int64(far_child[node])
            if child < 0:
                set_leaf_node(far, np.int64(node), leaf_node)
            else:
                stack[n_stacked, 0] = np.uint64(root) + np.uint64(child)
                stack[n_stacked, 1] = far
                n_stacked += 1
        node += _U1
        if samples == _U0:
            if n_stacked == 0:
                return
            n_stacked -= 1
            node = stack[n_stacked, 0]
            samples = stack[n_stacked, 1]


@helper
def add_class_frequencies(
    impure_entry_start: NDArray[np.int64],
    impure_class: NDArray[np.int32],
    impure_weight: Float32Array,
    leaf: Int,
    factor: np.float64,
    votes: Float64Array,
    row: Int,
) -> None:
    """Add the class frequencies of an impure leaf, times a factor, to the votes of a sample."""
    # The total is summed here, in double precision, so that the frequencies sum to one.
    total = 0.0
    for i in range(impure_entry_start[leaf], impure_entry_start[leaf + 1]):
        total += np.float64(impure_weight[i])
    for i in range(impure_entry_start[leaf], impure_entry_start[leaf + 1]):
        votes[row, impure_class[i]] += factor * (np.float64(impure_weight[i]) / total)


@helper
def out_of_bag_samples(in_bag: NDArray[np.uint8], tree: Int, first: Int, last: Int) -> Int:
    """Return the bits of the samples of a block that are not in a tree's in-bag mask."""
    samples = _ALL >> np.uint64(BLOCK - (last - first))
    if len(in_bag) == 0:
        return samples
    drawn = _U0
    for i in range((last - first + 7) >> 3):
        drawn |= np.uint64(in_bag[tree, (first >> 3) + i]) << np.uint64(8 * i)
    return samples & ~drawn


@inlined
def descend_block(
    forest: Record, tree: Int, in_bag: NDArray[np.uint8], begin: Int, end: Int, block: Record
) -> Int:
    """Pass the samples of a block that are not in bag down a tree; return the bits of these."""
    samples = out_of_bag_samples(in_bag, tree, begin, end)
    if samples:
        descend(
            forest.feature_and_side,
            forest.threshold,
            forest.far_child,
            forest.node_start[tree],
            samples,
            block.present,
            block.start,
            block.min_value,
            block.value,
            block.stack,
            block.leaf_node,
        )
    return samples


@kernel
def vote_range(
    forest: Record,
    X: Record,
    first: Int,
    last: Int,
    in_bag: NDArray[np.uint8],
    tree_weights: Float64Array,
    block: Record,
    votes: Float64Array,
    n_votes: NDArray[np.int64],
) -> None:
    """Add the trees' weighted class frequencies to the votes of the samples from first to last."""
    # A tree does not vote on samples whose bit is set in its row of `in_bag`; if `in_bag` has no
    # rows, every tree votes. `first` is a multiple of `BLOCK`. `block.present` is all zeros before
    # and after the call.
    forest, X, block = borrow(forest), borrow(X), borrow(block)
    n_classes = votes.shape[1]
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        n_present = load_block(X, begin, end, block)
        for tree in range(len(forest.node_start) - 1):
            samples = descend_block(forest, tree, in_bag, begin, end, block)
            while samples:
                sample = lowest_bit(samples)
                samples &= samples - _U1
                row = np.uint64(begin) + sample
                code = ~np.int64(forest.far_child[np.uint64(block.leaf_node[sample])])
                if code < n_classes:
                    votes[row, np.uint64(code)] += tree_weights[tree]
                else:
                    add_class_frequencies(
                        forest.impure_entry_start,
                        forest.impure_class,
                        forest.impure_weight,
                        forest.impure_leaf_start[tree] + code - n_classes,
                        tree_weights[tree],
                        votes,
                        row,
                    )
                n_votes[row] += 1
        clear_block(block, n_present)


@inlined
def apply_block(
    forest: Record,
    in_bag: NDArray[np.uint8],
    begin: Int,
    end: Int,
    block: Record,
    leaves: NDArray[np.int32],
) -> None:
    """Write the leaves that the samples of a loaded block reach in all trees."""
    for tree in range(len(forest.node_start) - 1):
        samples = descend_block(forest, tree, in_bag, begin, end, block)
        while samples:
            sample = lowest_bit(samples)
            samples &= samples - _U1
            leaves[tree, np.uint64(begin) + sample] = block.leaf_node[sample]


@kernel
def apply_range(
    forest: Record,
    X: Record,
    first: Int,
    last: Int,
    in_bag: NDArray[np.uint8],
    block: Record,
    leaves: NDArray[np.int32],
) -> None:
    """Write the leaf that each sample from first to last reaches in each tree."""
    # A leaf is written as the node that refers to it; entries of in-bag samples are left unchanged.
    # `first` is a multiple of `BLOCK`. `block.present` is all zeros before and after the call.
    forest, X, block = borrow(forest), borrow(X), borrow(block)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        n_present = load_block(X, begin, end, block)
        apply_block(forest, in_bag, begin, end, block, leaves)
        clear_block(block, n_present)
