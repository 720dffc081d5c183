"""Kernel of the exact similarity join of sets: clusters of sets with a large cosine.

Prefix filtering [1]_: elements are numbered from the rarest to the most frequent. Two sets of
cosine t share at least t² of the elements of the larger and t of those of the smaller one, so that
they share an element even if all but the first 1 - t² and 1 - t of them are left out. Only the
latter are indexed, and they have short posting lists. The number of shared elements among them
bounds the overlap, which is counted only if the bound permits a cosine of t, and only until too
many elements are not shared.

References
----------
.. [1] Xiao, Wang, Lin, Yu, Wang (2011). Efficient similarity joins for near-duplicate detection.
   ACM Transactions on Database Systems 36.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.jit import Float, Float64Array, Int, helper, kernel

# Overlaps are integers; bounds that exceed one by less are rounding errors.
_TOLERANCE = 1e-9


@kernel
def join_sets(
    first: Int,
    last: Int,
    threshold: Float,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    n_smaller: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    posting: NDArray[np.int32],
    counts: NDArray[np.int32],
    touched: NDArray[np.int32],
    parent: NDArray[np.int64],
    partner: NDArray[np.int64],
    similarity: Float64Array,
) -> None:
    """Compare the sets from `first` to `last` with all earlier ones."""
    # Sets are sorted by size, and their elements by frequency, the rarest first; n_smaller[s] sets
    # have fewer than s elements. The posting list of an element is posting[start:end]. counts
    # (zeros) and touched are buffers of one entry per set. parent is a forest of clusters, in which
    # each set is its own parent at first; partner and similarity are the most similar set that a
    # set was merged with.
    for x in range(first, last):
        size = indptr[x + 1] - indptr[x]
        if size == 0:
            continue
        least = count_needed(threshold * threshold * size)
        n_touched = 0
        for i in range(size - least + 1):
            element = indices[indptr[x] + i]
            # A set whose first common element is this one is similar only if it is small enough
            # for the elements that are left.
            largest = np.int64((size - i + _TOLERANCE) ** 2 / (threshold * threshold * size))
            stop = x if largest >= size else n_smaller[largest + 1]
            # Sets that are too small for this one are too small for all that are still to come.
            while start[element] < end[element] and posting[start[element]] < n_smaller[least]:
                start[element] += 1
            for j in range(start[element], end[element]):
                y = posting[j]
                if counts[y] == 0:
                    if y >= stop:
                        continue
                    touched[n_touched] = y
                    n_touched += 1
                counts[y] += 1
        for k in range(n_touched):
            y = touched[k]
            n_shared = counts[y]
            counts[y] = 0
            other_size = indptr[y + 1] - indptr[y]
            needed = count_needed(threshold * np.sqrt(np.float64(size) * np.float64(other_size)))
            # All shared elements up to the end of the prefix that ends first are counted.
            other_least = count_needed(threshold * other_size)
            is_first = indices[indptr[x + 1] - least] <= indices[indptr[y + 1] - other_least]
            rest = (least if is_first else other_least) - 1
            if n_shared + rest < needed or find_root(parent, x) == find_root(parent, y):
                continue
            overlap = count_overlap(indptr, indices, x, y, needed)
            if overlap >= needed:
                cosine = overlap / np.sqrt(np.float64(size) * np.float64(other_size))
                merge(parent, x, y)
                update_partner(partner, similarity, x, y, cosine)
                update_partner(partner, similarity, y, x, cosine)
        # The sets that are still to come are not smaller.
        for i in range(indptr[x], indptr[x + 1] - count_needed(threshold * size) + 1):
            element = indices[i]
            posting[end[element]] = x
            end[element] += 1


@helper
def count_needed(overlap: Float) -> Int:
    """Round an overlap up, except for rounding errors."""
    return np.int64(np.ceil(overlap - _TOLERANCE))


@helper
def count_overlap(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], x: Int, y: Int, needed: Int
) -> Int:
    """Return the number of elements that two sets share, or -1 as soon as it is below `needed`."""
    i, j, overlap = indptr[x], indptr[y], 0
    # Elements of each set that may still be missing in the other.
    spare, other_spare = indptr[x + 1] - i - needed, indptr[y + 1] - j - needed
    while i < indptr[x + 1] and j < indptr[y + 1]:
        if indices[i] == indices[j]:
            overlap += 1
            i += 1
            j += 1
        elif indices[i] < indices[j]:
            i += 1
            spare -= 1
            if spare < 0:
                return -1
        else:
            j += 1
            other_spare -= 1
            if other_spare < 0:
                return -1
    return overlap


@helper
def find_root(parent: NDArray[np.int64], x: Int) -> Int:
    """Return the root of a cluster, and shorten the path to it."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@helper
def merge(parent: NDArray[np.int64], x: Int, y: Int) -> None:
    """Merge two clusters; the root is the lower one."""
    a, b = find_root(parent, x), find_root(parent, y)
    parent[max(a, b)] = min(a, b)


@helper
def update_partner(
    partner: NDArray[np.int64], similarity: Float64Array, x: Int, y: Int, cosine: Float
) -> None:
    """Make `y` the partner of `x` if it is more similar than the present one."""
    if cosine > similarity[x]:
        partner[x], similarity[x] = y, cosine
