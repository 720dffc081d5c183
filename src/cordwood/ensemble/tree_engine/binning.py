"""Binning: the training matrix as the growing kernel reads it, by rows and by columns.

Each distinct value of a feature, zero included, gets a bin; bins are numbered in the order of the
values. A feature that has more distinct values than there are bin numbers gets bins of adjacent
values that hold about equally many samples. An entry is one 32-bit integer: the bin in the high
bits, the sample in the low `sample_bits` bits.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSCArrays
from cordwood._kernels.jit import Float32Array, Int, UInt32Array, helper, kernel

Int64Array: TypeAlias = NDArray[np.int64]

# A feature that is nonzero in more than this fraction of the samples is stored as a dense column:
# its posting list would be as long as the node, and would have to be rebuilt for every node.
_DENSE_FRACTION = 0.25

# Columns of at most this many distinct values are sorted by counting.
_MAX_COUNTED = 24

# Maximum size of the table of log factorials; larger ones are computed when they are needed.
_MAX_TABLE = 2**20

_ONE = np.uint32(1)
_HASH = np.uint64(0x9E3779B97F4A7C15)
_S29, _S32 = np.uint64(29), np.uint64(32)


class BinnedMatrix(NamedTuple):
    """Binned training data, by rows and by columns; shared by all threads.

    Features are ordered from the most to the least frequent, so that the columns that are read
    most are adjacent in memory. The first `n_dense` features are stored as dense columns, the
    others as lists of entries.
    """

    # Each sample's sparse features, and their entries without the sample.
    row_start: NDArray[np.uint32]
    row_feature: NDArray[np.uint32]
    row_entry: NDArray[np.uint32]
    column_start: NDArray[np.uint32]  # each sparse feature's entries, sorted by bin
    column_entry: NDArray[np.uint32]
    # (n_dense, n_samples): entries of the dense features, without the sample.
    dense_entry: NDArray[np.uint32]
    # (n_bins,): the smallest and the largest value in each bin; the bins of a feature begin at
    # `bin_start[feature]`.
    bin_min: NDArray[np.float32]
    bin_max: NDArray[np.float32]  # (n_bins,)
    bin_start: NDArray[np.int64]  # (n_columns + 1,)
    zero_bin: NDArray[np.uint32]  # (n_columns,): the bin of zero in each feature
    # (n_samples,): equal for samples that are duplicates of each other.
    duplicate_id: NDArray[np.uint32]
    column: NDArray[np.int32]  # (n_columns,): the column of the input that holds each feature
    # Logarithms of the factorials up to `n_features`, or of as many as are worth a table.
    log_factorial: NDArray[np.float64]
    # Number of low bits of an entry that hold the sample, and a mask of these bits.
    sample_bits: np.uint32
    sample_mask: np.uint32
    # Number of dense features, of features with any nonzero value, and of all features, of which
    # the input may lack columns that are zero.
    n_dense: int
    n_nonempty: int
    n_features: int

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.duplicate_id)


def bin_matrix(
    X: CSCArrays, *, n_features: int | None = None, max_bins: int | None = None
) -> BinnedMatrix:
    """Bin a training matrix."""
    # `n_features` is larger than the number of columns if columns of zeros were omitted. By default
    # each distinct value gets a bin, as long as bins fit into 32 bits together with the sample:
    # always up to 65,534 samples; 4,095 bins with a million samples; 255 bins with 16 million
    # samples.
    n_samples, n_columns = X.shape
    n_features = n_columns if n_features is None else n_features
    sample_bits = max(n_samples - 1, 1).bit_length()
    if max_bins is not None:
        sample_bits = max(sample_bits, 32 - (max_bins + 1).bit_length() + 1)
    nnz = len(X.data)
    n_entries = np.diff(X.indptr)
    column = np.argsort(-n_entries, kind="stable").astype(np.uint32)
    n_entries = n_entries[column]
    n_dense = int(np.count_nonzero(n_entries > _DENSE_FRACTION * n_samples))
    entry = np.empty(nnz, np.uint32)
    bin_min = np.empty(nnz + n_columns, np.float32)
    bin_max = np.empty(nnz + n_columns, np.float32)
    bin_start = np.empty(n_columns + 1, np.int64)
    zero_bin = np.empty(n_columns, np.uint32)
    n_bins = assign_bins(
        X.indptr,
        X.indices,
        X.data,
        column,
        np.uint32(sample_bits),
        entry,
        bin_min,
        bin_max,
        bin_start,
        zero_bin,
    )
    sample_mask = np.uint32((1 << sample_bits) - 1)
    dense_entry = np.empty((n_dense, n_samples), np.uint32)
    fill_dense_columns(
        n_entries[:n_dense], entry, zero_bin, np.uint32(sample_bits), sample_mask, dense_entry
    )
    column_start = np.zeros(n_columns + 1, np.uint32)
    np.cumsum(n_entries[n_dense:], out=column_start[n_dense + 1 :], dtype=np.uint32)
    column_entry = entry[n_entries[:n_dense].sum() :].copy()
    row_start = np.empty(n_samples + 1, np.uint32)
    row_feature = np.empty_like(column_entry)
    row_entry = np.empty_like(column_entry)
    transpose_columns(column_start, column_entry, sample_mask, row_start, row_feature, row_entry)
    return BinnedMatrix(
        row_start=row_start,
        row_feature=row_feature,
        row_entry=row_entry,
        column_start=column_start,
        column_entry=column_entry,
        dense_entry=dense_entry,
        bin_min=bin_min[:n_bins].copy(),
        bin_max=bin_max[:n_bins].copy(),
        bin_start=bin_start,
        zero_bin=zero_bin,
        duplicate_id=_find_duplicates(row_start, row_feature, row_entry, dense_entry),
        column=column.astype(np.int32),
        log_factorial=np.concatenate(
            [[0.0], np.cumsum(np.log(np.arange(1, min(n_features, _MAX_TABLE) + 1.0)))]
        ),
        sample_bits=np.uint32(sample_bits),
        sample_mask=sample_mask,
        n_dense=n_dense,
        n_nonempty=int(np.count_nonzero(n_entries)),
        n_features=n_features,
    )


def _find_duplicates(
    row_start: NDArray[np.uint32],
    row_feature: NDArray[np.uint32],
    row_entry: NDArray[np.uint32],
    dense_entry: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Return an id for each sample; samples of equal id are duplicates."""
    # The reverse holds unless hashes collide: then some duplicates may get different ids, which
    # costs time but never changes a tree.
    rows = row_start, row_feature, row_entry, dense_entry
    hashes = np.empty(len(row_start) - 1, np.uint64)
    hash_rows(*rows, hashes)
    _, first, duplicate_id = np.unique(hashes, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[duplicate_id] != np.arange(len(duplicate_id)))
    equal = np.empty(len(repeated), np.bool_)
    compare_rows(*rows, repeated, first[duplicate_id[repeated]], equal)
    collided = repeated[~equal]
    duplicate_id[collided] = len(first) + np.arange(len(collided))
    return duplicate_id.astype(np.uint32)


@helper
def sort_column(
    values: Float32Array,
    order: Int64Array,
    spare: Int64Array,
    distinct: Float32Array,
    count: Int64Array,
) -> Int64Array:
    """Return the stable order of a column by value, in `order` or in `spare`."""
    # Columns of counts are sorted already or have few distinct values, which are sorted by
    # counting. Other columns are sorted by merging, implemented here because numba's sort takes two
    # seconds to compile.
    n = len(values)
    is_sorted = True
    for i in range(n):
        order[i] = i
        is_sorted = is_sorted and (i == 0 or values[i - 1] <= values[i])
    if is_sorted or counting_sort(values, order, spare, distinct, count):
        return order
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle, end = min(first + width, n), min(first + 2 * width, n)
            left, right = first, middle
            for k in range(first, end):
                if left < middle and (right == end or values[order[left]] <= values[order[right]]):
                    spare[k] = order[left]
                    left += 1
                else:
                    spare[k] = order[right]
                    right += 1
        order, spare = spare, order
        width *= 2
    return order


@helper
def counting_sort(
    values: Float32Array,
    order: Int64Array,
    slot: Int64Array,
    distinct: Float32Array,
    count: Int64Array,
) -> bool:
    """Sort a column by counting its distinct values; False if these are too many."""
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
    # The entries of a value begin after those of all smaller values.
    start = count[n_distinct : 2 * n_distinct]
    for k in range(n_distinct):
        start[k] = 0
        for j in range(n_distinct):
            if distinct[j] < distinct[k]:
                start[k] += count[j]
    for i in range(len(values)):
        order[start[slot[i]]] = i
        start[slot[i]] += 1
    return True


@kernel
def assign_bins(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Float32Array,
    columns: UInt32Array,
    sample_bits: Int,
    entry: UInt32Array,
    bin_min: Float32Array,
    bin_max: Float32Array,
    bin_start: NDArray[np.int64],
    zero_bin: UInt32Array,
) -> Int:
    """Write the entries of each column, sorted by value; return the total number of bins."""
    # Column `columns[f]` of the CSC input becomes feature f. `bin_min` and `bin_max` receive the
    # range of values of each bin; the bins of feature f begin at `bin_start[f]`.
    max_bins = (np.int64(1) << np.int64(np.uint32(32) - sample_bits)) - 1
    max_length = 0
    for column in range(len(indptr) - 1):
        max_length = max(max_length, indptr[column + 1] - indptr[column])
    buffer, spare = np.empty(max_length, np.int64), np.empty(max_length, np.int64)
    distinct = np.empty(_MAX_COUNTED, np.float32)
    count = np.empty(2 * _MAX_COUNTED, np.int64)
    n_bins = 0
    at = 0
    for feature in range(len(columns)):
        column = columns[feature]
        first, last = indptr[column], indptr[column + _ONE]
        bin_start[feature] = n_bins
        n = last - first
        order = sort_column(data[first:last], buffer, spare, distinct, count)
        n_distinct = 1
        n_negative = 0
        for i in range(n):
            value = data[first + order[i]]
            n_negative += value < 0.0
            n_distinct += i == 0 or value != data[first + order[i - 1]]
        # The minimum number of samples in a bin; 0 if each distinct value can have its own bin.
        min_size = 0 if n_distinct <= max_bins else n // (max_bins - 3) + 1
        bin_idx = np.uint32(0)
        size = 0
        for i in range(n + 1):
            if i == n_negative:  # zero is next in the order, and always has a bin of its own
                bin_idx = np.uint32(n_bins - bin_start[feature])
                zero_bin[feature] = bin_idx
                bin_min[n_bins] = 0.0
                bin_max[n_bins] = 0.0
                n_bins += 1
                size = 0
            if i == n:
                break
            value = data[first + order[i]]
            is_new = i == n_negative or i == 0 or value != data[first + order[i - 1]]
            if size == 0 or (is_new and size >= min_size):
                bin_idx = np.uint32(n_bins - bin_start[feature])
                bin_min[n_bins] = value
                n_bins += 1
                size = 0
            bin_max[n_bins - 1] = value
            size += 1
            entry[at] = (bin_idx << sample_bits) | np.uint32(indices[first + order[i]])
            at += 1
    bin_start[len(columns)] = n_bins
    return n_bins


@kernel
def fill_dense_columns(
    n_entries: NDArray[np.int64],
    entry: UInt32Array,
    zero_bin: UInt32Array,
    sample_bits: Int,
    sample_mask: Int,
    dense: UInt32Array,
) -> None:
    """Write the entries of the first features as dense columns, zeros included."""
    at = 0
    for feature in range(len(n_entries)):
        dense[feature, :] = zero_bin[feature] << sample_bits
        for i in range(at, at + n_entries[feature]):
            sample = entry[i] & sample_mask
            dense[feature, sample] = entry[i] ^ sample
        at += n_entries[feature]


@kernel
def transpose_columns(
    column_start: UInt32Array,
    column_entry: UInt32Array,
    sample_mask: Int,
    row_start: UInt32Array,
    row_feature: UInt32Array,
    row_entry: UInt32Array,
) -> None:
    """Write the entries of columns by rows, with sorted features; fills `row_start` too."""
    n_features = len(column_start) - 1
    row_start[:] = 0
    for i in range(len(column_entry)):
        row_start[np.uint32((column_entry[i] & sample_mask) + _ONE)] += _ONE
    for sample in range(1, len(row_start)):
        row_start[sample] += row_start[sample - 1]
    cursor = row_start[:-1].copy()
    for feature in range(n_features):
        for i in range(column_start[feature], column_start[feature + 1]):
            sample = column_entry[i] & sample_mask
            at = cursor[sample]
            row_feature[at] = feature
            row_entry[at] = column_entry[i] ^ sample
            cursor[sample] = at + _ONE


@kernel
def hash_rows(
    row_start: UInt32Array,
    row_feature: UInt32Array,
    row_entry: UInt32Array,
    dense: UInt32Array,
    out: NDArray[np.uint64],
) -> None:
    """Hash the features and bins of each sample, so that duplicates get equal hashes."""
    for sample in range(len(out)):
        total = np.uint64(0)
        for i in range(row_start[sample], row_start[sample + 1]):
            total += mix((np.uint64(row_feature[i]) << _S32) | np.uint64(row_entry[i]))
        out[sample] = total
    for feature in range(len(dense)):
        for sample in range(len(out)):
            out[sample] += mix((np.uint64(feature) << _S32) | np.uint64(dense[feature, sample]))


@kernel
def compare_rows(
    row_start: UInt32Array,
    row_feature: UInt32Array,
    row_entry: UInt32Array,
    dense: UInt32Array,
    samples: NDArray[np.int64],
    others: NDArray[np.int64],
    equal: NDArray[np.bool_],
) -> None:
    """Set `equal` where samples of a pair are duplicates of each other."""
    for pair in range(len(samples)):
        first, second = row_start[samples[pair]], row_start[others[pair]]
        n = row_start[samples[pair] + 1] - first
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
            same = dense[feature, samples[pair]] == dense[feature, others[pair]]
            feature += 1
        equal[pair] = same


@helper
def mix(x: np.uint64) -> np.uint64:
    """Mix the bits of an integer."""
    x = (x ^ (x >> _S29)) * _HASH
    x = (x ^ (x >> _S32)) * _HASH
    return x ^ (x >> _S29)
