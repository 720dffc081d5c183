"""How good a cut is, judged from the documents on the side of it that is short.

A list of a feature's entries shows the documents where the feature is not zero. The scores need
only those: whatever the lists do not show stays on the other side, whose share follows from the
node's totals. Both scores grow as the weighted impurity of the children falls.
"""

import numpy as np

from cordwood.kernels.jit import piece
from cordwood.kernels.rng import uniform
from cordwood.kernels.types import Float, Floats, Int, Seed, Singles, Words

_ONE = np.uint32(1)

# Places in the record of the best cut so far.
SCORE, TURN, FEATURE, LOWER, UPPER, CUT = range(6)

# The bound on a score and the score are rounded differently when weights are not integers.
_SLACK = 1.0 + 1e-12


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
def bound(entropy: bool, logs: Floats, purity: Float, total: Float, weight: Float) -> Float:
    """Bound the score of any cut whose short side weighs at most `weight`.

    No side scores higher than one of a single class that leaves its class for good. The bound
    grows with the weight only up to a quarter of the node; beyond that there is none.
    """
    if 4.0 * weight >= total:
        return np.inf
    if entropy:
        return (purity - x_log_x(weight, logs) - x_log_x(total - weight, logs)) / _SLACK
    return (weight + (purity - weight * weight) / (total - weight)) * _SLACK


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


@piece
def judge_cuts(
    entropy: bool,
    logs: Floats,
    count: Floats,
    side: Floats,
    best: Floats,
    labels: Words,
    weights: Floats,
    entries: Words,
    at: Int,
    n: Int,
    n_node: Int,
    min_leaf: Int,
    min_weight: Float,
    doc_bits: Int,
    doc_mask: Int,
    zero: Int,
    purity: Float,
    total: Float,
    feature: Int,
    turn: Int,
) -> None:
    """Try every cut of a sorted list: above zero from the top down, below it from the bottom up."""
    has_zero = n < n_node
    end = np.uint32(at + n)
    n_side = 0
    weight = 0.0
    pure = 0.0
    change = 0.0
    i = np.uint32(end)
    while i > at:
        rank = entries[np.uint32(i - _ONE)] >> doc_bits
        if rank < zero:
            break
        while i > at and entries[np.uint32(i - _ONE)] >> doc_bits == rank:
            i = np.uint32(i - _ONE)
            doc = entries[i] & doc_mask
            label = labels[doc]
            w = weights[doc]
            more, less = add(entropy, logs, side[label], w, count[label])
            pure += more
            change += less
            side[label] += w
            weight += w
            n_side += 1
        lower = zero
        if i > at:
            if not has_zero or entries[np.uint32(i - _ONE)] >> doc_bits > zero:
                lower = entries[np.uint32(i - _ONE)] >> doc_bits
        elif not has_zero:
            break
        if (
            n_side >= min_leaf
            and n_node - n_side >= min_leaf
            and min(weight, total - weight) >= min_weight
            and offer(best, score(entropy, logs, purity, total, weight, pure, change), turn)
        ):
            best[FEATURE] = feature
            best[LOWER] = lower
            best[UPPER] = rank
    first_above = i
    for e in range(first_above, end):
        side[labels[entries[e] & doc_mask]] = 0.0
    if first_above == at:
        return
    n_side = 0
    weight = 0.0
    pure = 0.0
    change = 0.0
    i = np.uint32(at)
    while i < first_above:
        rank = entries[i] >> doc_bits
        while i < first_above and entries[i] >> doc_bits == rank:
            doc = entries[i] & doc_mask
            label = labels[doc]
            w = weights[doc]
            more, less = add(entropy, logs, side[label], w, count[label])
            pure += more
            change += less
            side[label] += w
            weight += w
            n_side += 1
            i = np.uint32(i + _ONE)
        upper = zero
        if i < first_above:
            upper = entries[i] >> doc_bits
        elif not has_zero:
            break
        if (
            n_side >= min_leaf
            and n_node - n_side >= min_leaf
            and min(weight, total - weight) >= min_weight
            and offer(best, score(entropy, logs, purity, total, weight, pure, change), turn)
        ):
            best[FEATURE] = feature
            best[LOWER] = rank
            best[UPPER] = upper
    for e in range(at, first_above):
        side[labels[entries[e] & doc_mask]] = 0.0


@piece
def judge_random_cut(
    entropy: bool,
    logs: Floats,
    count: Floats,
    side: Floats,
    best: Floats,
    labels: Words,
    weights: Floats,
    entries: Words,
    at: Int,
    n: Int,
    n_node: Int,
    min_leaf: Int,
    min_weight: Float,
    doc_bits: Int,
    doc_mask: Int,
    zero: Int,
    purity: Float,
    total: Float,
    feature: Int,
    turn: Int,
    least: Singles,
    greatest: Singles,
    first_value: Int,
    state: Seed,
) -> None:
    """Try one cut, drawn evenly between the least and the greatest value in the node."""
    end = np.uint32(at + n)
    low = entries[at] >> doc_bits
    high = low
    for i in range(at, end):
        rank = entries[i] >> doc_bits
        low = min(low, rank)
        high = max(high, rank)
    if n < n_node:
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
    n_side = 0
    weight = 0.0
    pure = 0.0
    change = 0.0
    for i in range(at, end):
        if (entries[i] >> doc_bits > low) == zero_is_left:
            doc = entries[i] & doc_mask
            label = labels[doc]
            w = weights[doc]
            more, less = add(entropy, logs, side[label], w, count[label])
            pure += more
            change += less
            side[label] += w
            weight += w
            n_side += 1
    for i in range(at, end):
        side[labels[entries[i] & doc_mask]] = 0.0
    if (
        n_side >= min_leaf
        and n_node - n_side >= min_leaf
        and min(weight, total - weight) >= min_weight
        and offer(best, score(entropy, logs, purity, total, weight, pure, change), turn)
    ):
        best[FEATURE] = feature
        best[LOWER] = low
        best[UPPER] = high
        best[CUT] = cut
