"""The neighbors of a query as a small data set: an inverted index of their features.

The average feature of a set of neighbors is nonzero in two or three of them, so a list of these is
shorter than a bit mask over all neighbors. The lists are built once per query and never change; the
state of a tree, the samples of its node and their weights, is kept separately.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.jit import Float32Array, Int, Record, UInt32Array, helper, inlined

_ZERO, _ONE, _TWO = np.uint32(0), np.uint32(1), np.uint32(2)

# Features are drawn in strata by the length of their lists: four or more samples, two or three,
# one.
N_STRATA = 3

# Up to this length insertion sort is used.
_SHORT = 40


@inlined
def number_neighbors(
    train: Record, workspace: Record, neighbors: NDArray[np.int32]
) -> tuple[Int, Int]:
    """Number the neighbors' classes, and the neighbors class by class; return both numbers."""
    # Neighbor p is training sample `train_index[p]`; its class is `class_code[label[p]]`, and the
    # first neighbor of this class is `class_start[label[p]]`. One additional neighbor, which has no
    # weight, serves to pad lists.
    class_code, class_number = workspace.class_code, workspace.class_number
    class_sizes = workspace.class_weights
    n_samples, n_classes = 0, 0
    while n_samples < len(neighbors) and neighbors[n_samples] >= 0:
        code = train.y[neighbors[n_samples]]
        if class_number[code] < 0:
            class_number[code] = n_classes
            class_code[n_classes] = code
            class_sizes[n_classes] = 0
            n_classes += 1
        class_sizes[class_number[code]] += 1
        n_samples += 1
    p = 0
    for label in range(n_classes):
        class_number[class_code[label]] = p
        p += class_sizes[label]
    for i in range(n_samples):
        code = train.y[neighbors[i]]
        workspace.train_index[class_number[code]] = neighbors[i]
        class_number[code] += 1
    p = 0
    for label in range(n_classes):
        workspace.class_start[label] = p
        for _ in range(class_sizes[label]):
            workspace.label[p] = label
            p += 1
        class_number[class_code[label]] = -1
    workspace.class_start[n_classes] = n_samples
    workspace.label[n_samples] = 0
    workspace.weight[n_samples] = 0
    workspace.packed_weight[n_samples] = 0
    return n_samples, n_classes


@inlined
def build_local_index(train: Record, workspace: Record, n_samples: Int) -> Int:
    """Build the posting lists of the neighbors' features; return the number of these features."""
    # Feature f is nonzero in the samples `sample[start[f]:start[f + 1]]`. The values, the largest
    # first, are in `value`; `is_single_valued[f]` states whether they are all equal. Features are
    # numbered stratum by stratum, so that those that are drawn together are adjacent in memory.
    # `local_feature` maps columns to features. It is -1 for each column before, and again after
    # `reset`.
    local_feature, column = workspace.local_feature, workspace.column
    start, sample, value = workspace.start, workspace.sample, workspace.value
    n_features = _ZERO
    for p in range(n_samples):
        row = workspace.train_index[p]
        for i in range(train.indptr[row], train.indptr[row + 1]):
            c = np.uint32(train.indices[i])
            f = local_feature[c]
            if f < 0:
                f = np.int32(n_features)
                local_feature[c] = f
                column[n_features] = c
                workspace.length[n_features] = _ZERO
                n_features = np.uint32(n_features + _ONE)
            workspace.length[np.uint32(f)] += _ONE
    order_by_stratum(
        local_feature,
        column,
        workspace.length,
        start,
        workspace.stratum_start,
        workspace.max_length,
        n_features,
    )
    for f in range(workspace.stratum_start[1], workspace.stratum_start[2]):
        sample[np.uint32(start[f] + _TWO)] = n_samples
    for p in range(n_samples):
        row = workspace.train_index[p]
        for i in range(train.indptr[row], train.indptr[row + 1]):
            f = np.uint32(local_feature[np.uint32(train.indices[i])])
            at = workspace.length[f]
            sample[at] = p
            value[at] = train.data[i]
            workspace.length[f] = at + _ONE
    for f in range(n_features):
        first, last = start[f], start[np.uint32(f + _ONE)]
        if workspace.length[f] < last:
            value[workspace.length[f]] = value[first]
        workspace.is_single_valued[f] = all_equal(value, first, last)
        if not workspace.is_single_valued[f]:
            sort_descending(sample, value, first, last)
        workspace.active[f] = f
    return n_features


@helper
def all_equal(value: Float32Array, first: Int, last: Int) -> bool:
    """Return whether all values of a list are equal, as in most lists."""
    for i in range(first, last):
        if value[i] != value[first]:
            return False
    return True


@helper
def order_by_stratum(
    local_feature: NDArray[np.int32],
    column: UInt32Array,
    length: UInt32Array,
    start: UInt32Array,
    stratum_start: NDArray[np.int64],
    max_length: NDArray[np.int64],
    n_features: Int,
) -> None:
    """Renumber the features stratum by stratum, and set where the list of each begins."""
    # `stratum_start` receives where each stratum begins, `max_length` the length of its longest
    # list; `length` becomes where the next entry of each list goes. Lists of two are padded to
    # three: the branch predictor handles a loop of constant length better.
    stratum_start[:] = 0
    max_length[:] = 0
    for f in range(n_features):
        stratum = stratum_of(length[f])
        stratum_start[stratum + 1] += 1
        max_length[stratum] = max(max_length[stratum], np.int64(length[f]))
    for stratum in range(N_STRATA):
        stratum_start[stratum + 1] += stratum_start[stratum]
    following = stratum_start.copy()
    for f in range(n_features):
        stratum = stratum_of(length[f])
        local_feature[column[f]] = following[stratum]
        start[following[stratum]] = length[f] + np.uint32(length[f] == _TWO)
        following[stratum] += 1
    at = _ZERO
    for f in range(n_features):
        padded_length = start[f]
        start[f] = at
        length[f] = at
        at = np.uint32(at + padded_length)
    start[n_features] = at


@helper
def stratum_of(length: Int) -> Int:
    """Return the stratum of a feature with a list of this length."""
    return np.int64(length < 4) + np.int64(length < 2)


@helper
def sort_descending(sample: UInt32Array, value: Float32Array, first: Int, last: Int) -> None:
    """Sort a list by value, the largest first."""
    if last - first > _SHORT:
        values, samples = value[first:last], sample[first:last]
        order = np.argsort(-values)
        values[:] = values[order]
        samples[:] = samples[order]
        return
    for i in range(np.uint32(first + _ONE), last):
        moved, v = sample[i], value[i]
        j = np.uint32(i)
        while j > first and value[np.uint32(j - _ONE)] < v:
            value[j], sample[j] = value[np.uint32(j - _ONE)], sample[np.uint32(j - _ONE)]
            j = np.uint32(j - _ONE)
        value[j], sample[j] = v, moved


@inlined
def load_query(
    workspace: Record,
    indices: NDArray[np.int32],
    data: Float32Array,
    first: Int,
    last: Int,
    n_features: Int,
) -> Int:
    """Write the query's values of the neighbors' features; return the number of its others."""
    workspace.query_value[:n_features] = np.float32(0.0)
    n_query_only = 0
    for i in range(first, last):
        f = workspace.local_feature[np.uint32(indices[i])]
        if f >= 0:
            workspace.query_value[f] = data[i]
        else:
            n_query_only += 1
    return n_query_only


@inlined
def reset(workspace: Record, n_features: Int) -> None:
    """Reset the map from columns to features."""
    for f in range(n_features):
        workspace.local_feature[workspace.column[f]] = np.int32(-1)
