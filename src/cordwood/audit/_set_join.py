"""Kernel of the exact similarity join of sets: clusters of sets with a large cosine.

Prefix filtering [1]_: elements are numbered from the rarest to the most frequent. Two sets of
cosine t share at least t² of the elements of the larger and t of those of the smaller one, so that
they share an element even if all but the first 1 - t² and 1 - t of them are left out. Only the
latter are indexed, and they have short posting lists. The number of shared elements among them
bounds the overlap, which is counted only if the bound permits a cosine of t.

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
    start: NDArray[np.int64],
    posting: NDArray[np.int32],
    n_postings: NDArray[np.int64],
    counts: NDArray[np.int32],
    touched: NDArray[np.int32],
    parent: NDArray[np.int64],
    partner: NDArray[np.int64],
    similarity: Float64Array,
) -> None:
    """Compare the sets from `first` to `last` with all earlier ones.

    Sets are sorted by size, and their elements by frequency, the rarest first. `start` has the
    start of the posting list of each element in `posting`, `n_postings` its length so far.
    `counts` (zeros) and `touched` are buffers of one entry per set. `parent` is a forest of
    clusters, in which each set is its own parent at first; `partner` and `similarity` are the most
    similar set that a set was merged with.
    """
    for x in range(first, last):
        size = indptr[x + 1] - indptr[x]
        if size == 0:
            continue
        n_rest = count_rest(size, threshold * threshold)
        stop = indptr[x + 1] - n_rest
        last_element = indices[stop - 1]
        n_touched = 0
        for i in range(indptr[x], stop):
            element = indices[i]
            for j in range(start[element], start[element] + n_postings[element]):
                y = posting[j]
                if counts[y] == 0:
                    touched[n_touched] = y
                    n_touched += 1
                counts[y] += 1
        for k in range(n_touched):
            y = touched[k]
            n_shared = counts[y]
            counts[y] = 0
            other_size = indptr[y + 1] - indptr[y]
            needed = threshold * np.sqrt(np.float64(size) * np.float64(other_size)) - _TOLERANCE
            if other_size < needed:
                continue
            # All shared elements up to the end of the prefix that ends first are counted.
            other_rest = count_rest(other_size, threshold)
            other_last = indices[indptr[y + 1] - other_rest - 1]
            rest = n_rest if last_element <= other_last else other_rest
            if n_shared + rest < needed or find_root(parent, x) == find_root(parent, y):
                continue
            overlap = count_overlap(indptr, indices, x, y)
            if overlap >= needed:
                cosine = overlap / np.sqrt(np.float64(size) * np.float64(other_size))
                merge(parent, x, y)
                update_partner(partner, similarity, x, y, cosine)
                update_partner(partner, similarity, y, x, cosine)
        # The sets that are still to come are not smaller.
        for i in range(indptr[x], indptr[x + 1] - count_rest(size, threshold)):
            element = indices[i]
            posting[start[element] + n_postings[element]] = x
            n_postings[element] += 1


@helper
def count_rest(size: Int, share: Float) -> Int:
    """Return how many elements are less than a share of a set."""
    return np.int64(np.ceil(share * size - _TOLERANCE)) - 1


@helper
def count_overlap(indptr: NDArray[np.int64], indices: NDArray[np.int32], x: Int, y: Int) -> Int:
    """Return the number of elements that two sets share."""
    i, j, overlap = indptr[x], indptr[y], 0
    while i < indptr[x + 1] and j < indptr[y + 1]:
        if indices[i] == indices[j]:
            overlap += 1
            i += 1
            j += 1
        elif indices[i] < indices[j]:
            i += 1
        else:
            j += 1
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
