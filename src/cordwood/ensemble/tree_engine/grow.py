"""The kernel that grows one tree.

Trees on text are not balanced: a split separates the few samples that contain one term from a large
rest. The larger child therefore continues with the posting lists of its parent, and only the
smaller child, when it is taken from the stack, has lists built for it. One set of lists exists at
any time, and all lists that are built for a tree have about as many entries as the data set.
"""

import numpy as np

from cordwood._kernels.intrinsics import borrow, prefetch
from cordwood._kernels.jit import (
    Float,
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
from cordwood.ensemble.tree_engine.postings import (
    UNREAD,
    build_postings,
    gather_dense,
    is_constant,
    length_slot,
    read_postings,
    sort_by_bin,
    start_slot,
)
from cordwood.ensemble.tree_engine.splits import (
    FEATURE,
    LOWER,
    SCORE,
    THRESHOLD,
    UPPER,
    Node,
    cannot_improve,
    purity,
    score_all_splits,
    score_random_split,
    score_single_entry,
)

_ZERO, _ONE = np.uint32(0), np.uint32(1)

# Lists are rebuilt for a node that is this many times smaller than the one that they were built
# for: by then most entries of a drawn feature's list have left the node.
_REBUILD_RATIO = 8

# Lists are far apart in memory: each is prefetched this many iterations ahead.
_PREFETCH_DISTANCE = 3

# The size of the node that the lists were built for, if they belong to another branch.
_STALE = np.int64(2**62)

# Fields of `workspace.tree_size`.
_N_NODES, _N_LEAVES, _N_IMPURE = range(3)


@kernel
def grow_tree(
    binned: Record,
    params: Record,
    workspace: Record,
    y: UInt32Array,
    weights: Float64Array,
    unit: Float,
    seed: Int,
) -> tuple[Int, Int, Int]:
    """Grow one tree into the workspace; return its numbers of nodes, leaves and impure leaves."""
    # `weights` are the sample weights of this tree, zero for samples that it does not use. `unit`
    # is the weight of one level of the eight-bit upper bounds on the weights: one if all weights
    # are integers up to 255.
    binned, params, workspace = borrow(binned), borrow(params), borrow(workspace)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    samples, position, stack = workspace.samples, workspace.position, workspace.stack
    n_samples = _ZERO
    for sample in range(_ZERO, np.uint32(len(weights))):
        workspace.weight_level[sample] = 0
        if weights[sample] > 0.0:
            samples[n_samples] = sample
            position[sample] = n_samples
            n_samples = np.uint32(n_samples + _ONE)
    workspace.span[1::2] = UNREAD
    workspace.impure_entry_start[0] = 0
    tree_size = workspace.tree_size
    tree_size[:] = 0
    n_listed: Int = 0
    min_weight = 0.0
    stack[0, 0] = 0
    stack[0, 1] = n_samples
    stack[0, 2] = 0
    n_stacked = 1
    while n_stacked > 0:
        n_stacked -= 1
        start = stack[n_stacked, 0]
        end = stack[n_stacked, 1]
        depth = np.int64(stack[n_stacked, 2])
        if tree_size[_N_NODES] > 0:
            workspace.node_far_child[stack[n_stacked, 3]] = tree_size[_N_NODES]
        total = load_node(workspace, y, weights, unit, start, end)
        at_root = tree_size[_N_NODES] == 0
        list_owner_size = _STALE
        n_active = 0
        if at_root:
            min_weight = total * params.min_weight_fraction_leaf
            list_owner_size = np.int64(n_samples)
            n_active = binned.n_nonempty
            for feature in range(n_active):
                workspace.active[feature] = feature
        while True:
            workspace.best[SCORE] = -np.inf
            workspace.best[FEATURE] = -1
            if total >= 2.0 * min_weight and is_splittable(
                binned, params, workspace, start, end, depth
            ):
                n_node = np.int64(end - start)
                if n_node * _REBUILD_RATIO < list_owner_size:
                    if at_root:
                        workspace.span[1::2] = _ZERO
                        at_root = False
                    n_listed = n_active = rebuild_postings(binned, workspace, start, end, n_listed)
                    list_owner_size = n_node
                n_active = find_best_split(
                    binned,
                    params,
                    workspace,
                    y,
                    weights,
                    unit,
                    state,
                    start,
                    end,
                    total,
                    min_weight,
                    n_active,
                    at_root,
                )
            if workspace.best[FEATURE] < 0:
                add_leaf_node(workspace, y, weights, start, end)
                break
            border, zero_is_left = partition(binned, workspace, start, end)
            far_is_tail = end - border <= border - start
            first, last = (border, end) if far_is_tail else (start, border)
            next_is_right = zero_is_left != far_is_tail
            node = tree_size[_N_NODES]
            workspace.node_feature_and_side[node] = (
                2 * np.int32(workspace.best[FEATURE]) + next_is_right
            )
            workspace.node_threshold[node] = split_threshold(binned, params, workspace)
            tree_size[_N_NODES] += 1
            depth += 1
            pure, weight, total = remove_samples(workspace, y, weights, first, last)
            if pure:
                add_pure_leaf(workspace, y, node, first, last, weight)
            else:
                stack[n_stacked, 0] = first
                stack[n_stacked, 1] = last
                stack[n_stacked, 2] = depth
                stack[n_stacked, 3] = node
                n_stacked += 1
            if far_is_tail:
                end = border
            else:
                start = border
        if at_root:
            workspace.span[1::2] = _ZERO
    return tree_size[_N_NODES], tree_size[_N_LEAVES], tree_size[_N_IMPURE]


@inlined
def load_node(
    workspace: Record,
    y: UInt32Array,
    weights: Float64Array,
    unit: Float,
    start: Int,
    end: Int,
) -> Float:
    """Set the weight levels of the node's samples and its class weights; return its weight."""
    class_weights, class_sizes = workspace.class_weights, workspace.class_sizes
    class_weights[:] = 0.0
    class_sizes[:] = 0
    total = 0.0
    for k in range(start, end):
        sample = workspace.samples[k]
        weight = weights[sample]
        workspace.weight_level[sample] = np.uint8(np.ceil(weight / unit))
        class_weights[y[sample]] += weight
        class_sizes[y[sample]] += 1
        total += weight
    return total


@inlined
def remove_samples(
    workspace: Record,
    y: UInt32Array,
    weights: Float64Array,
    first: Int,
    last: Int,
) -> tuple[bool, Float, Float]:
    """Remove the samples of the far child from the node, which becomes the next child."""
    # Samples are counted in addition to their weights, so that the weight of a class without
    # samples is exactly zero, whatever the rounding. Returns whether the removed samples have a
    # single class, their weight, and the weight that remains.
    class_weights, class_sizes = workspace.class_weights, workspace.class_sizes
    weight_level, samples = workspace.weight_level, workspace.samples
    pure = True
    weight = 0.0
    for k in range(first, last):
        sample = samples[k]
        label = y[sample]
        weight_level[sample] = 0
        weight += weights[sample]
        class_weights[label] -= weights[sample]
        class_sizes[label] -= 1
        pure = pure and label == y[samples[first]]
    total = 0.0
    for label in range(len(class_weights)):
        if class_sizes[label] == 0:
            class_weights[label] = 0.0
        total += class_weights[label]
    return pure, weight, total


@inlined
def rebuild_postings(binned: Record, workspace: Record, start: Int, end: Int, n_listed: Int) -> Int:
    """Build the node's lists and make its sparse features and all dense features active."""
    n_sparse = np.int64(build_postings(binned, workspace, start, end, n_listed))
    for feature in range(binned.n_dense):
        workspace.active[n_sparse + feature] = feature
    return n_sparse + binned.n_dense


@inlined
def is_splittable(
    binned: Record, params: Record, workspace: Record, start: Int, end: Int, depth: Int
) -> bool:
    """Return whether a split is allowed and possible: several classes, not all duplicates."""
    n_node = np.int64(end - start)
    if (
        n_node < params.min_samples_split
        or n_node < 2 * params.min_samples_leaf
        or depth >= params.max_depth
    ):
        return False
    n_classes = 0
    for label in range(len(workspace.class_sizes)):
        n_classes += workspace.class_sizes[label] > 0
    if n_classes < 2:
        return False
    duplicate_id = binned.duplicate_id[workspace.samples[start]]
    for k in range(start + _ONE, end):
        if binned.duplicate_id[workspace.samples[k]] != duplicate_id:
            return True
    return False


@inlined
def find_best_split(
    binned: Record,
    params: Record,
    workspace: Record,
    y: UInt32Array,
    weights: Float64Array,
    unit: Float,
    state: RngState,
    start: Int,
    end: Int,
    total: Float,
    min_weight: Float,
    n_active: Int,
    sorted_lists: bool,
) -> Int:
    """Draw features and write the best split to `workspace.best`; return how many are active."""
    # As in scikit-learn, features are drawn in random order without replacement until
    # `max_features` of them, constant ones included, have been drawn and at least one was not
    # constant. The number of active features among the first `max_features` is hypergeometric, so
    # the others need not be drawn. A feature that is constant in the node is constant in its
    # descendants, and is removed from the active ones.
    column_start, column_entry = binned.column_start, binned.column_entry
    dense, zero_bins = binned.dense_entry, binned.zero_bin
    bin_min, bin_max, bin_start = binned.bin_min, binned.bin_max, binned.bin_start
    samples, span, entry = workspace.samples, workspace.span, workspace.entry
    weight_level, active = workspace.weight_level, workspace.active
    list_level, best = workspace.list_level, workspace.best
    buffer, spare, digit_start = workspace.buffer, workspace.spare, workspace.digit_start
    class_weights, logs = workspace.class_weights, params.x_log_x
    entropy, random_split = params.entropy, params.random_split
    sample_bits, sample_mask, n_dense = binned.sample_bits, binned.sample_mask, binned.n_dense

    node_purity = purity(entropy, logs, class_weights)
    n_node = np.uint32(end - start)
    node = Node(
        entropy,
        logs,
        class_weights,
        workspace.side_weights,
        best,
        y,
        weights,
        n_node,
        node_purity,
        total,
        params.min_samples_leaf,
        min_weight,
        sample_bits,
        sample_mask,
    )
    n_drawn = hypergeometric(
        state, binned.log_factorial, n_active, binned.n_features, params.max_features
    )
    if n_drawn == 0:
        n_drawn = 1
    n_useful: Int = 0
    while n_useful == 0 and n_active > 0:
        heaviest = -1
        max_level = np.uint64(0)
        for draw in range(n_drawn):
            pick = np.uint32(draw + randbelow(state, n_active - draw))
            feature = active[pick]
            active[pick] = active[draw]
            active[draw] = feature
            prefetch(span, start_slot(feature))
        for draw in range(n_drawn):
            if draw + _PREFETCH_DISTANCE < n_drawn:
                upcoming = active[draw + _PREFETCH_DISTANCE]
                if span[length_slot(upcoming)] == UNREAD:
                    prefetch(column_entry, column_start[upcoming])
                else:
                    prefetch(entry, span[start_slot(upcoming)])
            feature = active[draw]
            if feature < n_dense:
                zero_entry = zero_bins[feature] << sample_bits
                n = gather_dense(samples, dense, buffer, feature, zero_entry, start, end)
                level = np.uint64(n > 0)
                if n == n_node and is_constant(buffer, _ZERO, n, sample_bits):
                    level = np.uint64(0)
            else:
                n, level = read_postings(
                    span,
                    entry,
                    column_entry,
                    weight_level,
                    feature,
                    column_start[feature],
                    column_start[np.uint32(feature + _ONE)],
                    sample_mask,
                )
                if n == n_node and is_constant(entry, span[start_slot(feature)], n, sample_bits):
                    level = np.uint64(0)
            list_level[draw] = level
            n_useful += level > 0
            if level > max_level:
                max_level = level
                heaviest = draw
        # The heaviest list is scored first: most others cannot reach its score and are pruned.
        for step in range(-1, n_drawn):
            draw = heaviest if step < 0 else step
            if draw < 0 or step == heaviest or list_level[draw] == 0:
                continue
            feature = active[draw]
            if feature < n_dense:
                zero_entry = zero_bins[feature] << sample_bits
                n = gather_dense(samples, dense, buffer, feature, zero_entry, start, end)
                entries = buffer
                at = _ZERO
            else:
                max_weight = list_level[draw] * unit
                if cannot_improve(entropy, logs, node_purity, total, max_weight, best[SCORE]):
                    continue
                entries = entry
                at = span[start_slot(feature)]
                n = span[length_slot(feature)]
            zero_bin = zero_bins[feature]
            if n == 1:
                score_single_entry(
                    node,
                    feature,
                    draw,
                    zero_bin,
                    entries[at],
                    random_split,
                    bin_min,
                    bin_max,
                    bin_start[feature],
                    state,
                )
            elif random_split:
                score_random_split(
                    node,
                    feature,
                    draw,
                    zero_bin,
                    entries,
                    at,
                    n,
                    bin_min,
                    bin_max,
                    bin_start[feature],
                    state,
                )
            else:
                if not sorted_lists or feature < n_dense:
                    sort_by_bin(entries, at, n, spare, digit_start, sample_bits)
                score_all_splits(node, feature, draw, zero_bin, entries, at, n)
        for draw in range(n_drawn - 1, -1, -1):
            if list_level[draw] == 0:
                n_active -= 1
                feature = active[draw]
                active[draw] = active[n_active]
                active[n_active] = feature
        n_drawn = 1
    return n_active


@inlined
def partition(binned: Record, workspace: Record, start: Int, end: Int) -> tuple[Int, bool]:
    """Move the samples of the side without zero to the end.

    Returns where they begin, and whether zero is on the left side of the split.
    """
    samples, position, best = workspace.samples, workspace.position, workspace.best
    feature = np.uint32(best[FEATURE])
    lower = np.uint32(best[LOWER])
    zero_is_left = binned.zero_bin[feature] <= lower
    border = end
    if feature >= binned.n_dense:
        at = workspace.span[start_slot(feature)]
        for i in range(at, np.uint32(at + workspace.span[length_slot(feature)])):
            e = workspace.entry[i]
            if (e >> binned.sample_bits > lower) == zero_is_left:
                sample = e & binned.sample_mask
                border = np.uint32(border - _ONE)
                swap(samples, position, position[sample], border)
        return border, zero_is_left
    column = binned.dense_entry[feature]
    k = start
    while k < border:
        if (column[samples[k]] >> binned.sample_bits > lower) == zero_is_left:
            border = np.uint32(border - _ONE)
            swap(samples, position, k, border)
        else:
            k = np.uint32(k + _ONE)
    return border, zero_is_left


@helper
def swap(samples: UInt32Array, position: UInt32Array, i: Int, j: Int) -> None:
    """Swap the samples at two positions."""
    a, b = samples[i], samples[j]
    samples[i], samples[j] = b, a
    position[a], position[b] = j, i


@inlined
def split_threshold(binned: Record, params: Record, workspace: Record) -> Float:
    """Return the threshold of the best split: values less than or equal to it go left."""
    best = workspace.best
    if params.random_split:
        return np.float32(best[THRESHOLD])
    first = binned.bin_start[np.int64(best[FEATURE])]
    low = binned.bin_max[first + np.int64(best[LOWER])]
    high = binned.bin_min[first + np.int64(best[UPPER])]
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


@inlined
def add_leaf_node(
    workspace: Record, y: UInt32Array, weights: Float64Array, start: Int, end: Int
) -> None:
    """Add a leaf node of the samples that remain."""
    tree_size = workspace.tree_size
    class_sizes, class_weights = workspace.class_sizes, workspace.class_weights
    node, n_impure = tree_size[_N_NODES], tree_size[_N_IMPURE]
    workspace.node_feature_and_side[node] = -1
    workspace.node_threshold[node] = -np.inf
    # Sum the weights again: subtracting the samples that left has accumulated rounding errors.
    class_weights[:] = 0.0
    total = 0.0
    for k in range(start, end):
        sample = workspace.samples[k]
        workspace.weight_level[sample] = 0
        class_weights[y[sample]] += weights[sample]
        total += weights[sample]
    first = y[workspace.samples[start]]
    code = np.int64(first)
    if class_sizes[first] != end - start:
        code = len(class_sizes) + n_impure
        at = workspace.impure_entry_start[n_impure]
        for label in range(len(class_sizes)):
            if class_sizes[label] > 0:
                workspace.impure_class[at] = label
                workspace.impure_weight[at] = class_weights[label]
                at += 1
        workspace.impure_entry_start[n_impure + 1] = at
        tree_size[_N_IMPURE] += 1
    link_leaf(workspace, node, code, end - start, total)
    tree_size[_N_NODES] += 1


@inlined
def add_pure_leaf(
    workspace: Record, y: UInt32Array, node: Int, first: Int, last: Int, weight: Float
) -> None:
    """Make the far child, whose samples have a single class, a leaf without a node of its own."""
    code = np.int64(y[workspace.samples[first]])
    link_leaf(workspace, node, code, last - first, weight)


@inlined
def link_leaf(workspace: Record, node: Int, code: Int, size: Int, weight: Float) -> None:
    """Make a node refer to a leaf, and append the statistics of the leaf."""
    leaf = workspace.tree_size[_N_LEAVES]
    workspace.node_far_child[node] = ~code
    workspace.leaf_size[leaf] = size
    workspace.leaf_weight[leaf] = weight
    workspace.tree_size[_N_LEAVES] += 1
