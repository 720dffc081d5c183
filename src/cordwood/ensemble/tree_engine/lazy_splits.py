"""Scores of splits of a query's neighbors, from the posting list of one feature.

A list also contains samples that are not in the node; these have weight zero. A threshold of zero
or above separates samples of larger values from all others, a threshold below zero those of smaller
values. Either way the side without zero is in the list, and only that side is counted.

Before a list is scanned, the weight and the change of all of its samples (see `splits.SparseSide`)
decide whether any of its splits can be the best one. Both are summed at once: the packed weight of
a sample has its weight in the low 16 bits and, above them, the change, which is its weight times
the weight of its class. There are fewer than 2**16 neighbors, and so is their total weight.

Lists are sorted by value, the largest first. Most have a single value, and their samples are in the
order of the neighbors, which are numbered class by class: counting these needs no table of classes.

Functions that are called once per feature are inlined: a call takes as long as reading a short
list.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
from cordwood.ensemble.tree_engine.splits import cannot_improve, split_score

IntArray: TypeAlias = NDArray[np.int64]

_ZERO, _NONE = np.float32(0.0), np.uint32(0)
_BITS, _LOW = 16, 2**16 - 1

# A score and its bound are rounded differently.
_SLACK = 1.0 + 1e-12


class LazyNode(NamedTuple):
    """The node on the query's path that is being split."""

    entropy: bool
    logs: Float64Array  # x log2 x of small integers; empty unless `entropy`
    sample: UInt32Array  # the samples of all lists
    # (n_neighbors + 1,): weights of the neighbors; zero for those that are not in the node.
    weight: IntArray
    node_sample: UInt32Array  # the samples of a list that are in the node, and their values
    node_value: Float32Array
    label: UInt32Array  # (n_neighbors + 1,)
    class_weights: IntArray  # (n_classes,)
    # (n_classes,): class weights of the side without zero; all zeros between calls.
    side_weights: IntArray
    purity: Float  # `splits.purity` of `class_weights`
    total: Int  # total weight


@helper
def update_class_products(
    weight: IntArray,
    class_weights: IntArray,
    class_start: IntArray,
    packed_for: IntArray,
    packed_weight: IntArray,
) -> None:
    """Update the packed weights of the classes whose weight differs from `packed_for`."""
    for c in range(len(class_weights)):
        if class_weights[c] != packed_for[c]:
            packed_for[c] = class_weights[c]
            factor = (class_weights[c] << _BITS) + 1
            for p in range(np.uint32(class_start[c]), np.uint32(class_start[c + 1])):
                packed_weight[p] = weight[p] * factor


@inlined
def sum_packed(sample: UInt32Array, packed_weight: IntArray, first: Int, last: Int) -> Int:
    """Sum the packed weights of the samples of a list."""
    total = 0
    for i in range(first, last):
        total += packed_weight[sample[i]]
    return total


@helper
def unpack_weight(packed: Int) -> Int:
    """Return the weight of a sum of packed weights."""
    return packed & _LOW


@helper
def below_bound(
    entropy: bool, logs: Float64Array, purity: Float, total: Int, packed: Int, best: Float
) -> bool:
    """Return whether no split of a list with this packed weight can score `best`."""
    # With w the weight of the list, no side scores higher than if it had a single class: w +
    # (purity - 2 change + w²) / (total - w). This bound increases with every sample that the side
    # takes in, so no part of the list scores higher than the bound for all of it: if the sample's
    # class weighs n in the node, and other classes weigh u on the side, the derivative has the sign
    # of total² - 2n(total - w) + purity - 2 change, which is at least (total - n)² - u² + 2nu, and
    # u is at most total - n. For the entropy only the bound by weight is used.
    weight = unpack_weight(packed)
    if cannot_improve(entropy, logs, purity, total, weight, best):
        return True
    if entropy:
        return False
    change = packed >> _BITS
    # The gap is zero if the list contains the whole node, which is then never pruned.
    gap = (best / _SLACK - weight) * (total - weight)
    is_pruned: bool = (purity - 2 * change + weight * weight) * _SLACK < gap
    return is_pruned


@inlined
def gather_node_entries(
    sample: UInt32Array,
    value: Float32Array,
    weight: IntArray,
    first: Int,
    last: Int,
    node_sample: UInt32Array,
    node_value: Float32Array,
) -> Int:
    """Copy the entries of a list that are in the node; return their number."""
    n = _NONE
    for i in range(first, last):
        # Branchless: the entry is overwritten unless the sample is in the node.
        node_sample[n] = sample[i]
        node_value[n] = value[i]
        n = np.uint32(n + np.uint32(weight[sample[i]] > 0))
    return n


@inlined
def midpoint(a: Float, b: Float) -> Float:
    """Return the threshold halfway between two values: at least the lower, less than the higher."""
    low, high = min(a, b), max(a, b)
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


@inlined
def draw_threshold(state: RngState, a: Float, b: Float) -> Float:
    """Draw a threshold uniformly between two values."""
    low, high = min(a, b), max(a, b)
    threshold = np.float32(low + uniform(state) * (np.float64(high) - np.float64(low)))
    return threshold if threshold < high else low


@helper
def move_count(
    entropy: bool, logs: Float64Array, before: Int, weight: Int, class_weight: Int
) -> tuple[Float, Float]:
    """Move weight of one class to a side, as `splits.move_weight` does, for integer weights."""
    if entropy:
        after = before + weight
        return (
            logs[np.uint64(after)] - logs[np.uint64(before)],
            logs[np.uint64(class_weight - after)] - logs[np.uint64(class_weight - before)],
        )
    return np.float64(weight * (2 * before + weight)), np.float64(weight * class_weight)


@inlined
def score_split(node: Record, weight: Int, purity: Float, change: Float) -> Float:
    """Score the split of the node whose side without zero has this weight, purity and change."""
    return split_score(node.entropy, node.logs, node.purity, node.total, weight, purity, change)


@inlined
def score_binary_split(node: Record, first: Int, last: Int, side_weight: Int) -> Float:
    """Score the only split of a list of a single value: nonzero from zero samples."""
    purity, change = 0.0, 0.0
    current = node.label[node.sample[first]]
    before = 0
    for i in range(first, last):
        sample = node.sample[i]
        label, weight = node.label[sample], node.weight[sample]
        before = before if label == current else 0
        current = label
        more, less = move_count(node.entropy, node.logs, before, weight, node.class_weights[label])
        before += weight
        purity += more
        change += less
    return score_split(node, side_weight, purity, change)


@inlined
def score_threshold(node: Record, n: Int, threshold: Float) -> Float:
    """Score the split of the first n entries of `node_sample` at a threshold."""
    node_sample, value, side_weights = node.node_sample, node.node_value, node.side_weights
    begin, end, step = np.int64(0), np.int64(n), 1
    if threshold < 0.0:
        begin, end, step = np.int64(n) - 1, np.int64(-1), -1
    weight, purity, change = 0, 0.0, 0.0
    i = begin
    while i != end and (value[np.uint32(i)] > threshold) == (threshold >= 0.0):
        sample = node_sample[np.uint32(i)]
        label, moved = node.label[sample], node.weight[sample]
        before = side_weights[label]
        more, less = move_count(node.entropy, node.logs, before, moved, node.class_weights[label])
        side_weights[label] = before + moved
        weight += moved
        purity += more
        change += less
        i += step
    while i != begin:
        i -= step
        side_weights[node.label[node_sample[np.uint32(i)]]] = 0
    return score_split(node, weight, purity, change)


@inlined
def find_best_threshold(node: Record, n: Int, has_zero: bool) -> tuple[Float, Float]:
    """Return score and threshold of the best split of the first n entries of `node_sample`."""
    # `has_zero` states whether the feature is zero in any sample of the node. Thresholds of zero
    # and above are tried from the largest value down, those below zero from the smallest value up.
    # Of equal scores the lowest threshold wins.
    node_sample, value, side_weights = node.node_sample, node.node_value, node.side_weights
    border = np.int64(n)
    while border > 0 and value[np.uint32(border - 1)] < 0.0:
        border -= 1
    best, best_threshold = -np.inf, _ZERO
    for from_below in range(2):
        begin, end, step = np.int64(0), border, 1
        if from_below:
            begin, end, step = np.int64(n) - 1, border - 1, -1
        weight, purity, change = 0, 0.0, 0.0
        i = begin
        while i != end:
            outer = value[np.uint32(i)]
            while i != end and value[np.uint32(i)] == outer:
                sample = node_sample[np.uint32(i)]
                label, moved = node.label[sample], node.weight[sample]
                before = side_weights[label]
                more, less = move_count(
                    node.entropy, node.logs, before, moved, node.class_weights[label]
                )
                side_weights[label] = before + moved
                weight += moved
                purity += more
                change += less
                i += step
            inner = _ZERO
            if i != end:
                inner = value[np.uint32(i)]
            elif not has_zero:
                # The last value of one sign is followed by the first of the other sign, if any.
                if from_below or border == n:
                    break
                inner = value[np.uint32(border)]
            score, threshold = score_split(node, weight, purity, change), midpoint(outer, inner)
            if score > best or (score == best and threshold < best_threshold):
                best, best_threshold = score, threshold
        while i != begin:
            i -= step
            side_weights[node.label[node_sample[np.uint32(i)]]] = 0
    return best, best_threshold
