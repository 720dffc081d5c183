"""The kernel of lazy forests: for each query, trees of which only the query's path is grown.

The forest of a query is used once, so only the nodes on the query's path are split; the side that
the query does not take is dropped. The leaf of the query has the same distribution as in the full
tree.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import borrow
from cordwood._kernels.jit import (
    Float,
    Float32Array,
    Float64Array,
    Int,
    Record,
    RngState,
    UInt32Array,
    helper,
    inlined,
    kernel,
)
from cordwood._kernels.random import hypergeometric, randbelow
from cordwood.ensemble.tree_engine.lazy_splits import (
    IntArray,
    LazyNode,
    below_bound,
    draw_threshold,
    find_best_threshold,
    gather_node_entries,
    midpoint,
    score_binary_split,
    score_threshold,
    sum_packed,
    unpack_weight,
    update_class_products,
)
from cordwood.ensemble.tree_engine.local_index import (
    N_STRATA,
    build_local_index,
    load_query,
    number_neighbors,
    reset,
)
from cordwood.ensemble.tree_engine.splits import cannot_improve, purity

_ZERO, _ONE = np.uint32(0), np.uint32(1)
_ZERO_VALUE = np.float32(0.0)
_S32 = np.uint64(32)
_HASH = np.uint64(0x9E3779B97F4A7C15)

# Fields of the best split so far: its score, the number of splits of this score, its feature and
# its threshold.
SCORE, TIES, FEATURE, THRESHOLD = range(4)


@kernel
def vote_queries(
    train: Record,
    params: Record,
    workspace: Record,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: Float32Array,
    neighbors: NDArray[np.int32],
    seed: Int,
    votes: Float64Array,
) -> None:
    """Write the mean class frequencies of each query's forest; zeros if it has no neighbors.

    Queries are CSR rows; `neighbors` are indices of training samples, -1 after the last.
    """
    train, params, workspace = borrow(train), borrow(params), borrow(workspace)
    state = np.empty(1, np.uint64)
    for query in range(len(neighbors)):
        n_samples, n_classes = number_neighbors(train, workspace, neighbors[query])
        if n_classes == 1:
            votes[query, workspace.class_code[0]] = 1.0
        if n_classes < 2:
            continue
        n_local = build_local_index(train, workspace, n_samples)
        first, last = indptr[query], indptr[query + 1]
        n_query_only = load_query(workspace, indices, data, first, last, n_local)
        state[0] = fingerprint(indices, data, first, last, np.uint64(seed))
        n_features = np.int64(n_local) + n_query_only
        for _ in range(params.n_trees):
            grow_path(
                train, params, workspace, state, n_samples, n_classes, n_features, votes[query]
            )
        votes[query] /= params.n_trees
        reset(workspace, n_local)


@kernel
def fingerprint_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: Float32Array, out: RngState
) -> None:
    """Write the fingerprint of each CSR row; rows of equal fingerprints count as duplicates."""
    for row in range(len(out)):
        out[row] = fingerprint(indices, data, indptr[row], indptr[row + 1], np.uint64(0))


@helper
def fingerprint(
    indices: NDArray[np.int32], data: Float32Array, first: Int, last: Int, seed: Int
) -> Int:
    """Hash the entries of a row into a seed, so that predictions do not depend on other queries."""
    x = seed
    for i in range(first, last):
        bits = np.uint64(np.float32(data[i]).view(np.uint32))
        x = (x ^ (np.uint64(indices[i]) << _S32) ^ bits) * _HASH
        x ^= x >> _S32
    return x


@inlined
def grow_path(
    train: Record,
    params: Record,
    workspace: Record,
    state: RngState,
    n_samples: Int,
    n_classes: Int,
    n_features: Int,
    votes: Float64Array,
) -> None:
    """Grow one tree along the query's path, and add the leaf's class frequencies to the votes."""
    weight, best, label = workspace.weight, workspace.best, workspace.label
    class_weights = workspace.class_weights[:n_classes]
    max_weight = draw_weights(weight, class_weights, label, state, params.bootstrap, n_samples)
    total = np.int64(n_samples)
    workspace.packed_for[:n_classes] = -1
    for stratum in range(N_STRATA):
        workspace.n_active[stratum] = (
            workspace.stratum_start[stratum + 1] - workspace.stratum_start[stratum]
        )
    while count_classes(class_weights) > 1:
        find_best_split(
            train, params, workspace, state, class_weights, n_samples, total, max_weight, n_features
        )
        if best[FEATURE] < 0.0:
            break
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
    for c in range(n_classes):
        votes[workspace.class_code[c]] += class_weights[c] / total


@helper
def draw_weights(
    weight: IntArray,
    class_weights: IntArray,
    label: UInt32Array,
    state: RngState,
    bootstrap: bool,
    n_samples: Int,
) -> Int:
    """Set the weights of a tree's samples and classes; return the largest weight of a sample."""
    if bootstrap:
        weight[:n_samples] = 0
        for _ in range(n_samples):
            weight[np.uint32(randbelow(state, n_samples))] += 1
    else:
        weight[:n_samples] = 1
    class_weights[:] = 0
    max_weight = 0
    for p in range(n_samples):
        class_weights[label[p]] += weight[p]
        max_weight = max(max_weight, weight[p])
    return max_weight


@inlined
def count_classes(class_weights: IntArray) -> Int:
    """Return the number of classes of the node."""
    n = 0
    for weight in class_weights:
        n += weight > 0
    return n


@helper
def follow_query(
    sample: UInt32Array,
    value: Float32Array,
    weight: IntArray,
    class_weights: IntArray,
    label: UInt32Array,
    first: Int,
    last: Int,
    threshold: Float,
    is_above: bool,
    total: Int,
    n_samples: Int,
) -> Int:
    """Reduce the node to the query's side of a split; return the weight of this side."""
    # `is_above` states whether the query's value is above the threshold. The side without zero is
    # read from the feature's list; the other side is what remains.
    takes_list = is_above == (threshold >= 0.0)
    side_weight = 0
    for i in range(first, last):
        if (value[i] > threshold) == (threshold >= 0.0):
            p = sample[i]
            side_weight += weight[p]
            if takes_list:
                weight[p] = -weight[p]
            else:
                class_weights[label[p]] -= weight[p]
                weight[p] = 0
    if not takes_list:
        return total - side_weight
    class_weights[:] = 0
    for p in range(n_samples):  # samples that stay have been marked by a minus sign
        weight[p] = max(-weight[p], 0)
        class_weights[label[p]] += weight[p]
    return side_weight


@inlined
def find_best_split(
    train: Record,
    params: Record,
    workspace: Record,
    state: RngState,
    class_weights: IntArray,
    n_samples: Int,
    total: Int,
    max_weight: Int,
    n_features: Int,
) -> None:
    """Draw features and write the best split to `workspace.best`."""
    # Features are drawn as in scikit-learn: in random order until `max_features` of them, constant
    # ones included, have been drawn and at least one was not constant. The number of features drawn
    # from each stratum is drawn first, and strata are processed from the longest lists to the
    # shortest. A stratum is skipped, with all that follow, if none of its splits can score higher
    # than the best one.
    entropy, random_split, logs = params.entropy, params.random_split, params.x_log_x
    n_active_by_stratum, max_length = workspace.n_active, workspace.max_length
    start, best = workspace.start, workspace.best
    node_purity = purity(entropy, logs, class_weights)
    update_class_products(
        workspace.weight,
        class_weights,
        workspace.class_start,
        workspace.packed_for,
        workspace.packed_weight,
    )
    node = LazyNode(
        entropy,
        logs,
        workspace.sample,
        workspace.weight,
        workspace.node_sample,
        workspace.node_value,
        workspace.label,
        class_weights,
        workspace.side_weights,
        node_purity,
        total,
    )
    best[SCORE] = -np.inf
    best[FEATURE] = -1.0
    n_others, n_left = n_features, params.max_features[n_features]
    n_useful = 0
    turn = 0
    while True:
        stratum, n_drawn = turn, 1
        if turn < N_STRATA:
            max_side = max_length[stratum] * max_weight
            if cannot_improve(entropy, logs, node_purity, total, max_side, best[SCORE]):
                break
            n_active = n_active_by_stratum[stratum]
            n_drawn = 0
            if n_active > 0 and n_left > 0:
                n_drawn = hypergeometric(state, params.log_factorial, n_active, n_others, n_left)
            n_others -= n_active
            n_left -= n_drawn
        else:
            n_active = n_active_by_stratum[0] + n_active_by_stratum[1] + n_active_by_stratum[2]
            if n_useful > 0 or n_active == 0:
                break
            if turn == N_STRATA and all_duplicates(train, workspace, n_samples):
                break
            pick = randbelow(state, n_active)
            stratum = 0
            while pick >= n_active_by_stratum[stratum]:
                pick -= n_active_by_stratum[stratum]
                stratum += 1
            n_active = n_active_by_stratum[stratum]
        turn += 1
        n_candidates = draw_features(workspace, state, stratum, n_active, n_drawn, total)
        n_useful += n_candidates
        for i in range(n_candidates):
            f, packed = workspace.candidate[i], workspace.candidate_weight[i]
            if below_bound(entropy, logs, node_purity, total, packed, best[SCORE]):
                continue
            weight = unpack_weight(packed)
            first, last = start[f], start[np.uint32(f + _ONE)]
            threshold = _ZERO_VALUE
            if workspace.is_single_valued[f]:
                score = score_binary_split(node, first, last, weight)
                if score < best[SCORE]:
                    continue
                value = workspace.value[first]
                threshold = (
                    draw_threshold(state, threshold, value)
                    if random_split
                    else midpoint(threshold, value)
                )
            else:
                has_zero = weight < total
                n = gather_node_entries(
                    workspace.sample,
                    workspace.value,
                    workspace.weight,
                    first,
                    last,
                    workspace.node_sample,
                    workspace.node_value,
                )
                if random_split:
                    low = workspace.node_value[np.uint32(n - _ONE)]
                    high = workspace.node_value[0]
                    if has_zero:
                        low, high = min(low, _ZERO_VALUE), max(high, _ZERO_VALUE)
                    threshold = draw_threshold(state, low, high)
                    score = score_threshold(node, n, threshold)
                else:
                    score, threshold = find_best_threshold(node, n, has_zero)
            update_best_split(best, score, f, threshold, state)


@inlined
def draw_features(
    workspace: Record, state: RngState, stratum: Int, n_active: Int, n_drawn: Int, total: Int
) -> Int:
    """Draw features of a stratum, and write the ones that can be split; return their number."""
    # A feature that is constant in the node is constant further down the path: it is moved before
    # the active features of its stratum, which shrink by one.
    active, start = workspace.active, workspace.start
    sample, weights = workspace.sample, workspace.weight
    candidate, is_single_valued = workspace.candidate, workspace.is_single_valued
    at = np.uint32(workspace.stratum_start[stratum + 1] - workspace.n_active[stratum])
    for i in range(np.uint32(n_drawn)):
        here, there = np.uint32(at + i), np.uint32(at + i + randbelow(state, n_active - i))
        active[here], active[there] = active[there], active[here]
    n_candidates, n_constant = _ZERO, _ZERO
    for i in range(np.uint32(n_drawn)):
        f = active[np.uint32(at + i)]
        first, last = start[f], start[np.uint32(f + _ONE)]
        packed = sum_packed(sample, workspace.packed_weight, first, last)
        weight = unpack_weight(packed)
        can_split = weight > 0
        if is_single_valued[f]:
            can_split = can_split and weight < total
        elif weight == total:
            n = gather_node_entries(
                sample,
                workspace.value,
                weights,
                first,
                last,
                workspace.node_sample,
                workspace.node_value,
            )
            can_split = workspace.node_value[0] > workspace.node_value[np.uint32(n - _ONE)]
        # Branchless: the entry is overwritten unless the feature belongs there.
        candidate[n_candidates] = f
        workspace.candidate_weight[n_candidates] = packed
        n_candidates = np.uint32(n_candidates + np.uint32(can_split))
        active[np.uint32(at + n_constant)] = f
        n_constant = np.uint32(n_constant + np.uint32(not can_split))
    for i in range(n_candidates):
        active[np.uint32(at + n_constant + i)] = candidate[i]
    workspace.n_active[stratum] -= n_constant
    return n_candidates


@inlined
def update_best_split(
    best: Float64Array, score: Float, feature: Int, threshold: Float, state: RngState
) -> None:
    """Make a split the best one if it scores higher; each of equal ones is equally likely."""
    # In scikit-learn the feature that was drawn first wins. Here features are not scored in the
    # order of drawing, so ties are broken at random, which has the same distribution.
    if score == best[SCORE]:
        best[TIES] += 1.0
        if randbelow(state, best[TIES]) > 0:
            return
    elif score > best[SCORE]:
        best[TIES] = 1.0
    else:
        return
    best[SCORE] = score
    best[FEATURE] = feature
    best[THRESHOLD] = threshold


@inlined
def all_duplicates(train: Record, workspace: Record, n_samples: Int) -> bool:
    """Return whether all samples of the node are duplicates of each other."""
    duplicate_id, train_index = train.duplicate_id, workspace.train_index
    first = -1
    for p in range(n_samples):
        if workspace.weight[p] > 0:
            if first < 0:
                first = p
            elif duplicate_id[train_index[p]] != duplicate_id[train_index[first]]:
                return False
    return True
