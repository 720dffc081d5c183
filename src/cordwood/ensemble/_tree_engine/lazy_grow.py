"""One query's path through trees that are never built.

A lazy forest answers one query and is thrown away, so of each of its trees only the nodes on the
query's way are split: the side that the query does not take is dropped. What is left of the tree
has the distribution that it has in the whole tree.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import borrow
from cordwood._jit import Float, Floats, Int, Record, Seed, Singles, Words, inlined, kernel, piece
from cordwood._random import below, hypergeometric
from cordwood.ensemble._tree_engine.lazy_splits import (
    Crowd,
    Ints,
    add_up,
    draw_cut,
    falls_short,
    halve,
    judge_all_cuts,
    judge_cut,
    judge_presence,
    keep,
    lay,
    weight_of,
)
from cordwood.ensemble._tree_engine.local_index import N_STRATA, ask, leave, meet, settle
from cordwood.ensemble._tree_engine.splits import is_hopeless, purity

_ZERO, _ONE = np.uint32(0), np.uint32(1)
_NOTHING = np.float32(0.0)
_S32 = np.uint64(32)
_HASH = np.uint64(0x9E3779B97F4A7C15)

# Places in the record of the best cut so far.
SCORE, TIES, WORD, CUT = range(4)


@kernel
def vote(
    rows: Record,
    rules: Record,
    hood: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Singles,
    neighbors: NDArray[np.int32],
    seed: Int,
    votes: Floats,
) -> None:
    """Let a forest on each query's neighbours vote; a query without neighbours gets no votes.

    Queries are CSR rows, their `neighbors` numbers of `rows`, -1 after the last. Votes are added
    up tree by tree, then divided by the number of trees.
    """
    rows, rules, hood = borrow(rows), borrow(rules), borrow(hood)
    state = np.empty(1, np.uint64)
    for query in range(len(neighbors)):
        n_docs, n_classes = meet(rows, hood, neighbors[query])
        if n_classes == 1:
            votes[query, hood.class_of[0]] = 1.0
        if n_classes < 2:
            continue
        n_words = settle(rows, hood, n_docs)
        first, last = indptr[query], indptr[query + 1]
        n_strange = ask(hood, indices, data, first, last, n_words)
        state[0] = fingerprint(indices, data, first, last, np.uint64(seed))
        n_features = np.int64(n_words) + n_strange
        for _ in range(rules.n_trees):
            grow_path(rows, rules, hood, state, n_docs, n_classes, n_features, votes[query])
        votes[query] /= rules.n_trees
        leave(hood, n_words)


@kernel
def fingerprint_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: Singles, out: Seed
) -> None:
    """Write each CSR row's fingerprint; rows of equal fingerprints count as equal."""
    for row in range(len(out)):
        out[row] = fingerprint(indices, data, indptr[row], indptr[row + 1], np.uint64(0))


@piece
def fingerprint(indices: NDArray[np.int32], data: Singles, first: Int, last: Int, seed: Int) -> Int:
    """Make a seed of a row's entries, so that what is asked beside it does not matter."""
    x = seed
    for i in range(first, last):
        bits = np.uint64(np.float32(data[i]).view(np.uint32))
        x = (x ^ (np.uint64(indices[i]) << _S32) ^ bits) * _HASH
        x ^= x >> _S32
    return x


@inlined
def grow_path(
    rows: Record,
    rules: Record,
    hood: Record,
    state: Seed,
    n_docs: Int,
    n_classes: Int,
    n_features: Int,
    answer: Floats,
) -> None:
    """Grow one tree along the query's path, and add the leaf's class frequencies to the answer."""
    live, best, label = hood.live, hood.best, hood.label
    counts = hood.counts[:n_classes]
    heaviest = fill_bag(live, counts, label, state, rules.bootstrap, n_docs)
    total = np.int64(n_docs)
    hood.laid[:n_classes] = -1
    for stratum in range(N_STRATA):
        hood.alive[stratum] = hood.border[stratum + 1] - hood.border[stratum]
    while count_classes(counts) > 1:
        search(rows, rules, hood, state, counts, n_docs, total, heaviest, n_features)
        if best[WORD] < 0.0:
            break
        w, cut = np.uint32(best[WORD]), np.float32(best[CUT])
        total = step(
            hood.doc,
            hood.value,
            live,
            counts,
            label,
            hood.start[w],
            hood.start[np.uint32(w + _ONE)],
            cut,
            hood.x[w] > cut,
            total,
            n_docs,
        )
    for c in range(n_classes):
        answer[hood.class_of[c]] += counts[c] / total


@piece
def fill_bag(
    live: Ints, counts: Ints, label: Words, state: Seed, bootstrap: bool, n_docs: Int
) -> Int:
    """Weigh the documents of a tree, and count their classes; returns the greatest weight."""
    if bootstrap:
        live[:n_docs] = 0
        for _ in range(n_docs):
            live[np.uint32(below(state, n_docs))] += 1
    else:
        live[:n_docs] = 1
    counts[:] = 0
    heaviest = 0
    for p in range(n_docs):
        counts[label[p]] += live[p]
        heaviest = max(heaviest, live[p])
    return heaviest


@inlined
def count_classes(counts: Ints) -> Int:
    """Count the classes that are left."""
    n = 0
    for count in counts:
        n += count > 0
    return n


@piece
def step(
    doc: Words,
    value: Singles,
    live: Ints,
    counts: Ints,
    label: Words,
    first: Int,
    last: Int,
    cut: Float,
    goes_up: bool,
    total: Int,
    n_docs: Int,
) -> Int:
    """Go with the query to its side of a cut; returns what the documents there weigh.

    The side without zero is known from the word's list; the other one is what remains.
    """
    takes_list = goes_up == (cut >= 0.0)
    weight = 0
    for i in range(first, last):
        if (value[i] > cut) == (cut >= 0.0):
            document = doc[i]
            weight += live[document]
            if takes_list:
                live[document] = -live[document]
            else:
                counts[label[document]] -= live[document]
                live[document] = 0
    if not takes_list:
        return total - weight
    counts[:] = 0
    for p in range(n_docs):  # what stays has been marked by a minus sign
        live[p] = max(-live[p], 0)
        counts[label[p]] += live[p]
    return weight


@inlined
def search(
    rows: Record,
    rules: Record,
    hood: Record,
    state: Seed,
    counts: Ints,
    n_docs: Int,
    total: Int,
    heaviest: Int,
    n_features: Int,
) -> None:
    """Draw words and leave the best cut in `hood.best`.

    scikit-learn's rule, as in `grow.search`: features in random order, `max_features` of them,
    constant ones included, but not before one that can be cut. How many of them fall into each
    stratum is drawn first, and the strata are judged from the words of many documents to those of
    one. Once the best cut beats whatever a stratum could offer, its words need not be drawn.
    """
    entropy, random_cut, logs = rules.entropy, rules.random_cut, rules.x_log_x
    alive, reach, start, best = hood.alive, hood.reach, hood.start, hood.best
    pure = purity(entropy, logs, counts)
    lay(hood.live, counts, hood.origin, hood.laid, hood.load)
    node = Crowd(
        entropy,
        logs,
        hood.doc,
        hood.live,
        hood.kept,
        hood.kept_value,
        hood.label,
        counts,
        hood.side,
        pure,
        total,
    )
    best[SCORE] = -np.inf
    best[WORD] = -1.0
    n_others, n_left = n_features, rules.quota[n_features]
    n_useful = 0
    turn = 0
    while True:
        stratum, n_drawn = turn, 1
        if turn < N_STRATA:
            if is_hopeless(entropy, logs, pure, total, reach[stratum] * heaviest, best[SCORE]):
                break
            n_active = alive[stratum]
            n_drawn = 0
            if n_active > 0 and n_left > 0:
                n_drawn = hypergeometric(state, rules.log_factorial, n_active, n_others, n_left)
            n_others -= n_active
            n_left -= n_drawn
        else:
            n_active = alive[0] + alive[1] + alive[2]
            if n_useful > 0 or n_active == 0:
                break
            if turn == N_STRATA and are_twins(rows, hood, n_docs):
                break
            pick = below(state, n_active)
            stratum = 0
            while pick >= alive[stratum]:
                pick -= alive[stratum]
                stratum += 1
            n_active = alive[stratum]
        turn += 1
        n_found = sift(hood, state, stratum, n_active, n_drawn, total)
        n_useful += n_found
        for i in range(n_found):
            w, load = hood.found[i], hood.found_load[i]
            if falls_short(entropy, logs, pure, total, load, best[SCORE]):
                continue
            weight = weight_of(load)
            first, last = start[w], start[np.uint32(w + _ONE)]
            cut = _NOTHING
            if hood.is_even[w]:
                rating = judge_presence(node, first, last, weight)
                if rating < best[SCORE]:
                    continue
                top = hood.value[first]
                cut = draw_cut(state, cut, top) if random_cut else halve(cut, top)
            else:
                has_zero = weight < total
                n = keep(hood.doc, hood.value, hood.live, first, last, hood.kept, hood.kept_value)
                if random_cut:
                    low, high = hood.kept_value[np.uint32(n - _ONE)], hood.kept_value[0]
                    if has_zero:
                        low, high = min(low, _NOTHING), max(high, _NOTHING)
                    cut = draw_cut(state, low, high)
                    rating = judge_cut(node, n, cut)
                else:
                    rating, cut = judge_all_cuts(node, n, has_zero)
            offer(best, rating, w, cut, state)


@inlined
def sift(hood: Record, state: Seed, stratum: Int, n_active: Int, n_drawn: Int, total: Int) -> Int:
    """Draw words of a stratum, and find those that can be cut; count them.

    A word found constant is constant further down the path: it stays in front of the others, where
    words are active no longer.
    """
    active, start, doc, live = hood.active, hood.start, hood.doc, hood.live
    found, is_even = hood.found, hood.is_even
    at = np.uint32(hood.border[stratum + 1] - hood.alive[stratum])
    for i in range(np.uint32(n_drawn)):
        here, there = np.uint32(at + i), np.uint32(at + i + below(state, n_active - i))
        active[here], active[there] = active[there], active[here]
    n_found, n_constant = _ZERO, _ZERO
    for i in range(np.uint32(n_drawn)):
        w = active[np.uint32(at + i)]
        first, last = start[w], start[np.uint32(w + _ONE)]
        load = add_up(doc, hood.load, first, last)
        weight = weight_of(load)
        can_be_cut = weight > 0
        if is_even[w]:
            can_be_cut = can_be_cut and weight < total
        elif weight == total:
            n = keep(doc, hood.value, live, first, last, hood.kept, hood.kept_value)
            can_be_cut = hood.kept_value[0] > hood.kept_value[np.uint32(n - _ONE)]
        # Without a branch: the place is overwritten unless the word belongs there.
        found[n_found] = w
        hood.found_load[n_found] = load
        n_found = np.uint32(n_found + np.uint32(can_be_cut))
        active[np.uint32(at + n_constant)] = w
        n_constant = np.uint32(n_constant + np.uint32(not can_be_cut))
    for i in range(n_found):
        active[np.uint32(at + n_constant + i)] = found[i]
    hood.alive[stratum] -= n_constant
    return n_found


@inlined
def offer(best: Floats, rating: Float, word: Int, cut: Float, state: Seed) -> None:
    """Make a cut the best so far, if it is better; any of equal ones with the same probability.

    In scikit-learn the word drawn first wins, and any may be: here they are not judged in turn.
    """
    if rating == best[SCORE]:
        best[TIES] += 1.0
        if below(state, best[TIES]) > 0:
            return
    elif rating > best[SCORE]:
        best[TIES] = 1.0
    else:
        return
    best[SCORE] = rating
    best[WORD] = word
    best[CUT] = cut


@inlined
def are_twins(rows: Record, hood: Record, n_docs: Int) -> bool:
    """Tell whether all documents of the node are the same."""
    first = -1
    for p in range(n_docs):
        if hood.live[p] > 0:
            if first < 0:
                first = p
            elif rows.twin[hood.row[p]] != rows.twin[hood.row[first]]:
                return False
    return True
