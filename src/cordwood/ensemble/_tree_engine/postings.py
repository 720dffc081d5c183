"""The posting lists of one node: for each word, the node's documents that contain it.

An entry is one 32-bit word: the rank of the value among the column's values above, the document's
number below (`doc_bits` of it). Index arrays are unsigned throughout, because numba tests every
signed index for being negative, which doubles the cost of these loops.

A list is never cleaned when documents leave the node. Whoever reads it drops what has left, once
and for good, so that the work is paid only for words that are looked at.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._jit import Int, Record, Words, inlined, piece

_ZERO, _ONE, _BYTE, _EIGHT = np.uint32(0), np.uint32(1), np.uint32(255), np.uint32(8)

# A list that has not been read in this tree yet: its entries are still in the table's column.
UNREAD = np.uint32(0xFFFFFFFF)

# Up to this length an insertion sort beats the passes of a radix sort.
_SHORT = 40


@piece
def start_of(feature: Int) -> Int:
    """Tell where in `span` the start of a feature's list is found."""
    return np.uint32(feature << _ONE)


@piece
def length_of(feature: Int) -> Int:
    """Tell where in `span` the length of a feature's list is found."""
    return np.uint32((feature << _ONE) + _ONE)


@inlined
def build(table: Record, scratch: Record, start: Int, end: Int, n_listed: Int) -> Int:
    """Make the lists of the documents `order[start:end]` from their rows.

    The words that occur go to `scratch.active`, whose first `n_listed` features held the words of
    the lists that these replace. Returns how many words there are.
    """
    order, span, entry, active = scratch.order, scratch.span, scratch.entry, scratch.active
    row_start, row_feature, row_entry = table.row_start, table.row_feature, table.row_entry
    for v in range(n_listed):
        span[length_of(active[v])] = _ZERO
    n_words = _ZERO
    for k in range(start, end):
        doc = order[k]
        for e in range(row_start[doc], row_start[np.uint32(doc + _ONE)]):
            feature = row_feature[e]
            length = span[length_of(feature)]
            # Without a branch: the place is overwritten unless the word is new.
            active[n_words] = feature
            n_words = np.uint32(n_words + np.uint32(length == _ZERO))
            span[length_of(feature)] = length + _ONE
    at = _ZERO
    for v in range(n_words):
        feature = active[v]
        length = span[length_of(feature)]
        span[start_of(feature)] = at
        span[length_of(feature)] = _ZERO
        at = np.uint32(at + length)
    for k in range(start, end):
        doc = order[k]
        for e in range(row_start[doc], row_start[np.uint32(doc + _ONE)]):
            feature = row_feature[e]
            length = span[length_of(feature)]
            entry[np.uint32(span[start_of(feature)] + length)] = row_entry[e] | doc
            span[length_of(feature)] = length + _ONE
    return n_words


@inlined
def fetch(
    span: Words,
    entry: Words,
    column: Words,
    live: NDArray[np.uint8],
    feature: Int,
    column_start: Int,
    column_end: Int,
    doc_mask: Int,
) -> tuple[Int, Int]:
    """Drop from a word's list what has left the node; count what stays, and its weight levels."""
    n = _ZERO
    mass = np.uint64(0)
    if span[length_of(feature)] == UNREAD:
        at = column_start
        for i in range(at, column_end):
            e = column[i]
            entry[np.uint32(at + n)] = e
            level = live[e & doc_mask]
            mass += level
            n = np.uint32(n + np.uint32(level > 0))
        span[start_of(feature)] = at
    else:
        at = span[start_of(feature)]
        for i in range(at, np.uint32(at + span[length_of(feature)])):
            e = entry[i]
            entry[np.uint32(at + n)] = e
            level = live[e & doc_mask]
            mass += level
            n = np.uint32(n + np.uint32(level > 0))
    span[length_of(feature)] = n
    return n, mass


@piece
def gather(
    order: Words, dense: Words, buffer: Words, feature: Int, zero: Int, start: Int, end: Int
) -> Int:
    """List a dense feature's entries, those other than `zero`, in `buffer`, and count them."""
    n = _ZERO
    for k in range(start, end):
        doc = order[k]
        e = dense[feature, doc]
        buffer[n] = e | doc
        n = np.uint32(n + np.uint32(e != zero))
    return n


@piece
def is_even(entries: Words, at: Int, n: Int, doc_bits: Int) -> bool:
    """Tell whether all entries of a list have the same value."""
    for i in range(np.uint32(at + _ONE), np.uint32(at + n)):
        if entries[i] >> doc_bits != entries[at] >> doc_bits:
            return False
    return True


@piece
def sort(entries: Words, at: Int, n: Int, spare: Words, tally: Words, doc_bits: Int) -> None:
    """Sort a list by value; entries of one value keep their order."""
    end = np.uint32(at + n)
    if n <= _SHORT:
        for i in range(np.uint32(at + _ONE), end):
            e = entries[i]
            rank = e >> doc_bits
            j = np.uint32(i)
            while j > at and entries[np.uint32(j - _ONE)] >> doc_bits > rank:
                entries[j] = entries[np.uint32(j - _ONE)]
                j = np.uint32(j - _ONE)
            entries[j] = e
        return
    lowest = entries[at]
    highest = lowest
    for i in range(at, end):
        lowest = min(lowest, entries[i])
        highest = max(highest, entries[i])
    lowest = lowest >> doc_bits
    widest = np.uint32((highest >> doc_bits) - lowest)
    shift = _ZERO
    while widest >> shift > _ZERO:
        tally[:] = _ZERO
        for i in range(at, end):
            digit = (np.uint32((entries[i] >> doc_bits) - lowest) >> shift) & _BYTE
            tally[digit] += _ONE
        place = _ZERO
        for bucket in range(np.uint32(256)):
            count = tally[bucket]
            tally[bucket] = place
            place = np.uint32(place + count)
        for i in range(at, end):
            e = entries[i]
            digit = (np.uint32((e >> doc_bits) - lowest) >> shift) & _BYTE
            spare[tally[digit]] = e
            tally[digit] += _ONE
        for i in range(n):
            entries[np.uint32(at + i)] = spare[i]
        shift = np.uint32(shift + _EIGHT)
