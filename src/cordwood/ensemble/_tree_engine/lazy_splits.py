"""How good the cuts of one word are, from the list of the documents that hold it.

A list also holds documents that are not in the node: these have no weight. A cut at zero or above
parts documents of greater values from all others, a cut below zero those of lesser values. Either
way the side without zero is in the list, and only that side is counted.

Before a list is looked at in earnest, what all of its documents weigh and change tells whether any
cut of it can be the best. Both are added up at once: a document's `load` holds its weight, and
above 16 bits what it changes, the weight times that of its class, as `count` has it. Neighbours are
fewer than 2**16, and so is what they weigh together.

Lists are sorted by value, the greatest first. Most have one value only and are in the order of the
documents, which are numbered class by class: counting these takes no table of classes.

What is done for each word is written into the kernel: a call takes as long as a short list.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cordwood._jit import Float, Floats, Int, Record, Seed, Singles, Words, inlined, piece
from cordwood._random import uniform
from cordwood.ensemble._tree_engine.splits import is_hopeless, score

Ints: TypeAlias = NDArray[np.int64]

_ZERO, _NONE = np.float32(0.0), np.uint32(0)
_BITS, _LOW = 16, 2**16 - 1

# The bound on a score and the score are rounded differently.
_SLACK = 1.0 + 1e-12


class Crowd(NamedTuple):
    """A node that is to be split; `side` has a zero for each class between two calls.

    `live` are the documents' weights, `counts` those of the classes, `total` their sum, and
    `purity` what `splits.purity` makes of them. `kept` are documents of a list that are in the
    node, with their values.
    """

    entropy: bool
    logs: Floats
    doc: Words
    live: Ints
    kept: Words
    kept_value: Singles
    label: Words
    counts: Ints
    side: Ints
    purity: Float
    total: Int


@piece
def lay(live: Ints, counts: Ints, origin: Ints, laid: Ints, load: Ints) -> None:
    """Write the load of each document, class by class; `laid` are the counts it was written for."""
    for c in range(len(counts)):
        if counts[c] != laid[c]:
            laid[c] = counts[c]
            factor = (counts[c] << _BITS) + 1
            for p in range(np.uint32(origin[c]), np.uint32(origin[c + 1])):
                load[p] = live[p] * factor


@inlined
def add_up(doc: Words, load: Ints, first: Int, last: Int) -> Int:
    """Add up the loads of a list's documents."""
    total = 0
    for i in range(first, last):
        total += load[doc[i]]
    return total


@piece
def weight_of(load: Int) -> Int:
    """Take the weight out of a load."""
    return load & _LOW


@piece
def falls_short(
    entropy: bool, logs: Floats, purity: Float, total: Int, load: Int, best: Float
) -> bool:
    """Tell whether no cut of a list with this load can score as high as `best`.

    No side scores higher than if it were of one class: w + (purity - 2 change + w²) / (total - w),
    for a weight of w. That grows with each document the side takes in, so that no part of the list
    scores higher than this bound for all of it: where the document's class weighs n, and other
    classes weigh u on the side, the slope has the sign of total² - 2n(total - w) + purity
    - 2 change, which is at least (total - n)² - u² + 2nu, and u is at most total - n. For the
    entropy there is only the bound by weight.
    """
    weight = weight_of(load)
    if is_hopeless(entropy, logs, purity, total, weight, best):
        return True
    if entropy:
        return False
    change = load >> _BITS
    # No room where the list holds all of the node, and then it is never hopeless.
    room = (best / _SLACK - weight) * (total - weight)
    hopeless: bool = (purity - 2 * change + weight * weight) * _SLACK < room
    return hopeless


@inlined
def keep(
    doc: Words,
    value: Singles,
    live: Ints,
    first: Int,
    last: Int,
    kept: Words,
    kept_value: Singles,
) -> Int:
    """Copy from a list what is in the node; count it."""
    n = _NONE
    for i in range(first, last):
        # Without a branch: the place is overwritten unless the document is in the node.
        kept[n] = doc[i]
        kept_value[n] = value[i]
        n = np.uint32(n + np.uint32(live[doc[i]] > 0))
    return n


@inlined
def halve(one: Float, other: Float) -> Float:
    """Find the cut in the middle of two values: what is not above it is on the lower one's side."""
    low, high = min(one, other), max(one, other)
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


@inlined
def draw_cut(state: Seed, one: Float, other: Float) -> Float:
    """Draw a cut evenly between two values."""
    low, high = min(one, other), max(one, other)
    cut = np.float32(low + uniform(state) * (np.float64(high) - np.float64(low)))
    return cut if cut < high else low


@piece
def count(
    entropy: bool, logs: Floats, had: Int, weight: Int, all_of_class: Int
) -> tuple[Float, Float]:
    """Move weight to a side that `had` so much of its class; as `splits.add`, for integers."""
    if entropy:
        has = had + weight
        return (
            logs[np.uint64(has)] - logs[np.uint64(had)],
            logs[np.uint64(all_of_class - has)] - logs[np.uint64(all_of_class - had)],
        )
    return np.float64(weight * (2 * had + weight)), np.float64(weight * all_of_class)


@inlined
def rate(node: Record, weight: Int, purity: Float, change: Float) -> Float:
    """Score the cut that parts documents of this weight, purity and change from all others."""
    return score(node.entropy, node.logs, node.purity, node.total, weight, purity, change)


@inlined
def judge_presence(node: Record, first: Int, last: Int, total: Int) -> Float:
    """Score the only cut of a list of one value: those who hold the word from those who do not."""
    purity, change = 0.0, 0.0
    here = node.label[node.doc[first]]
    had = 0
    for i in range(first, last):
        document = node.doc[i]
        label, weight = node.label[document], node.live[document]
        had = had if label == here else 0
        here = label
        more, less = count(node.entropy, node.logs, had, weight, node.counts[label])
        had += weight
        purity += more
        change += less
    return rate(node, total, purity, change)


@inlined
def judge_cut(node: Record, n: Int, cut: Float) -> Float:
    """Score one cut between the n values kept, or between these and zero."""
    kept, value, side = node.kept, node.kept_value, node.side
    begin, end, step = np.int64(0), np.int64(n), 1
    if cut < 0.0:
        begin, end, step = np.int64(n) - 1, np.int64(-1), -1
    weight, purity, change = 0, 0.0, 0.0
    i = begin
    while i != end and (value[np.uint32(i)] > cut) == (cut >= 0.0):
        document = kept[np.uint32(i)]
        label, moved = node.label[document], node.live[document]
        had = side[label]
        more, less = count(node.entropy, node.logs, had, moved, node.counts[label])
        side[label] = had + moved
        weight += moved
        purity += more
        change += less
        i += step
    while i != begin:
        i -= step
        side[node.label[kept[np.uint32(i)]]] = 0
    return rate(node, weight, purity, change)


@inlined
def judge_all_cuts(node: Record, n: Int, has_zero: bool) -> tuple[Float, Float]:
    """Find the best cut between the n values kept, and zero if the node has it; rate it.

    Cuts at zero or above are tried from the greatest value down, those below from the least one
    up. Among equals the lowest cut is the best. Gives the score and the cut.
    """
    kept, value, side = node.kept, node.kept_value, node.side
    border = np.int64(n)
    while border > 0 and value[np.uint32(border - 1)] < 0.0:
        border -= 1
    best, best_cut = -np.inf, _ZERO
    for from_below in range(2):
        begin, end, step = np.int64(0), border, 1
        if from_below:
            begin, end, step = np.int64(n) - 1, border - 1, -1
        weight, purity, change = 0, 0.0, 0.0
        i = begin
        while i != end:
            outer = value[np.uint32(i)]
            while i != end and value[np.uint32(i)] == outer:
                document = kept[np.uint32(i)]
                label, moved = node.label[document], node.live[document]
                had = side[label]
                more, less = count(node.entropy, node.logs, had, moved, node.counts[label])
                side[label] = had + moved
                weight += moved
                purity += more
                change += less
                i += step
            inner = _ZERO
            if i != end:
                inner = value[np.uint32(i)]
            elif not has_zero:
                # Beyond the last value of one sign is the first of the other, if there is any.
                if from_below or border == n:
                    break
                inner = value[np.uint32(border)]
            rating, cut = rate(node, weight, purity, change), halve(outer, inner)
            if rating > best or (rating == best and cut < best_cut):
                best, best_cut = rating, cut
        while i != begin:
            i -= step
            side[node.label[kept[np.uint32(i)]]] = 0
    return best, best_cut
