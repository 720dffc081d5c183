"""The rows most like a row: scores of all rows from an inverted index, and the best of them.

Scores are added up word by word, in the order of the query's words. So rows that are equal get
equal scores, to the last bit, and a query's scores do not depend on the queries beside it.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import borrow
from cordwood._jit import Float, Float32Array, Float64Array, Int, Record, helper, kernel

_U1 = np.uint64(1)
_LOW = np.int64(2**32 - 1)
_MAGNITUDE = np.int32(2**31 - 1)

# What is less is rounding: rows at a right angle, or nearly.
_LEAST_COSINE = 1e-6

# Among more rows than this many times those wanted, a sample of every so many pays.
_FEW, _STEP = 16, 16


@kernel
def weigh(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Float32Array,
    idf: Float64Array,
    log_counts: bool,
    out: Float32Array,
) -> None:
    """Scale each CSR row to unit length, its values first multiplied by `idf`.

    With `log_counts` a value tf counts as 1 + ln tf. A row without any weight stays all zeros.
    """
    for row in range(len(indptr) - 1):
        squares = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            value = weight_of(data[i], idf[indices[i]], log_counts)
            squares += value * value
        scale = 1.0 / np.sqrt(squares) if squares > 0.0 else 0.0
        for i in range(indptr[row], indptr[row + 1]):
            out[i] = np.float32(scale * weight_of(data[i], idf[indices[i]], log_counts))


@helper
def weight_of(value: Float, idf: Float, log_counts: bool) -> Float:
    """Weigh one value of a row."""
    tf = np.float64(value)
    return (1.0 + np.log(tf)) * idf if log_counts else tf * idf


@kernel
def find_by_angle(
    index: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    query: Float32Array,
    own: NDArray[np.int64],
    group: NDArray[np.int64],
    scores: Float32Array,
    keys: NDArray[np.int64],
    ids: NDArray[np.int32],
    found: Float64Array,
) -> None:
    """List the rows with the greatest cosine, above zero, to each query, the greatest first.

    Queries are CSR rows of unit length. A row whose `group` is a query's `own` is no neighbour of
    it. `ids` is -1 where there are no more neighbours; `scores` is all zeros, before and after.
    They are in single precision, of which twice as many fit the processor's cache.
    """
    index = borrow(index)
    start, posting, weight = index.start, index.posting, index.weight
    place, dense = index.place, index.dense
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            word = np.uint64(indices[i])
            value = query[i]
            if place[word] >= 0:
                column = dense[place[word]]
                for other in range(len(scores)):
                    scores[other] += value * column[other]
            else:
                for j in range(start[word], start[word + _U1]):
                    scores[posting[j]] += value * weight[j]
        select(scores, _LEAST_COSINE, group, own[row], keys, ids[row], found[row])
        scores[:] = 0.0


@kernel
def find_by_distance(
    index: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    query: Float32Array,
    own: NDArray[np.int64],
    group: NDArray[np.int64],
    x: Float64Array,
    scores: Float64Array,
    keys: NDArray[np.int64],
    ids: NDArray[np.int32],
    found: Float64Array,
) -> None:
    """List the rows at the least Euclidean distance from each query, the nearest first.

    `found` receives squared distances with a minus sign. `x` has a zero for each column, before
    and after; all else is as in `find_by_angle`.
    """
    index = borrow(index)
    row_start, column, stored = index.indptr, index.indices, index.data
    for row in range(len(indptr) - 1):
        length = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            value = np.float64(query[i])
            x[indices[i]] = value
            length += value * value
        for other in range(len(row_start) - 1):
            apart, shared = 0.0, 0.0
            for i in range(row_start[other], row_start[other + 1]):
                value = x[column[i]]
                difference = value - stored[i]
                apart += difference * difference
                shared += value * value
            # What the other row does not store, it has zeros for.
            scores[other] = -(apart + max(length - shared, 0.0))
        select(scores, -np.inf, group, own[row], keys, ids[row], found[row])
        for i in range(indptr[row], indptr[row + 1]):
            x[indices[i]] = 0.0


@helper
def select(
    scores: Float64Array | Float32Array,
    floor: Float,
    group: NDArray[np.int64],
    own: Int,
    keys: NDArray[np.int64],
    ids: NDArray[np.int32],
    found: Float64Array,
) -> None:
    """Write the rows with the best scores above `floor`, the best first.

    Scores are compared in single precision, and among equals the lower row is better. So a key
    holds both: the score's bits, in the order of the scores, above the row's complement. `keys` has
    room for more of them than `ids`: for a heap of as many as these, with the worst at the top, or
    for all rows above a higher floor, if a sample tells one that somewhat more than enough are
    above, as it nearly always does.
    """
    n = 0
    n_most = len(ids)
    if len(scores) > _FEW * n_most:
        n_sample = min(n_most // _STEP + n_most // (2 * _STEP) + 4, n_most)
        if collect(scores, floor, group, own, keys, n_sample, _STEP) == n_sample:
            n = gather(scores, score_of(keys[0]), group, own, keys)
    if n_most <= n < len(keys):
        keys[:n].sort()
        for place in range(n_most):
            key = keys[n - 1 - place]
            ids[place] = _LOW - (key & _LOW)
            found[place] = score_of(key)
        return
    n = collect(scores, floor, group, own, keys, n_most, 1)
    for last in range(n - 1, -1, -1):
        ids[last] = _LOW - (keys[0] & _LOW)
        found[last] = score_of(keys[0])
        sink(keys, last, keys[last])
    ids[n:] = -1
    found[n:] = -np.inf


@helper
def gather(
    scores: Float64Array | Float32Array,
    floor: Float,
    group: NDArray[np.int64],
    own: Int,
    keys: NDArray[np.int64],
) -> Int:
    """Write the keys of the rows above `floor`, as many as there is room for; count them."""
    n = 0
    for row in range(len(scores)):
        score = np.float32(scores[row])
        if score > floor and group[row] != own and n < len(keys):
            keys[n] = key_of(score, row)
            n += 1
    return n


@helper
def collect(
    scores: Float64Array | Float32Array,
    floor: Float,
    group: NDArray[np.int64],
    own: Int,
    keys: NDArray[np.int64],
    n_most: Int,
    step: Int,
) -> Int:
    """Fill a heap with the best rows above `floor` among every `step`-th; count them."""
    n = 0
    for row in range(0, len(scores), step):
        score = np.float32(scores[row])
        if score > floor and group[row] != own:
            key = key_of(score, row)
            if n < n_most:
                rise(keys, n, key)
                n += 1
            elif key > keys[0]:
                sink(keys, n, key)
            if n == n_most:
                floor = score_of(keys[0])
    return n


@helper
def key_of(score: Float, row: Int) -> Int:
    """Make the key of a row."""
    return (np.int64(in_order(np.float32(score).view(np.int32))) << 32) | (_LOW - row)


@helper
def score_of(key: Int) -> Float:
    """Take the score out of a key."""
    return np.float64(np.int32(in_order(np.int32(key >> 32))).view(np.float32))


@helper
def in_order(bits: Int) -> Int:
    """Turn a float's bits to an integer of the same order, and back."""
    return np.int32(bits ^ ((bits >> 31) & _MAGNITUDE))


@helper
def rise(keys: NDArray[np.int64], n: Int, key: Int) -> None:
    """Add a key to a heap of n."""
    child = n
    while child > 0:
        parent = (child - 1) >> 1
        if keys[parent] <= key:
            break
        keys[child] = keys[parent]
        child = parent
    keys[child] = key


@helper
def sink(keys: NDArray[np.int64], n: Int, key: Int) -> None:
    """Put a key in the place of the least of a heap of n."""
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
