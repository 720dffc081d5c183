r"""Scores of splits, computed from the samples on the sparse side.

A posting list contains the samples in which a feature is nonzero. The scores need only those: the
other side of the split follows from the totals of the node. With the node's class weights
:math:`n_c`, those of the sparse side :math:`r_c`, and totals :math:`n` and :math:`r`, the Gini
score is

.. math::

    \frac{\sum_c r_c^2}{r} + \frac{\sum_c (n_c - r_c)^2}{n - r},
    \qquad \sum_c (n_c - r_c)^2 = \sum_c n_c^2 - 2 \sum_c n_c r_c + \sum_c r_c^2,

and all sums over classes are updated while the list is read. The entropy score has
:math:`x \log_2 x` instead of squares. Both scores increase as the weighted impurity of the children
decreases.
"""

import math
from typing import NamedTuple

import numpy as np

from cordwood._kernels.jit import (
    Float,
    Float32Array,
    Float64Array,
    Int,
    Record,
    RngState,
    UInt32Array,
    helper,
    inlined,
)
from cordwood._kernels.random import uniform

_ONE = np.uint32(1)

# Fields of the best split so far: its score, the position of its feature in the order of drawing,
# its feature, the bins below and above the threshold, and the threshold of a random split.
SCORE, DRAW, FEATURE, LOWER, UPPER, THRESHOLD = range(6)

# With weights that are not integers, a score and its bound are rounded differently.
_SLACK = 1.0 + 1e-12


class Node(NamedTuple):
    """The node that is being split."""

    entropy: bool
    logs: Float64Array  # x log2 x of small integers; empty unless `entropy`
    class_weights: Float64Array  # (n_classes,)
    # (n_classes,): class weights of the sparse side; all zeros between calls.
    side_weights: Float64Array
    best: Float64Array  # (6,): the best split so far
    y: UInt32Array  # (n_samples,)
    weights: Float64Array  # (n_samples,)
    n: Int  # number of samples of the node
    purity: Float  # `purity` of `class_weights`
    total: Float  # total weight
    min_samples_leaf: Int
    min_weight_leaf: Float
    sample_bits: Int
    sample_mask: Int


class SparseSide(NamedTuple):
    """The sparse side of a split: its samples, weight and purity, and the other side's change."""

    n: Int
    weight: Float
    purity: Float
    change: Float


@helper
def x_log_x(x: Float, logs: Float64Array) -> Float:
    """Compute x log2 x, from a table if x is a small integer."""
    i = np.int64(x)
    if i == x and i < len(logs):
        return logs[i]
    if x <= 0.0:  # a rounding residue of real weights
        return 0.0
    return x * math.log2(x)


@helper
def purity(entropy: bool, logs: Float64Array, class_weights: Float64Array) -> Float:
    """Sum the squares, or x log2 x, of class weights."""
    total = 0.0
    for weight in class_weights:
        total += x_log_x(weight, logs) if entropy else weight * weight
    return total


@helper
def cannot_improve(
    entropy: bool, logs: Float64Array, purity: Float, total: Float, weight: Float, best: Float
) -> bool:
    """Return whether no split with a sparse side of at most this weight can score `best`."""
    # The score is highest if the sparse side consists of all samples of one class. This bound
    # increases with the weight only up to a quarter of the node; beyond that nothing is pruned.
    if 4.0 * weight >= total:
        return False
    is_pruned: bool
    if entropy:
        bound = purity - x_log_x(weight, logs) - x_log_x(total - weight, logs)
        is_pruned = bound / _SLACK < best
    else:
        # weight + (purity - weight²) / (total - weight) < best, without a division
        gap = (best / _SLACK - weight) * (total - weight)
        is_pruned = (purity - weight * weight) * _SLACK < gap
    return is_pruned


@helper
def split_score(
    entropy: bool,
    logs: Float64Array,
    purity: Float,
    total: Float,
    weight: Float,
    side_purity: Float,
    change: Float,
) -> Float:
    """Score a split from the node's purity and total and the fields of its sparse side."""
    if entropy:
        return side_purity - x_log_x(weight, logs) + purity + change - x_log_x(total - weight, logs)
    return side_purity / weight + (purity - 2.0 * change + side_purity) / (total - weight)


@helper
def move_weight(
    entropy: bool, logs: Float64Array, before: Float, weight: Float, class_weight: Float
) -> tuple[Float, Float]:
    """Move weight of one class to the sparse side, which holds the weight `before` of this class.

    Returns what to add to the purity and to the change of the `SparseSide`.
    """
    if entropy:
        after = before + weight
        return (
            x_log_x(after, logs) - x_log_x(before, logs),
            x_log_x(class_weight - after, logs) - x_log_x(class_weight - before, logs),
        )
    return weight * (2.0 * before + weight), weight * class_weight


@helper
def update_best(best: Float64Array, score: Float, draw: Int) -> bool:
    """Replace the best score if this one is higher; of equal ones, the feature drawn first wins."""
    if score > best[SCORE] or (score == best[SCORE] and draw < best[DRAW]):
        best[SCORE] = score
        best[DRAW] = draw
        return True
    return False


@inlined
def consider_split(
    node: Record, side: Record, feature: Int, draw: Int, lower: Int, upper: Int
) -> bool:
    """Make a split the best one if it is allowed and scores higher; return whether it does."""
    if (
        side.n < node.min_samples_leaf
        or node.n - side.n < node.min_samples_leaf
        or min(side.weight, node.total - side.weight) < node.min_weight_leaf
    ):
        return False
    score = split_score(
        node.entropy, node.logs, node.purity, node.total, side.weight, side.purity, side.change
    )
    if not update_best(node.best, score, draw):
        return False
    node.best[FEATURE] = feature
    node.best[LOWER] = lower
    node.best[UPPER] = upper
    return True


@inlined
def move_sample(node: Record, side: Record, sample: Int) -> Record:
    """Move a sample to the sparse side."""
    label = node.y[sample]
    weight = node.weights[sample]
    more, less = move_weight(
        node.entropy, node.logs, node.side_weights[label], weight, node.class_weights[label]
    )
    node.side_weights[label] += weight
    return SparseSide(side.n + 1, side.weight + weight, side.purity + more, side.change + less)


@inlined
def scan_splits(
    node: Record,
    feature: Int,
    draw: Int,
    entries: UInt32Array,
    first: Int,
    last: Int,
    step: Int,
    beyond: Int,
) -> None:
    """Score the splits between the bins of a sorted list, from its outer end inwards."""
    # Scans from `first` to just before `last`. `beyond` is the next bin inwards, or negative if
    # there is none.
    side = SparseSide(0, 0.0, 0.0, 0.0)
    i = first
    while i != last:
        bin_idx = entries[np.uint32(i)] >> node.sample_bits
        while i != last and entries[np.uint32(i)] >> node.sample_bits == bin_idx:
            side = move_sample(node, side, entries[np.uint32(i)] & node.sample_mask)
            i += step
        inner = beyond
        if i != last:
            inner = np.int64(entries[np.uint32(i)] >> node.sample_bits)
        if inner >= 0:
            consider_split(node, side, feature, draw, min(inner, bin_idx), max(inner, bin_idx))
    while i != first:
        i -= step
        node.side_weights[node.y[entries[np.uint32(i)] & node.sample_mask]] = 0.0


@inlined
def score_all_splits(
    node: Record, feature: Int, draw: Int, zero_bin: Int, entries: UInt32Array, at: Int, n: Int
) -> None:
    """Score all splits of a sorted list: above zero from the top, below zero from the bottom."""
    first, end = np.int64(at), np.int64(at) + np.int64(n)
    border = first
    while border < end and entries[np.uint32(border)] >> node.sample_bits < zero_bin:
        border += 1
    above, below = np.int64(-1), np.int64(-1)
    if n < node.n:
        above = below = np.int64(zero_bin)
    elif border > first:  # the split between negative and positive values, from one side only
        below = np.int64(entries[np.uint32(border - 1)] >> node.sample_bits)
    for upwards in range(2):
        if upwards:
            begin, stop, step, beyond = first, border, 1, above
        else:
            begin, stop, step, beyond = end - 1, border - 1, -1, below
        scan_splits(node, feature, draw, entries, begin, stop, step, beyond)


@inlined
def score_random_split(
    node: Record,
    feature: Int,
    draw: Int,
    zero_bin: Int,
    entries: UInt32Array,
    at: Int,
    n: Int,
    bin_min: Float32Array,
    bin_max: Float32Array,
    first_bin: Int,
    state: RngState,
) -> None:
    """Score one split at a threshold drawn uniformly between the node's extreme values."""
    end = np.uint32(at + n)
    low = entries[at] >> node.sample_bits
    high = low
    for i in range(at, end):
        bin_idx = entries[i] >> node.sample_bits
        low = min(low, bin_idx)
        high = max(high, bin_idx)
    if n < node.n:
        low = min(low, zero_bin)
        high = max(high, zero_bin)
    smallest = np.float64(bin_min[np.uint64(first_bin + low)])
    largest = np.float64(bin_max[np.uint64(first_bin + high)])
    threshold = np.float32(smallest + uniform(state) * (largest - smallest))
    while np.uint32(low + _ONE) < high:  # the highest bin that is not above the threshold
        middle = np.uint32((low + high) >> _ONE)
        if bin_max[np.uint64(first_bin + middle)] <= threshold:
            low = middle
        else:
            high = middle
    # A threshold must not separate values of one bin, nor include the bin above it.
    lower_max = bin_max[np.uint64(first_bin + low)]
    if threshold < lower_max or threshold >= bin_min[np.uint64(first_bin + high)]:
        threshold = lower_max
    zero_is_left = zero_bin <= low
    side = SparseSide(0, 0.0, 0.0, 0.0)
    for i in range(at, end):
        if (entries[i] >> node.sample_bits > low) == zero_is_left:
            side = move_sample(node, side, entries[i] & node.sample_mask)
    for i in range(at, end):
        node.side_weights[node.y[entries[i] & node.sample_mask]] = 0.0
    if consider_split(node, side, feature, draw, low, high):
        node.best[THRESHOLD] = threshold


@inlined
def score_single_entry(
    node: Record,
    feature: Int,
    draw: Int,
    zero_bin: Int,
    e: Int,
    random_split: bool,
    bin_min: Float32Array,
    bin_max: Float32Array,
    first_bin: Int,
    state: RngState,
) -> None:
    """Score the only split of a list of one entry, the most frequent case in small nodes."""
    bin_idx = e >> node.sample_bits
    sample = e & node.sample_mask
    low, high = min(bin_idx, zero_bin), max(bin_idx, zero_bin)
    threshold = np.float32(0.0)
    if random_split:
        smallest = np.float64(bin_min[np.uint64(first_bin + low)])
        largest = np.float64(bin_max[np.uint64(first_bin + high)])
        threshold = np.float32(smallest + uniform(state) * (largest - smallest))
        lower_max = bin_max[np.uint64(first_bin + low)]
        if threshold < lower_max or threshold >= bin_min[np.uint64(first_bin + high)]:
            threshold = lower_max
    weight = node.weights[sample]
    more, less = move_weight(
        node.entropy, node.logs, 0.0, weight, node.class_weights[node.y[sample]]
    )
    if (
        node.min_samples_leaf <= 1
        and min(weight, node.total - weight) >= node.min_weight_leaf
        and update_best(
            node.best,
            split_score(node.entropy, node.logs, node.purity, node.total, weight, more, less),
            draw,
        )
    ):
        node.best[FEATURE] = feature
        node.best[LOWER] = low
        node.best[UPPER] = high
        node.best[THRESHOLD] = threshold
