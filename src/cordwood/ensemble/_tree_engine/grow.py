"""One tree, grown along chains of larger children.

A tree on text is not balanced: a split peels the few documents with one word off a large rest. So
the rest goes on with the node's own posting lists, and only the peeled side, when its turn comes,
has lists made for it. At any time one set of lists is alive, and the lists that are made hold
about as many entries, all together, as the data set.
"""

import numpy as np

from cordwood._intrinsics import borrow, prefetch
from cordwood._jit import Float, Floats, Int, Record, Seed, Words, inlined, kernel, piece
from cordwood._random import below, hypergeometric
from cordwood.ensemble._tree_engine.postings import (
    UNREAD,
    build,
    fetch,
    gather,
    is_even,
    length_of,
    sort,
    start_of,
)
from cordwood.ensemble._tree_engine.splits import (
    CUT,
    FEATURE,
    LOWER,
    SCORE,
    UPPER,
    Node,
    is_hopeless,
    judge_cuts,
    judge_random_cut,
    judge_single,
    purity,
)

_ZERO, _ONE = np.uint32(0), np.uint32(1)

# Lists are made anew for a node this many times smaller than the one that they were made for:
# by then most of what a drawn word's list holds has left.
_SHRUNK = 8

# Lists lie far apart in memory; so many turns ahead the next one is asked for.
_AHEAD = 3

# The lists at hand belong to no node that this one is a part of.
_NOBODY = np.int64(2**62)


@kernel
def grow(
    table: Record,
    rules: Record,
    scratch: Record,
    labels: Words,
    weights: Floats,
    unit: Float,
    seed: Int,
) -> tuple[Int, Int, Int]:
    """Grow one tree into the scratch arrays; count its nodes, leaves and mixed leaves.

    `weights` are the documents' weights in this tree, zero for those that it must not see, and
    `unit` is what a level of the eight-bit bounds on them stands for: one where all of them are
    integers up to 255.
    """
    table, rules, scratch = borrow(table), borrow(rules), borrow(scratch)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    order, position, stack = scratch.order, scratch.position, scratch.stack
    n_docs = _ZERO
    for doc in range(_ZERO, np.uint32(len(weights))):
        scratch.live[doc] = 0
        if weights[doc] > 0.0:
            order[n_docs] = doc
            position[doc] = n_docs
            n_docs = np.uint32(n_docs + _ONE)
    scratch.span[1::2] = UNREAD
    scratch.mixed_start[0] = 0
    tally = scratch.made
    tally[:] = 0
    n_listed: Int = 0
    min_weight = 0.0
    stack[0, 0] = 0
    stack[0, 1] = n_docs
    stack[0, 2] = 0
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        start = stack[n_waiting, 0]
        end = stack[n_waiting, 1]
        depth = np.int64(stack[n_waiting, 2])
        if tally[0] > 0:
            scratch.node_other[stack[n_waiting, 3]] = tally[0]
        total = enter(scratch, labels, weights, unit, start, end)
        at_root = tally[0] == 0
        n_owner = _NOBODY
        n_active = 0
        if at_root:
            min_weight = total * rules.min_weight_share
            n_owner = np.int64(n_docs)
            n_active = table.n_used
            for feature in range(n_active):
                scratch.active[feature] = feature
        while True:
            scratch.best[SCORE] = -np.inf
            scratch.best[FEATURE] = -1
            if total >= 2.0 * min_weight and may_split(table, rules, scratch, start, end, depth):
                n_node = np.int64(end - start)
                if n_node * _SHRUNK < n_owner:
                    if at_root:
                        scratch.span[1::2] = _ZERO
                        at_root = False
                    n_listed = n_active = renew(table, scratch, start, end, n_listed)
                    n_owner = n_node
                n_active = search(
                    table,
                    rules,
                    scratch,
                    labels,
                    weights,
                    unit,
                    state,
                    start,
                    end,
                    total,
                    min_weight,
                    n_active,
                    at_root,
                )
            if scratch.best[FEATURE] < 0:
                put_leaf(scratch, labels, weights, start, end)
                break
            border, zero_is_left = part(table, scratch, start, end)
            peel_tail = end - border <= border - start
            first, last = (border, end) if peel_tail else (start, border)
            next_is_right = zero_is_left != peel_tail
            node = tally[0]
            scratch.node_split[node] = 2 * np.int32(scratch.best[FEATURE]) + next_is_right
            scratch.node_threshold[node] = threshold(table, rules, scratch)
            tally[0] += 1
            depth += 1
            pure, weight, total = leave(scratch, labels, weights, first, last)
            if pure:
                put_pure_leaf(scratch, labels, node, first, last, weight)
            else:
                stack[n_waiting, 0] = first
                stack[n_waiting, 1] = last
                stack[n_waiting, 2] = depth
                stack[n_waiting, 3] = node
                n_waiting += 1
            if peel_tail:
                end = border
            else:
                start = border
        if at_root:
            scratch.span[1::2] = _ZERO
    return tally[0], tally[1], tally[2]


@inlined
def enter(
    scratch: Record,
    labels: Words,
    weights: Floats,
    unit: Float,
    start: Int,
    end: Int,
) -> Float:
    """Make the documents live and total their classes; returns the node's weight."""
    count, size = scratch.counts, scratch.sizes
    count[:] = 0.0
    size[:] = 0
    total = 0.0
    for k in range(start, end):
        doc = scratch.order[k]
        weight = weights[doc]
        scratch.live[doc] = np.uint8(np.ceil(weight / unit))
        count[labels[doc]] += weight
        size[labels[doc]] += 1
        total += weight
    return total


@inlined
def leave(
    scratch: Record,
    labels: Words,
    weights: Floats,
    first: Int,
    last: Int,
) -> tuple[bool, Float, Float]:
    """Take the peeled documents out of the node.

    Documents are counted beside their weights, so that a class which has left weighs exactly
    nothing, whatever the rounding. Tells whether the documents are of one class, what they weigh,
    and what the rest weighs.
    """
    count, size, live, order = scratch.counts, scratch.sizes, scratch.live, scratch.order
    pure = True
    weight = 0.0
    for k in range(first, last):
        doc = order[k]
        label = labels[doc]
        live[doc] = 0
        weight += weights[doc]
        count[label] -= weights[doc]
        size[label] -= 1
        pure = pure and label == labels[order[first]]
    total = 0.0
    for label in range(len(count)):
        if size[label] == 0:
            count[label] = 0.0
        total += count[label]
    return pure, weight, total


@inlined
def renew(table: Record, scratch: Record, start: Int, end: Int, n_listed: Int) -> Int:
    """Make the node's lists anew, and list as active its words and all dense features."""
    n_words = np.int64(build(table, scratch, start, end, n_listed))
    for feature in range(table.n_dense):
        scratch.active[n_words + feature] = feature
    return n_words + table.n_dense


@inlined
def may_split(
    table: Record, rules: Record, scratch: Record, start: Int, end: Int, depth: Int
) -> bool:
    """Tell whether a split is allowed and possible: several classes, not all rows the same."""
    n_node = np.int64(end - start)
    if (
        n_node < rules.min_samples_split
        or n_node < 2 * rules.min_samples_leaf
        or depth >= rules.max_depth
    ):
        return False
    n_classes = 0
    for label in range(len(scratch.sizes)):
        n_classes += scratch.sizes[label] > 0
    if n_classes < 2:
        return False
    twin = table.twin[scratch.order[start]]
    for k in range(start + _ONE, end):
        if table.twin[scratch.order[k]] != twin:
            return True
    return False


@inlined
def search(
    table: Record,
    rules: Record,
    scratch: Record,
    labels: Words,
    weights: Floats,
    unit: Float,
    state: Seed,
    start: Int,
    end: Int,
    total: Float,
    min_weight: Float,
    n_active: Int,
    sorted_lists: bool,
) -> Int:
    """Draw features and leave the best cut in `scratch.best`; returns how many stay active.

    scikit-learn's rule: take features in random order without replacement and stop after
    `max_features`, constant ones included, but not before one that can be cut. The number of
    active ones among the first `max_features` is hypergeometric, so the rest need not be drawn.
    A feature found constant here is constant further down and is taken out of the active ones.
    """
    column_start, column_entry = table.column_start, table.column_entry
    dense, zero_rank = table.dense_entry, table.zero_rank
    least, greatest, value_start = table.least, table.greatest, table.value_start
    order, span, entry, live = scratch.order, scratch.span, scratch.entry, scratch.live
    active, mass, best = scratch.active, scratch.mass, scratch.best
    buffer, spare, tally = scratch.buffer, scratch.spare, scratch.tally
    counts, logs = scratch.counts, rules.x_log_x
    entropy, random_cut = rules.entropy, rules.random_cut
    doc_bits, doc_mask, n_dense = table.doc_bits, table.doc_mask, table.n_dense

    pure = purity(entropy, logs, counts)
    n_node = np.uint32(end - start)
    node = Node(
        entropy,
        logs,
        counts,
        scratch.side,
        best,
        labels,
        weights,
        n_node,
        pure,
        total,
        rules.min_samples_leaf,
        min_weight,
        doc_bits,
        doc_mask,
    )
    n_drawn = hypergeometric(
        state, table.log_factorial, n_active, table.n_features, rules.max_features
    )
    if n_drawn == 0:
        n_drawn = 1
    n_useful: Int = 0
    while n_useful == 0 and n_active > 0:
        heaviest = -1
        most = np.uint64(0)
        for turn in range(n_drawn):
            pick = np.uint32(turn + below(state, n_active - turn))
            feature = active[pick]
            active[pick] = active[turn]
            active[turn] = feature
            prefetch(span, start_of(feature))
        for turn in range(n_drawn):
            if turn + _AHEAD < n_drawn:
                coming = active[turn + _AHEAD]
                if span[length_of(coming)] == UNREAD:
                    prefetch(column_entry, column_start[coming])
                else:
                    prefetch(entry, span[start_of(coming)])
            feature = active[turn]
            if feature < n_dense:
                nothing = zero_rank[feature] << doc_bits
                n = gather(order, dense, buffer, feature, nothing, start, end)
                weight = np.uint64(n > 0)
                if n == n_node and is_even(buffer, _ZERO, n, doc_bits):
                    weight = np.uint64(0)
            else:
                n, weight = fetch(
                    span,
                    entry,
                    column_entry,
                    live,
                    feature,
                    column_start[feature],
                    column_start[np.uint32(feature + _ONE)],
                    doc_mask,
                )
                if n == n_node and is_even(entry, span[start_of(feature)], n, doc_bits):
                    weight = np.uint64(0)
            mass[turn] = weight
            n_useful += weight > 0
            if weight > most:
                most = weight
                heaviest = turn
        # The heaviest list goes first: below its score most others need not be judged.
        for step in range(-1, n_drawn):
            turn = heaviest if step < 0 else step
            if turn < 0 or step == heaviest or mass[turn] == 0:
                continue
            feature = active[turn]
            if feature < n_dense:
                nothing = zero_rank[feature] << doc_bits
                n = gather(order, dense, buffer, feature, nothing, start, end)
                entries = buffer
                at = _ZERO
            else:
                if is_hopeless(entropy, logs, pure, total, mass[turn] * unit, best[SCORE]):
                    continue
                entries = entry
                at = span[start_of(feature)]
                n = span[length_of(feature)]
            zero = zero_rank[feature]
            if n == 1:
                judge_single(
                    node,
                    feature,
                    turn,
                    zero,
                    entries[at],
                    random_cut,
                    least,
                    greatest,
                    value_start[feature],
                    state,
                )
            elif random_cut:
                first_value = value_start[feature]
                judge_random_cut(
                    node, feature, turn, zero, entries, at, n, least, greatest, first_value, state
                )
            else:
                if not sorted_lists or feature < n_dense:
                    sort(entries, at, n, spare, tally, doc_bits)
                judge_cuts(node, feature, turn, zero, entries, at, n)
        for turn in range(n_drawn - 1, -1, -1):
            if mass[turn] == 0:
                n_active -= 1
                feature = active[turn]
                active[turn] = active[n_active]
                active[n_active] = feature
        n_drawn = 1
    return n_active


@inlined
def part(table: Record, scratch: Record, start: Int, end: Int) -> tuple[Int, bool]:
    """Move the documents of the side without zero to the end; give the border and zero's side."""
    order, position, best = scratch.order, scratch.position, scratch.best
    feature = np.uint32(best[FEATURE])
    lower = np.uint32(best[LOWER])
    zero_is_left = table.zero_rank[feature] <= lower
    border = end
    if feature >= table.n_dense:
        at = scratch.span[start_of(feature)]
        for i in range(at, np.uint32(at + scratch.span[length_of(feature)])):
            e = scratch.entry[i]
            if (e >> table.doc_bits > lower) == zero_is_left:
                doc = e & table.doc_mask
                border = np.uint32(border - _ONE)
                swap(order, position, position[doc], border)
        return border, zero_is_left
    column = table.dense_entry[feature]
    k = start
    while k < border:
        if (column[order[k]] >> table.doc_bits > lower) == zero_is_left:
            border = np.uint32(border - _ONE)
            swap(order, position, k, border)
        else:
            k = np.uint32(k + _ONE)
    return border, zero_is_left


@piece
def swap(order: Words, position: Words, i: Int, j: Int) -> None:
    """Let the documents at two places change places."""
    a, b = order[i], order[j]
    order[i], order[j] = b, a
    position[a], position[b] = j, i


@inlined
def threshold(table: Record, rules: Record, scratch: Record) -> Float:
    """Find the value that the best cut compares with: what is not above it goes left."""
    best = scratch.best
    if rules.random_cut:
        return np.float32(best[CUT])
    first = table.value_start[np.int64(best[FEATURE])]
    low = table.greatest[first + np.int64(best[LOWER])]
    high = table.least[first + np.int64(best[UPPER])]
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


@inlined
def put_leaf(scratch: Record, labels: Words, weights: Floats, start: Int, end: Int) -> None:
    """End the chain with a leaf node."""
    made, sizes, counts = scratch.made, scratch.sizes, scratch.counts
    node, n_mixed = made[0], made[2]
    scratch.node_split[node] = -1
    scratch.node_threshold[node] = -np.inf
    # Counted anew: weights that were taken away along the chain have left their rounding behind.
    counts[:] = 0.0
    total = 0.0
    for k in range(start, end):
        doc = scratch.order[k]
        scratch.live[doc] = 0
        counts[labels[doc]] += weights[doc]
        total += weights[doc]
    first = labels[scratch.order[start]]
    code = np.int64(first)
    if sizes[first] != end - start:
        code = len(sizes) + n_mixed
        at = scratch.mixed_start[n_mixed]
        for label in range(len(sizes)):
            if sizes[label] > 0:
                scratch.mixed_class[at] = label
                scratch.mixed_weight[at] = counts[label]
                at += 1
        scratch.mixed_start[n_mixed + 1] = at
        made[2] += 1
    refer_to_leaf(scratch, node, code, end - start, total)
    made[0] += 1


@inlined
def put_pure_leaf(
    scratch: Record, labels: Words, node: Int, first: Int, last: Int, weight: Float
) -> None:
    """Hang the peeled documents, all of one class, on their parent without a node of their own."""
    code = np.int64(labels[scratch.order[first]])
    refer_to_leaf(scratch, node, code, last - first, weight)


@inlined
def refer_to_leaf(scratch: Record, node: Int, code: Int, size: Int, weight: Float) -> None:
    """Let a node refer to a leaf, whose census is taken in the order of such nodes."""
    leaf = scratch.made[1]
    scratch.node_other[node] = ~code
    scratch.leaf_size[leaf] = size
    scratch.leaf_weight[leaf] = weight
    scratch.made[1] += 1
