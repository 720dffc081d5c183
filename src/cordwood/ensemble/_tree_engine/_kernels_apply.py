"""Documents down the trees, sixty-four at a time: the leaves that they reach, and these votes.

A document lacks most of the words that a tree asks for, so the documents of a block stay together
for most of their way. A block is turned round first: for each word one machine word tells which
documents have it, and a node divides the documents that are at it by a single "and".
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import borrow, count_bits, lowest_bit
from cordwood._jit import Floats, Int, Record, Singles, inlined, kernel, piece

BLOCK = 64

_U0, _U1 = np.uint64(0), np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def turn(rows: Record, first: Int, last: Int, block: Record) -> Int:
    """Turn the rows from first to last into columns; returns the number of those with a value.

    Bit r of `present` is set where row first + r has a value; these stand in `value` from `start`
    on, in the order of the rows; `least` is the least of them. `feature` lists the columns.
    """
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    present, start, least, value = block.present, block.start, block.least, block.value
    n_present = 0
    for row in range(first, last):
        bit = _U1 << np.uint64(row - first)
        for i in range(indptr[row], indptr[row + 1]):
            column = np.uint64(indices[i])
            if present[column] == _U0:
                block.feature[n_present] = indices[i]
                n_present += 1
                least[column] = data[i]
            present[column] |= bit
            least[column] = min(least[column], data[i])
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
def clear(block: Record, n_present: Int) -> None:
    """Make a block ready for other rows."""
    for i in range(n_present):
        block.present[np.uint64(block.feature[i])] = _U0


@piece
def find_above(
    docs: np.uint64, present: np.uint64, start: np.int64, value: Singles, threshold: np.float32
) -> Int:
    """Find those of `docs`, all of which have a value, whose value is above the threshold."""
    above = _U0
    while docs:
        doc = lowest_bit(docs)
        bit = _U1 << doc
        if value[np.uint64(start) + count_bits(present & (bit - _U1))] > threshold:
            above |= bit
        docs &= docs - _U1
    return above


@piece
def place_docs(docs: np.uint64, node: Int, leaf_of: NDArray[np.int64]) -> None:
    """Note the node that refers to the leaf of some documents."""
    while docs:
        leaf_of[lowest_bit(docs)] = node
        docs &= docs - _U1


@piece
def descend(
    split: NDArray[Any],
    threshold: Singles,
    other: NDArray[Any],
    root: Int,
    docs: np.uint64,
    present: NDArray[np.uint64],
    start: NDArray[np.int64],
    least: Singles,
    value: Singles,
    waiting: NDArray[np.uint64],
    leaf_of: NDArray[np.int64],
) -> None:
    """Follow documents from a tree's root; notes the nodes that refer to their leaves.

    `split` holds twice the feature, plus one where the next node is for values above the
    threshold; `other` is the child that is not next, or negative where this is a leaf. A node that
    is a leaf is one like all others: of minus infinity, with no value left for the next node. At
    most as many groups of documents can wait as there are documents.
    """
    n_waiting = 0
    node = np.uint64(root)
    while True:
        code = np.uint64(split[node])
        feature = code >> _U1
        cut = threshold[node]
        here = docs
        holders = present[feature]
        having = docs & holders
        above = having
        if having and not least[feature] > cut:
            above = find_above(having, holders, start[feature], value, cut)
        if np.float32(0.0) > cut:
            above |= docs & ~holders
        docs = above if code & _U1 else docs & ~above
        aside = here ^ docs
        if aside:
            jump = np.int64(other[node])
            if jump < 0:
                place_docs(aside, np.int64(node), leaf_of)
            else:
                waiting[n_waiting, 0] = np.uint64(root) + np.uint64(jump)
                waiting[n_waiting, 1] = aside
                n_waiting += 1
        node += _U1
        if docs == _U0:
            if n_waiting == 0:
                return
            n_waiting -= 1
            node = waiting[n_waiting, 0]
            docs = waiting[n_waiting, 1]


@piece
def add_shares(
    mixed_start: NDArray[np.int64],
    mixed_class: NDArray[np.int32],
    mixed_weight: Singles,
    leaf: Int,
    factor: np.float64,
    votes: Floats,
    row: Int,
) -> None:
    """Add the class frequencies of a mixed leaf, times a factor, to a row's votes."""
    # Summed here, in double precision, so that the shares sum to one.
    total = 0.0
    for i in range(mixed_start[leaf], mixed_start[leaf + 1]):
        total += np.float64(mixed_weight[i])
    for i in range(mixed_start[leaf], mixed_start[leaf + 1]):
        votes[row, mixed_class[i]] += factor * (np.float64(mixed_weight[i]) / total)


@piece
def pick_docs(bags: NDArray[np.uint8], tree: Int, first: Int, last: Int) -> Int:
    """Pick the rows of a block that are not in a tree's bag."""
    docs = _ALL >> np.uint64(BLOCK - (last - first))
    if len(bags) == 0:
        return docs
    bag = _U0
    for i in range((last - first + 7) >> 3):
        bag |= np.uint64(bags[tree, (first >> 3) + i]) << np.uint64(8 * i)
    return docs & ~bag


@inlined
def ask_tree(
    forest: Record, tree: Int, bags: NDArray[np.uint8], begin: Int, end: Int, block: Record
) -> Int:
    """Send a block down a tree, but for the documents in its bag; returns those that went."""
    docs = pick_docs(bags, tree, begin, end)
    if docs:
        descend(
            forest.split,
            forest.threshold,
            forest.other,
            forest.node_start[tree],
            docs,
            block.present,
            block.start,
            block.least,
            block.value,
            block.waiting,
            block.leaf_of,
        )
    return docs


@kernel
def vote(
    forest: Record,
    rows: Record,
    first: Int,
    last: Int,
    bags: NDArray[np.uint8],
    factor: Floats,
    block: Record,
    votes: Floats,
    n_votes: NDArray[np.int64],
) -> None:
    """Add up the leaf frequencies of the trees, in their order, for the rows from first to last.

    Each tree's are multiplied by its `factor`. A row whose bit is set in a tree's row of `bags`
    gets no vote of that tree; with no rows in `bags` every tree votes. `first` is a multiple of
    `BLOCK`. `block.present` is all zeros, and is so again at the end.
    """
    forest, rows, block = borrow(forest), borrow(rows), borrow(block)
    n_classes = votes.shape[1]
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        n_present = turn(rows, begin, end, block)
        for tree in range(len(forest.node_start) - 1):
            docs = ask_tree(forest, tree, bags, begin, end, block)
            while docs:
                doc = lowest_bit(docs)
                docs &= docs - _U1
                row = np.uint64(begin) + doc
                code = ~np.int64(forest.other[np.uint64(block.leaf_of[doc])])
                if code < n_classes:
                    votes[row, np.uint64(code)] += factor[tree]
                else:
                    add_shares(
                        forest.mixed_start,
                        forest.mixed_class,
                        forest.mixed_weight,
                        forest.mixed_first[tree] + code - n_classes,
                        factor[tree],
                        votes,
                        row,
                    )
                n_votes[row] += 1
        clear(block, n_present)


@inlined
def note_leaves(
    forest: Record,
    bags: NDArray[np.uint8],
    begin: Int,
    end: Int,
    block: Record,
    leaves: NDArray[np.int32],
) -> None:
    """Send a block, turned already, down all trees, and note the leaves that it reaches."""
    for tree in range(len(forest.node_start) - 1):
        docs = ask_tree(forest, tree, bags, begin, end, block)
        while docs:
            doc = lowest_bit(docs)
            docs &= docs - _U1
            leaves[tree, np.uint64(begin) + doc] = block.leaf_of[doc]


@kernel
def reach(
    forest: Record,
    rows: Record,
    first: Int,
    last: Int,
    bags: NDArray[np.uint8],
    block: Record,
    leaves: NDArray[np.int32],
) -> None:
    """Note the leaf that each row from first to last reaches in each tree.

    A leaf goes by the node that refers to it; what a tree has in its bag is left as it is. All else
    is as in `vote`.
    """
    forest, rows, block = borrow(forest), borrow(rows), borrow(block)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        n_present = turn(rows, begin, end, block)
        note_leaves(forest, bags, begin, end, block, leaves)
        clear(block, n_present)
