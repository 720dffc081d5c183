"""Posting lists of one node: for each feature, the node's samples in which it is nonzero.

An entry is one 32-bit integer: the bin of the value in the high bits, the sample in the low
`sample_bits` bits. Indices are unsigned throughout, because numba tests every signed index for
being negative, which doubles the cost of these loops.

A list is not updated when samples leave the node. Entries of samples that have left are removed
when the list is read the next time, so the work is done only for features that are drawn.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.jit import Int, Record, UInt32Array, helper, inlined

_ZERO, _ONE, _BYTE, _EIGHT = np.uint32(0), np.uint32(1), np.uint32(255), np.uint32(8)

# Length of a list that has not been read for this tree yet: its entries are still in the column of
# the binned matrix.
UNREAD = np.uint32(0xFFFFFFFF)

# Up to this length insertion sort is faster than radix sort.
_SHORT = 40


@helper
def start_slot(feature: Int) -> Int:
    """Return the index in `span` of the start of a feature's list."""
    return np.uint32(feature << _ONE)


@helper
def length_slot(feature: Int) -> Int:
    """Return the index in `span` of the length of a feature's list."""
    return np.uint32((feature << _ONE) + _ONE)


@inlined
def build_postings(binned: Record, workspace: Record, start: Int, end: Int, n_listed: Int) -> Int:
    """Build the lists of the samples `samples[start:end]` from their rows."""
    # Writes the features that occur to `workspace.active`, whose first `n_listed` entries are the
    # features of the lists that are replaced. Returns the number of features.
    samples, span = workspace.samples, workspace.span
    entry, active = workspace.entry, workspace.active
    row_start, row_feature, row_entry = binned.row_start, binned.row_feature, binned.row_entry
    for v in range(n_listed):
        span[length_slot(active[v])] = _ZERO
    n_features = _ZERO
    for k in range(start, end):
        sample = samples[k]
        for e in range(row_start[sample], row_start[np.uint32(sample + _ONE)]):
            feature = row_feature[e]
            length = span[length_slot(feature)]
            # Branchless: the entry is overwritten unless the feature is new.
            active[n_features] = feature
            n_features = np.uint32(n_features + np.uint32(length == _ZERO))
            span[length_slot(feature)] = length + _ONE
    at = _ZERO
    for v in range(n_features):
        feature = active[v]
        length = span[length_slot(feature)]
        span[start_slot(feature)] = at
        span[length_slot(feature)] = _ZERO
        at = np.uint32(at + length)
    for k in range(start, end):
        sample = samples[k]
        for e in range(row_start[sample], row_start[np.uint32(sample + _ONE)]):
            feature = row_feature[e]
            length = span[length_slot(feature)]
            entry[np.uint32(span[start_slot(feature)] + length)] = row_entry[e] | sample
            span[length_slot(feature)] = length + _ONE
    return n_features


@inlined
def read_postings(
    span: UInt32Array,
    entry: UInt32Array,
    column: UInt32Array,
    weight_level: NDArray[np.uint8],
    feature: Int,
    column_start: Int,
    column_end: Int,
    sample_mask: Int,
) -> tuple[Int, Int]:
    """Remove samples that have left the node from a list; return its length and sum of levels."""
    n = _ZERO
    levels = np.uint64(0)
    if span[length_slot(feature)] == UNREAD:
        at = column_start
        for i in range(at, column_end):
            e = column[i]
            entry[np.uint32(at + n)] = e
            level = weight_level[e & sample_mask]
            levels += level
            n = np.uint32(n + np.uint32(level > 0))
        span[start_slot(feature)] = at
    else:
        at = span[start_slot(feature)]
        for i in range(at, np.uint32(at + span[length_slot(feature)])):
            e = entry[i]
            entry[np.uint32(at + n)] = e
            level = weight_level[e & sample_mask]
            levels += level
            n = np.uint32(n + np.uint32(level > 0))
    span[length_slot(feature)] = n
    return n, levels


@helper
def gather_dense(
    samples: UInt32Array,
    dense: UInt32Array,
    buffer: UInt32Array,
    feature: Int,
    zero: Int,
    start: Int,
    end: Int,
) -> Int:
    """Write the entries of a dense feature other than `zero` to `buffer`; return their number."""
    n = _ZERO
    for k in range(start, end):
        sample = samples[k]
        e = dense[feature, sample]
        buffer[n] = e | sample
        n = np.uint32(n + np.uint32(e != zero))
    return n


@helper
def is_constant(entries: UInt32Array, at: Int, n: Int, sample_bits: Int) -> bool:
    """Return whether all entries of a list are in the same bin."""
    for i in range(np.uint32(at + _ONE), np.uint32(at + n)):
        if entries[i] >> sample_bits != entries[at] >> sample_bits:
            return False
    return True


@helper
def sort_by_bin(
    entries: UInt32Array,
    at: Int,
    n: Int,
    spare: UInt32Array,
    digit_start: UInt32Array,
    sample_bits: Int,
) -> None:
    """Sort a list by bin; entries of the same bin keep their order."""
    end = np.uint32(at + n)
    if n <= _SHORT:
        for i in range(np.uint32(at + _ONE), end):
            e = entries[i]
            bin_idx = e >> sample_bits
            j = np.uint32(i)
            while j > at and entries[np.uint32(j - _ONE)] >> sample_bits > bin_idx:
                entries[j] = entries[np.uint32(j - _ONE)]
                j = np.uint32(j - _ONE)
            entries[j] = e
        return
    lowest = entries[at]
    highest = lowest
    for i in range(at, end):
        lowest = min(lowest, entries[i])
        highest = max(highest, entries[i])
    lowest = lowest >> sample_bits
    bin_range = np.uint32((highest >> sample_bits) - lowest)
    shift = _ZERO
    while bin_range >> shift > _ZERO:
        digit_start[:] = _ZERO
        for i in range(at, end):
            digit = (np.uint32((entries[i] >> sample_bits) - lowest) >> shift) & _BYTE
            digit_start[digit] += _ONE
        total = _ZERO
        for bucket in range(np.uint32(256)):
            count = digit_start[bucket]
            digit_start[bucket] = total
            total = np.uint32(total + count)
        for i in range(at, end):
            e = entries[i]
            digit = (np.uint32((e >> sample_bits) - lowest) >> shift) & _BYTE
            spare[digit_start[digit]] = e
            digit_start[digit] += _ONE
        for i in range(n):
            entries[np.uint32(at + i)] = spare[i]
        shift = np.uint32(shift + _EIGHT)
