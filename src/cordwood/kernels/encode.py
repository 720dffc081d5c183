"""Values to ranks, columns to entries: the training data as the growing kernel reads it.

A column's values become ranks in their order, zero among them. Where a column has more distinct
values than ranks fit above the document's number, neighbouring values share a rank, evenly many
documents to each.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.jit import kernel, piece
from cordwood.kernels.types import Int, Singles, Words

_ONE = np.uint32(1)
_HASH = np.uint64(0x9E3779B97F4A7C15)
_S29, _S32 = np.uint64(29), np.uint64(32)


@piece
def sort_column(values: Singles) -> NDArray[np.int64]:
    """Order a column by value, equal values in their order; most columns of counts are sorted.

    A merge sort of our own, because numba's takes two seconds to compile.
    """
    n = len(values)
    order, spare = np.empty(n, np.int64), np.empty(n, np.int64)
    rising = True
    for i in range(n):
        order[i] = i
        rising = rising and (i == 0 or values[i - 1] <= values[i])
    width = n if rising else 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle, end = min(first + width, n), min(first + 2 * width, n)
            left, right = first, middle
            for place in range(first, end):
                if left < middle and (right == end or values[order[left]] <= values[order[right]]):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
        order, spare = spare, order
        width *= 2
    return order


@kernel
def rank_values(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Singles,
    columns: Words,
    doc_bits: Int,
    entry: Words,
    least: Singles,
    greatest: Singles,
    value_start: NDArray[np.int64],
    zero_rank: Words,
) -> Int:
    """Write each column's entries, sorted by value; return how many ranks there are in all.

    Column `columns[f]` of the CSC input becomes feature f. `least` and `greatest` receive the range
    of values of each rank, feature after feature from `value_start[f]` on.
    """
    n_ranks_at_most = (np.int64(1) << np.int64(np.uint32(32) - doc_bits)) - 1
    n_values = 0
    at = 0
    for feature in range(len(columns)):
        column = columns[feature]
        first, last = indptr[column], indptr[column + _ONE]
        value_start[feature] = n_values
        n = last - first
        order = sort_column(data[first:last])
        n_distinct = 1
        n_below = 0
        for i in range(n):
            value = data[first + order[i]]
            n_below += value < 0.0
            n_distinct += i == 0 or value != data[first + order[i - 1]]
        # Evenly many documents to a rank; with room for all values, a rank for each.
        share = 0 if n_distinct <= n_ranks_at_most else n // (n_ranks_at_most - 3) + 1
        rank = np.uint32(0)
        n_here = 0
        for i in range(n + 1):
            if i == n_below:  # zero comes here in the order, and always has a rank of its own
                rank = np.uint32(n_values - value_start[feature])
                zero_rank[feature] = rank
                least[n_values] = 0.0
                greatest[n_values] = 0.0
                n_values += 1
                n_here = 0
            if i == n:
                break
            value = data[first + order[i]]
            fresh = i == n_below or i == 0 or value != data[first + order[i - 1]]
            if n_here == 0 or (fresh and n_here >= share):
                rank = np.uint32(n_values - value_start[feature])
                least[n_values] = value
                n_values += 1
                n_here = 0
            greatest[n_values - 1] = value
            n_here += 1
            entry[at] = (rank << doc_bits) | np.uint32(indices[first + order[i]])
            at += 1
    value_start[len(columns)] = n_values
    return n_values


@kernel
def spread_dense(
    n_entries: NDArray[np.int64],
    entry: Words,
    zero_rank: Words,
    doc_bits: Int,
    doc_mask: Int,
    dense: Words,
) -> None:
    """Lay out the first features' entries document by document, zeros included."""
    at = 0
    for feature in range(len(n_entries)):
        dense[feature, :] = zero_rank[feature] << doc_bits
        for i in range(at, at + n_entries[feature]):
            doc = entry[i] & doc_mask
            dense[feature, doc] = entry[i] ^ doc
        at += n_entries[feature]


@kernel
def spread_rows(
    column_start: Words,
    column_entry: Words,
    doc_mask: Int,
    row_start: Words,
    row_feature: Words,
    row_entry: Words,
) -> None:
    """Write the columns' entries by rows, features in their order; `row_start` is made here."""
    n_features = len(column_start) - 1
    row_start[:] = 0
    for i in range(len(column_entry)):
        row_start[np.uint32((column_entry[i] & doc_mask) + _ONE)] += _ONE
    for doc in range(1, len(row_start)):
        row_start[doc] += row_start[doc - 1]
    cursor = row_start[:-1].copy()
    for feature in range(n_features):
        for i in range(column_start[feature], column_start[feature + 1]):
            doc = column_entry[i] & doc_mask
            place = cursor[doc]
            row_feature[place] = feature
            row_entry[place] = column_entry[i] ^ doc
            cursor[doc] = place + _ONE


@kernel
def hash_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: Words, out: NDArray[np.uint64]
) -> None:
    """Hash each CSC row's features and values, so that equal rows get equal numbers.

    The entries of a row are mixed and added, so that the order of the columns does not matter.
    """
    out[:] = 0
    for column in range(len(indptr) - 1):
        for i in range(indptr[column], indptr[column + 1]):
            x = (np.uint64(column) << _S32) | np.uint64(data[i])
            x = (x ^ (x >> _S29)) * _HASH
            x = (x ^ (x >> _S32)) * _HASH
            out[indices[i]] += x ^ (x >> _S29)
