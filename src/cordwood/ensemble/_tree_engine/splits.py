"""How good a cut is, judged from the documents on the side of it that is short.

A list of a feature's entries shows the documents where the feature is not zero. The scores need
only those: whatever the lists do not show stays on the other side, whose share follows from the
node's totals. Both scores grow as the weighted impurity of the children falls.
"""

from typing import NamedTuple

import numpy as np

from cordwood._jit import Float, Floats, Int, Record, Seed, Singles, Words, inlined, piece
from cordwood._random import uniform

_ONE = np.uint32(1)

# Places in the record of the best cut so far.
SCORE, TURN, FEATURE, LOWER, UPPER, CUT = range(6)

# The bound on a score and the score are rounded differently when weights are not integers.
_SLACK = 1.0 + 1e-12


class Node(NamedTuple):
    """A node that is to be split, and how; `best` is the record of the best cut so far.

    `counts` are its classes' weights, `purity` what `purity` makes of them, `total` their sum and
    `n` the number of its documents. `side` has a zero for each class between two calls.
    """

    entropy: bool
    logs: Floats
    counts: Floats
    side: Floats
    best: Floats
    labels: Words
    weights: Floats
    n: Int
    purity: Float
    total: Float
    min_leaf: Int
    min_weight: Float
    doc_bits: Int
    doc_mask: Int


class Short(NamedTuple):
    """The short side of a cut: documents, weight, purity, and the change on the other side."""

    n: Int
    weight: Float
    purity: Float
    change: Float


@piece
def x_log_x(x: Float, logs: Floats) -> Float:
    """Compute x log2 x, from a table where x is a small integer."""
    i = np.int64(x)
    if i == x and i < len(logs):
        return logs[i]
    if x <= 0.0:  # a residue of real weights
        return 0.0
    return x * np.log2(x)


@piece
def purity(entropy: bool, logs: Floats, count: Floats) -> Float:
    """Sum over the node's classes what the scores need: squares, or x log x."""
    total = 0.0
    for weight in count:
        total += x_log_x(weight, logs) if entropy else weight * weight
    return total


@piece
def is_hopeless(
    entropy: bool, logs: Floats, purity: Float, total: Float, weight: Float, best: Float
) -> bool:
    """Tell whether no cut whose short side weighs at most `weight` can score as high as `best`.

    No side scores higher than one of a single class that leaves its class for good. That bound
    grows with the weight only up to a quarter of the node; beyond that there is none.
    """
    if 4.0 * weight >= total:
        return False
    hopeless: bool
    if entropy:
        most = purity - x_log_x(weight, logs) - x_log_x(total - weight, logs)
        hopeless = most / _SLACK < best
    else:
        # weight + (purity - weight²) / (total - weight) < best, without a division
        room = (best / _SLACK - weight) * (total - weight)
        hopeless = (purity - weight * weight) * _SLACK < room
    return hopeless


@piece
def score(
    entropy: bool,
    logs: Floats,
    purity: Float,
    total: Float,
    weight: Float,
    side: Float,
    change: Float,
) -> Float:
    """Score a cut from its short side's weight, purity, and what it changes on the other."""
    if entropy:
        return side - x_log_x(weight, logs) + purity + change - x_log_x(total - weight, logs)
    return side / weight + (purity - 2.0 * change + side) / (total - weight)


@piece
def add(
    entropy: bool, logs: Floats, had: Float, weight: Float, count: Float
) -> tuple[Float, Float]:
    """Move a document's weight to the short side, which `had` so much of its class already."""
    if entropy:
        has = had + weight
        return (
            x_log_x(has, logs) - x_log_x(had, logs),
            x_log_x(count - has, logs) - x_log_x(count - had, logs),
        )
    return weight * (2.0 * had + weight), weight * count


@piece
def offer(best: Floats, score: Float, turn: Int) -> bool:
    """Tell whether a score beats the best so far; among equals the feature drawn first wins."""
    if score > best[SCORE] or (score == best[SCORE] and turn < best[TURN]):
        best[SCORE] = score
        best[TURN] = turn
        return True
    return False


@inlined
def settle(node: Record, short: Record, feature: Int, turn: Int, lower: Int, upper: Int) -> bool:
    """Make a cut the best so far, if it is allowed and better; tells whether it is."""
    if (
        short.n < node.min_leaf
        or node.n - short.n < node.min_leaf
        or min(short.weight, node.total - short.weight) < node.min_weight
    ):
        return False
    value = score(
        node.entropy, node.logs, node.purity, node.total, short.weight, short.purity, short.change
    )
    if not offer(node.best, value, turn):
        return False
    node.best[FEATURE] = feature
    node.best[LOWER] = lower
    node.best[UPPER] = upper
    return True


@inlined
def move(node: Record, short: Record, doc: Int) -> Record:
    """Move a document to the short side."""
    label = node.labels[doc]
    weight = node.weights[doc]
    more, less = add(node.entropy, node.logs, node.side[label], weight, node.counts[label])
    node.side[label] += weight
    return Short(short.n + 1, short.weight + weight, short.purity + more, short.change + less)


@inlined
def sweep(
    node: Record,
    feature: Int,
    turn: Int,
    entries: Words,
    first: Int,
    last: Int,
    step: Int,
    beyond: Int,
) -> None:
    """Try the cuts between the values of a sorted list, from its outer end inwards.

    Goes from `first` to just before `last`. `beyond` is the rank of the next value inwards, or
    negative if there is none.
    """
    short = Short(0, 0.0, 0.0, 0.0)
    i = first
    while i != last:
        rank = entries[np.uint32(i)] >> node.doc_bits
        while i != last and entries[np.uint32(i)] >> node.doc_bits == rank:
            short = move(node, short, entries[np.uint32(i)] & node.doc_mask)
            i += step
        inner = beyond
        if i != last:
            inner = np.int64(entries[np.uint32(i)] >> node.doc_bits)
        if inner >= 0:
            settle(node, short, feature, turn, min(inner, rank), max(inner, rank))
    while i != first:
        i -= step
        node.side[node.labels[entries[np.uint32(i)] & node.doc_mask]] = 0.0


@inlined
def judge_cuts(
    node: Record, feature: Int, turn: Int, zero: Int, entries: Words, at: Int, n: Int
) -> None:
    """Try every cut of a sorted list: above zero from the top down, below it from the bottom up."""
    first, end = np.int64(at), np.int64(at) + np.int64(n)
    border = first
    while border < end and entries[np.uint32(border)] >> node.doc_bits < zero:
        border += 1
    above, below = np.int64(-1), np.int64(-1)
    if n < node.n:
        above = below = np.int64(zero)
    elif border > first:  # the cut between negative and positive values, from one side only
        below = np.int64(entries[np.uint32(border - 1)] >> node.doc_bits)
    for upwards in range(2):
        if upwards:
            begin, stop, step, beyond = first, border, 1, above
        else:
            begin, stop, step, beyond = end - 1, border - 1, -1, below
        sweep(node, feature, turn, entries, begin, stop, step, beyond)


@inlined
def judge_random_cut(
    node: Record,
    feature: Int,
    turn: Int,
    zero: Int,
    entries: Words,
    at: Int,
    n: Int,
    least: Singles,
    greatest: Singles,
    first_value: Int,
    state: Seed,
) -> None:
    """Try one cut, drawn evenly between the least and the greatest value in the node."""
    end = np.uint32(at + n)
    low = entries[at] >> node.doc_bits
    high = low
    for i in range(at, end):
        rank = entries[i] >> node.doc_bits
        low = min(low, rank)
        high = max(high, rank)
    if n < node.n:
        low = min(low, zero)
        high = max(high, zero)
    bottom = np.float64(least[np.uint64(first_value + low)])
    top = np.float64(greatest[np.uint64(first_value + high)])
    cut = np.float32(bottom + uniform(state) * (top - bottom))
    while np.uint32(low + _ONE) < high:  # the highest rank that is not above the cut
        middle = np.uint32((low + high) >> _ONE)
        if greatest[np.uint64(first_value + middle)] <= cut:
            low = middle
        else:
            high = middle
    # A cut must not part values of one rank, nor take in what is above it.
    if cut < greatest[np.uint64(first_value + low)] or cut >= least[np.uint64(first_value + high)]:
        cut = greatest[np.uint64(first_value + low)]
    zero_is_left = zero <= low
    short = Short(0, 0.0, 0.0, 0.0)
    for i in range(at, end):
        if (entries[i] >> node.doc_bits > low) == zero_is_left:
            short = move(node, short, entries[i] & node.doc_mask)
    for i in range(at, end):
        node.side[node.labels[entries[i] & node.doc_mask]] = 0.0
    if settle(node, short, feature, turn, low, high):
        node.best[CUT] = cut


@inlined
def judge_single(
    node: Record,
    feature: Int,
    turn: Int,
    zero: Int,
    e: Int,
    random_cut: bool,
    least: Singles,
    greatest: Singles,
    first_value: Int,
    state: Seed,
) -> None:
    """Try the one cut of a feature that a single document has, as most have in small nodes."""
    rank = e >> node.doc_bits
    doc = e & node.doc_mask
    low, high = min(rank, zero), max(rank, zero)
    cut = np.float32(0.0)
    if random_cut:
        bottom = np.float64(least[np.uint64(first_value + low)])
        top = np.float64(greatest[np.uint64(first_value + high)])
        cut = np.float32(bottom + uniform(state) * (top - bottom))
        inner = greatest[np.uint64(first_value + low)]
        if cut < inner or cut >= least[np.uint64(first_value + high)]:
            cut = inner
    weight = node.weights[doc]
    more, less = add(node.entropy, node.logs, 0.0, weight, node.counts[node.labels[doc]])
    if (
        node.min_leaf <= 1
        and min(weight, node.total - weight) >= node.min_weight
        and offer(
            node.best,
            score(node.entropy, node.logs, node.purity, node.total, weight, more, less),
            turn,
        )
    ):
        node.best[FEATURE] = feature
        node.best[LOWER] = low
        node.best[UPPER] = high
        node.best[CUT] = cut
