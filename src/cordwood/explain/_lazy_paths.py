"""Paths of lazy forests: the splits of each tree on the path of a query, and what they change.

Grows the same trees as `cordwood.ensemble.tree_engine.lazy_grow`, with the same random numbers,
and records the class frequencies at each node of the path.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSRArrays, borrow, read_only
from cordwood._kernels.jit import Float32Array, Float64Array, Int, Record, kernel
from cordwood.ensemble.tree_engine.lazy_grow import (
    FEATURE,
    THRESHOLD,
    count_classes,
    draw_weights,
    find_best_split,
    fingerprint,
    follow_query,
)
from cordwood.ensemble.tree_engine.lazy_trees import LabelledCSR, LazyTreeParams, LazyWorkspace
from cordwood.ensemble.tree_engine.local_index import (
    N_STRATA,
    build_local_index,
    load_query,
    number_neighbors,
    reset,
)

_ONE = np.uint32(1)

# Number of splits of a tree on the path of a query for which space is allocated at first.
_SPLITS_PER_TREE = 32


class LazyPaths(NamedTuple):
    """What determines the votes of a lazy forest for one query."""

    # Weight of each neighbor in the roots: its mean bootstrap count, divided by their number.
    sample_weights: NDArray[np.float64]
    features: NDArray[np.int64]  # of each split on a path
    # Change of the class frequencies by each split, divided by the number of trees:
    # (n_splits, n_classes).
    changes: NDArray[np.float64]


def trace_paths(
    train: LabelledCSR,
    params: LazyTreeParams,
    workspace: LazyWorkspace,
    X: CSRArrays,
    neighbors: NDArray[np.int32],
    seed: int,
    n_classes: int,
) -> LazyPaths:
    """Grow the forest of one query, which has neighbors, and return the splits on its paths."""
    params = params._replace(
        max_features=read_only(params.max_features),
        log_factorial=read_only(params.log_factorial),
        x_log_x=read_only(params.x_log_x),
    )
    weight_of_sample = np.zeros(len(train.y))
    n_allocated = _SPLITS_PER_TREE * params.n_trees
    while True:
        features, changes = np.empty(n_allocated, np.int64), np.zeros((n_allocated, n_classes))
        weight_of_sample[neighbors] = 0.0
        n_splits = record_paths(
            train,
            params,
            workspace,
            X.indices,
            X.data,
            read_only(neighbors),
            np.int64(seed),
            weight_of_sample,
            features,
            changes,
        )
        if n_splits <= n_allocated:
            return LazyPaths(weight_of_sample[neighbors], features[:n_splits], changes[:n_splits])
        n_allocated = n_splits


@kernel
def record_paths(
    train: Record,
    params: Record,
    workspace: Record,
    indices: NDArray[np.int32],
    data: Float32Array,
    neighbors: NDArray[np.int32],
    seed: Int,
    weight_of_sample: Float64Array,
    features: NDArray[np.int64],
    changes: Float64Array,
) -> Int:
    """Record the splits on the paths of one query; return their number.

    Splits that exceed the length of `features` are counted, but not recorded; `weight_of_sample`
    and `changes` are zeros on entry.
    """
    train, params, workspace = borrow(train), borrow(params), borrow(workspace)
    n_samples, n_classes = number_neighbors(train, workspace, neighbors)
    if n_classes == 1:
        weight_of_sample[neighbors] = 1.0 / n_samples
    if n_classes < 2:
        return 0
    n_local = build_local_index(train, workspace, n_samples)
    n_query_only = load_query(workspace, indices, data, 0, len(indices), n_local)
    state = np.empty(1, np.uint64)
    state[0] = fingerprint(indices, data, 0, len(indices), np.uint64(seed))
    n_features = np.int64(n_local) + n_query_only
    weight, best, label = workspace.weight, workspace.best, workspace.label
    class_weights = workspace.class_weights[:n_classes]
    before = np.empty(n_classes)
    n_splits = 0
    for _ in range(params.n_trees):
        max_weight = draw_weights(weight, class_weights, label, state, params.bootstrap, n_samples)
        for p in range(n_samples):
            weight_of_sample[workspace.train_index[p]] += weight[p] / (n_samples * params.n_trees)
        total = np.int64(n_samples)
        workspace.packed_for[:n_classes] = -1
        for stratum in range(N_STRATA):
            workspace.n_active[stratum] = (
                workspace.stratum_start[stratum + 1] - workspace.stratum_start[stratum]
            )
        while count_classes(class_weights) > 1:
            find_best_split(
                train,
                params,
                workspace,
                state,
                class_weights,
                n_samples,
                total,
                max_weight,
                n_features,
            )
            if best[FEATURE] < 0.0:
                break
            for c in range(n_classes):
                before[c] = class_weights[c] / total
            f, threshold = np.uint32(best[FEATURE]), np.float32(best[THRESHOLD])
            total = follow_query(
                workspace.sample,
                workspace.value,
                weight,
                class_weights,
                label,
                workspace.start[f],
                workspace.start[np.uint32(f + _ONE)],
                threshold,
                workspace.query_value[f] > threshold,
                total,
                n_samples,
            )
            if n_splits < len(features):
                features[n_splits] = workspace.column[f]
                for c in range(n_classes):
                    changes[n_splits, workspace.class_code[c]] = (
                        class_weights[c] / total - before[c]
                    ) / params.n_trees
            n_splits += 1
    reset(workspace, n_local)
    return n_splits
