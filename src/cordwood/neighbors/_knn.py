"""Kernels of exact k-nearest-neighbor search in sparse data.

Cosine similarities are accumulated feature by feature over an inverted index, in the order of the
query's features. Duplicate samples therefore have equal scores to the last bit, and the scores of a
query do not depend on the other queries of a block. scikit-learn's brute force guarantees neither,
and is several times slower on text.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import borrow
from cordwood._kernels.jit import Float, Float32Array, Float64Array, Int, Record, helper, kernel

_U1 = np.uint64(1)
_LOW_BITS = np.int64(2**32 - 1)
_MAGNITUDE = np.int32(2**31 - 1)

# Smaller cosines are rounding errors of orthogonal vectors.
_MIN_COSINE = 1e-6

# Bounds of the largest squared distance between which single precision has the range to compare it
# with those of near neighbors.
_MIN_SQUARED, _MAX_SQUARED = 2.0**-64, 2.0**120

# With more than this many samples per neighbor, a subsample of every 16th sample is scored first
# to find a threshold.
_MIN_SAMPLES_PER_NEIGHBOR, _STRIDE = 16, 16


@kernel
def normalize_samples(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Float32Array,
    idf: Float64Array,
    log_counts: bool,
    out: Float32Array,
) -> None:
    """Multiply the values of each CSR sample by `idf` and scale the sample to unit length."""
    # With `log_counts`, a value tf is replaced by 1 + ln tf first. All-zero samples stay zero.
    for sample in range(len(indptr) - 1):
        squares = 0.0
        for i in range(indptr[sample], indptr[sample + 1]):
            value = term_weight(data[i], idf[indices[i]], log_counts)
            squares += value * value
        scale = 1.0 / np.sqrt(squares) if squares > 0.0 else 0.0
        for i in range(indptr[sample], indptr[sample + 1]):
            out[i] = np.float32(scale * term_weight(data[i], idf[indices[i]], log_counts))


@helper
def term_weight(value: Float, idf: Float, log_counts: bool) -> Float:
    """Return the weight of one value before normalization."""
    tf = np.float64(value)
    return (1.0 + np.log(tf)) * idf if log_counts else tf * idf


@kernel
def find_by_cosine(
    index: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Float32Array,
    query_groups: NDArray[np.int64],
    groups: NDArray[np.int64],
    scores: Float32Array,
    keys: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    similarities: Float64Array,
) -> None:
    """Find the indexed samples with the largest positive cosine to each query."""
    # Queries are CSR samples of unit length. Samples of a query's own group, and of the group -1,
    # are excluded. `neighbors` is -1 where there are no more neighbors. `scores` is a buffer of
    # zeros, one for each indexed sample, in single precision, because twice as many fit the
    # processor's cache.
    index = borrow(index)
    start, posting, weight = index.start, index.posting, index.weight
    dense_row, dense = index.dense_row, index.dense
    for query in range(len(indptr) - 1):
        for i in range(indptr[query], indptr[query + 1]):
            feature = np.uint64(indices[i])
            value = data[i]
            if dense_row[feature] >= 0:
                column = dense[dense_row[feature]]
                for sample in range(len(scores)):
                    scores[sample] += value * column[sample]
            else:
                for j in range(start[feature], start[feature + _U1]):
                    scores[posting[j]] += value * weight[j]
        own_group = query_groups[query]
        select_top(
            scores, _MIN_COSINE, groups, own_group, keys, neighbors[query], similarities[query]
        )
        scores[:] = 0.0


@kernel
def find_by_distance(
    index: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Float32Array,
    query_groups: NDArray[np.int64],
    groups: NDArray[np.int64],
    x: Float64Array,
    scores: Float64Array,
    keys: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    similarities: Float64Array,
) -> None:
    """Find the indexed samples with the smallest Euclidean distance to each query."""
    # Like `find_by_cosine`, but `similarities` are negated squared distances, and `x` is a buffer
    # of zeros, one for each feature. Squared distances are computed in double precision and
    # compared in single precision, after scaling them by a power of two if they are outside of its
    # range.
    index = borrow(index)
    sample_start, column, stored = index.indptr, index.indices, index.data
    for query in range(len(indptr) - 1):
        query_norm = 0.0
        for i in range(indptr[query], indptr[query + 1]):
            value = np.float64(data[i])
            x[indices[i]] = value
            query_norm += value * value
        largest = 0.0
        for sample in range(len(sample_start) - 1):
            squared, shared_norm = 0.0, 0.0
            for i in range(sample_start[sample], sample_start[sample + 1]):
                value = x[column[i]]
                difference = value - stored[i]
                squared += difference * difference
                shared_norm += value * value
            # The sample is zero in the remaining features of the query.
            squared += max(query_norm - shared_norm, 0.0)
            scores[sample] = -squared
            largest = max(largest, squared)
        scale = 1.0
        if largest > _MAX_SQUARED or 0.0 < largest < _MIN_SQUARED:
            scale = 2.0 ** -np.floor(np.log2(largest))
            for sample in range(len(scores)):
                scores[sample] *= scale
        own_group = query_groups[query]
        select_top(scores, -np.inf, groups, own_group, keys, neighbors[query], similarities[query])
        if scale != 1.0:
            similarities[query] /= scale
        for i in range(indptr[query], indptr[query + 1]):
            x[indices[i]] = 0.0


@helper
def select_top(
    scores: Float64Array | Float32Array,
    threshold: Float,
    groups: NDArray[np.int64],
    own_group: Int,
    keys: NDArray[np.int64],
    neighbors: NDArray[np.int32],
    similarities: Float64Array,
) -> None:
    """Select the samples with the highest scores above `threshold`, in decreasing order."""
    # Scores are compared in single precision; ties are broken by the lower sample index. A sort key
    # of 64 bits therefore holds the order-preserving bits of the score above the complement of the
    # index. `keys` is a buffer that is larger than `neighbors`: either for a heap of the best
    # samples, or for all samples above a threshold that a subsample suggests and that slightly more
    # than enough samples usually exceed.
    n = 0
    n_neighbors = len(neighbors)
    if len(scores) > _MIN_SAMPLES_PER_NEIGHBOR * n_neighbors:
        n_subsample = min(n_neighbors // _STRIDE + n_neighbors // (2 * _STRIDE) + 4, n_neighbors)
        n_found = fill_heap(scores, threshold, groups, own_group, keys, n_subsample, _STRIDE)
        if n_found == n_subsample:
            n = collect_above(scores, unpack_score(keys[0]), groups, own_group, keys)
    if n_neighbors <= n < len(keys):
        # A heap sort, because numba takes a second to compile the sort of an array.
        for i in range(n):
            heap_push(keys, i, keys[i])
        for last in range(n - 1, n_neighbors - 1, -1):
            heap_replace(keys, last, keys[last])
        n = n_neighbors
    else:
        n = fill_heap(scores, threshold, groups, own_group, keys, n_neighbors, 1)
    for last in range(n - 1, -1, -1):
        neighbors[last] = _LOW_BITS - (keys[0] & _LOW_BITS)
        similarities[last] = unpack_score(keys[0])
        heap_replace(keys, last, keys[last])
    neighbors[n:] = -1
    similarities[n:] = -np.inf


@helper
def is_allowed(group: int, own_group: int) -> bool:
    """Return whether a sample of `group` may be a neighbor of a query of `own_group`."""
    return group >= 0 and group != own_group


@helper
def collect_above(
    scores: Float64Array | Float32Array,
    threshold: Float,
    groups: NDArray[np.int64],
    own_group: Int,
    keys: NDArray[np.int64],
) -> Int:
    """Write the keys of all samples above `threshold` until `keys` is full; return their number."""
    n = 0
    for sample in range(len(scores)):
        score = np.float32(scores[sample])
        if score > threshold and is_allowed(groups[sample], own_group) and n < len(keys):
            keys[n] = pack_key(score, sample)
            n += 1
    return n


@helper
def fill_heap(
    scores: Float64Array | Float32Array,
    threshold: Float,
    groups: NDArray[np.int64],
    own_group: Int,
    keys: NDArray[np.int64],
    max_size: Int,
    stride: Int,
) -> Int:
    """Fill a min-heap with the best of every `stride`-th sample; return its size."""
    n = 0
    for sample in range(0, len(scores), stride):
        score = np.float32(scores[sample])
        if score > threshold and is_allowed(groups[sample], own_group):
            key = pack_key(score, sample)
            if n < max_size:
                heap_push(keys, n, key)
                n += 1
            elif key > keys[0]:
                heap_replace(keys, n, key)
            if n == max_size:
                threshold = unpack_score(keys[0])
    return n


@helper
def pack_key(score: Float, sample: Int) -> Int:
    """Return the sort key of a sample: larger for higher scores, then for lower indices."""
    return (np.int64(to_ordered_bits(np.float32(score).view(np.int32))) << 32) | (
        _LOW_BITS - sample
    )


@helper
def unpack_score(key: Int) -> Float:
    """Return the score in a sort key."""
    return np.float64(np.int32(to_ordered_bits(np.int32(key >> 32))).view(np.float32))


@helper
def to_ordered_bits(bits: Int) -> Int:
    """Map the bits of a float to an integer of the same order; the map is its own inverse."""
    return np.int32(bits ^ ((bits >> 31) & _MAGNITUDE))


@helper
def heap_push(keys: NDArray[np.int64], n: Int, key: Int) -> None:
    """Add a key to a min-heap of size n."""
    child = n
    while child > 0:
        parent = (child - 1) >> 1
        if keys[parent] <= key:
            break
        keys[child] = keys[parent]
        child = parent
    keys[child] = key


@helper
def heap_replace(keys: NDArray[np.int64], n: Int, key: Int) -> None:
    """Replace the smallest key of a min-heap of size n."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= n:
            break
        if child + 1 < n and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[parent] = keys[child]
        parent = child
    keys[parent] = key
