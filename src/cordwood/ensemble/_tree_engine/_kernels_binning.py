"""Values to ranks, columns to entries: the training data as the growing kernel reads it.

A column's values become ranks in their order, zero among them. Where a column has more distinct
values than ranks fit above the document's number, neighbouring values share a rank, evenly many
documents to each.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cordwood._jit import Int, Singles, Words, kernel, piece

Places: TypeAlias = NDArray[np.int64]

_ONE = np.uint32(1)
_HASH = np.uint64(0x9E3779B97F4A7C15)
# Columns of so many distinct values at most are sorted by counting.
_FEW = 24
_S29, _S32 = np.uint64(29), np.uint64(32)


@piece
def sort_column(
    values: Singles, order: Places, spare: Places, distinct: Singles, count: Places
) -> Places:
    """Order a column by value, equal values in their order, in one of the first two arrays.

    Columns of counts are sorted already or hold few values, which are counted. What is left is
    merged, by a sort of our own, because numba's takes two seconds to compile.
    """
    n = len(values)
    rising = True
    for i in range(n):
        order[i] = i
        rising = rising and (i == 0 or values[i - 1] <= values[i])
    if rising or count_out(values, order, spare, distinct, count):
        return order
    width = 1
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


@piece
def count_out(
    values: Singles, order: Places, slot: Places, distinct: Singles, count: Places
) -> bool:
    """Order a column of few distinct values by counting them; False where they are not so few."""
    n_distinct = 0
    for i in range(len(values)):
        k = 0
        while k < n_distinct and distinct[k] != values[i]:
            k += 1
        if k == n_distinct:
            if k == len(distinct):
                return False
            distinct[k] = values[i]
            count[k] = 0
            n_distinct += 1
        slot[i] = k
        count[k] += 1
    # Each value's entries begin behind those of all lesser ones.
    start = count[n_distinct : 2 * n_distinct]
    for k in range(n_distinct):
        start[k] = 0
        for other in range(n_distinct):
            if distinct[other] < distinct[k]:
                start[k] += count[other]
    for i in range(len(values)):
        order[start[slot[i]]] = i
        start[slot[i]] += 1
    return True


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
    longest = 0
    for column in range(len(indptr) - 1):
        longest = max(longest, indptr[column + 1] - indptr[column])
    room, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    distinct, count = np.empty(_FEW, np.float32), np.empty(2 * _FEW, np.int64)
    n_values = 0
    at = 0
    for feature in range(len(columns)):
        column = columns[feature]
        first, last = indptr[column], indptr[column + _ONE]
        value_start[feature] = n_values
        n = last - first
        order = sort_column(data[first:last], room, spare, distinct, count)
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
    row_start: Words,
    row_feature: Words,
    row_entry: Words,
    dense: Words,
    out: NDArray[np.uint64],
) -> None:
    """Hash each document's features and ranks, so that equal rows get equal numbers."""
    for doc in range(len(out)):
        total = np.uint64(0)
        for i in range(row_start[doc], row_start[doc + 1]):
            total += mix((np.uint64(row_feature[i]) << _S32) | np.uint64(row_entry[i]))
        out[doc] = total
    for feature in range(len(dense)):
        for doc in range(len(out)):
            out[doc] += mix((np.uint64(feature) << _S32) | np.uint64(dense[feature, doc]))


@kernel
def compare_rows(
    row_start: Words,
    row_feature: Words,
    row_entry: Words,
    dense: Words,
    docs: NDArray[np.int64],
    others: NDArray[np.int64],
    equal: NDArray[np.bool_],
) -> None:
    """Tell for each pair of documents whether their rows are the same."""
    for pair in range(len(docs)):
        first, second = row_start[docs[pair]], row_start[others[pair]]
        n = row_start[docs[pair] + 1] - first
        same = n == row_start[others[pair] + 1] - second
        i = 0
        while same and i < n:
            same = (
                row_feature[first + i] == row_feature[second + i]
                and row_entry[first + i] == row_entry[second + i]
            )
            i += 1
        feature = 0
        while same and feature < len(dense):
            same = dense[feature, docs[pair]] == dense[feature, others[pair]]
            feature += 1
        equal[pair] = same


@piece
def mix(x: np.uint64) -> np.uint64:
    """Scramble the bits of a number."""
    x = (x ^ (x >> _S29)) * _HASH
    x = (x ^ (x >> _S32)) * _HASH
    return x ^ (x >> _S29)
