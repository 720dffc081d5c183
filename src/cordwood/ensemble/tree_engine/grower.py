"""Grow forests on several threads; the result does not depend on the number of threads."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble.tree_engine.binning import BinnedMatrix
from cordwood.ensemble.tree_engine.forest import NARROW_DTYPES, WIDE_DTYPES, Forest, join
from cordwood.ensemble.tree_engine.grow import grow_tree
from cordwood.ensemble.tree_engine.threads import map_threads

# The highest level of the kernel's eight-bit upper bounds on weights.
_MAX_LEVEL = 255

# Maximum number of features, of nodes of a tree, and of leaf codes of a tree, in 16 bits.
_NARROW_LIMIT = 2**15


# Calls a function of blocks, from one position to before another, for a number of positions.
Distribute: TypeAlias = Callable[[Callable[[int, int], list[Forest]], int], Iterable[Forest]]


class TreeParams(NamedTuple):
    """Parameters of trees, with the names and meanings of scikit-learn's forests."""

    entropy: bool  # whether impurity is entropy rather than Gini impurity
    # Whether one random split is scored per feature, as in extra-trees, instead of all splits.
    random_split: bool
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float  # fraction of the tree's total weight that a leaf must have
    x_log_x: NDArray[np.float64]  # x log2 x of small integers; empty unless `entropy`


class GrowWorkspace(NamedTuple):
    """Working arrays of the growing kernel, for one thread.

    They take about 4 bytes per sparse entry of the data, 20 per feature, 90 per sample and 20 per
    class. There is no histogram of class weights per feature, whose size would be classes times
    features.
    """

    # (n_samples,): the samples, partitioned so that those of each node are contiguous.
    samples: NDArray[np.uint32]
    position: NDArray[np.uint32]  # (n_samples,): where each sample is in `samples`
    # (n_samples,): upper bound on the weight of each sample of the current node, in units; 0 for
    # all others.
    weight_level: NDArray[np.uint8]
    entry: NDArray[np.uint32]  # (n_entries,): the entries of the posting lists
    span: NDArray[np.uint32]  # (2 * n_columns,): start and length of each feature's list
    # (n_columns + 1,): features that are not known to be constant in the current node.
    active: NDArray[np.uint32]
    list_level: NDArray[np.uint64]  # (n_columns,): sum of the levels of each list that was drawn
    buffer: NDArray[np.uint32]  # entries of a dense feature, and temporary arrays of the radix sort
    spare: NDArray[np.uint32]
    digit_start: NDArray[np.uint32]
    # (n_samples + 1, 4): nodes still to be grown: first and last sample, depth, and parent.
    stack: NDArray[np.uint32]
    # (n_classes,): weights and numbers of samples of the current node by class; see also
    # `splits.Node`.
    class_weights: NDArray[np.float64]
    class_sizes: NDArray[np.int32]  # (n_classes,)
    side_weights: NDArray[np.float64]  # (n_classes,)
    best: NDArray[np.float64]  # (6,): the best split so far
    tree_size: NDArray[np.int64]  # (3,): numbers of nodes, leaves and impure leaves
    node_feature_and_side: NDArray[np.int32]  # the nodes of the tree, as in `Forest`
    node_threshold: NDArray[np.float32]
    node_far_child: NDArray[np.int32]
    leaf_weight: NDArray[np.float32]  # the leaves of the tree, as in `Forest`
    leaf_size: NDArray[np.int32]
    impure_entry_start: NDArray[np.int64]
    impure_class: NDArray[np.int32]
    impure_weight: NDArray[np.float32]


def allocate_grow_workspace(binned: BinnedMatrix, n_classes: int) -> GrowWorkspace:
    """Allocate the workspace of one thread for growing trees on this data."""
    n, d = binned.n_samples, len(binned.column)
    return GrowWorkspace(
        samples=np.empty(n, np.uint32),
        position=np.empty(n, np.uint32),
        weight_level=np.zeros(n, np.uint8),
        entry=np.empty(len(binned.column_entry), np.uint32),
        span=np.zeros(2 * d, np.uint32),
        # The branchless loop of `build_postings` writes one entry beyond the last.
        active=np.empty(d + 1, np.uint32),
        list_level=np.empty(d, np.uint64),
        buffer=np.empty(n + 1, np.uint32),
        spare=np.empty(n, np.uint32),
        digit_start=np.empty(256, np.uint32),
        stack=np.empty((n + 1, 4), np.uint32),
        class_weights=np.zeros(n_classes),
        class_sizes=np.zeros(n_classes, np.int32),
        side_weights=np.zeros(n_classes),
        best=np.zeros(6),
        tree_size=np.zeros(3, np.int64),
        node_feature_and_side=np.empty(2 * n, np.int32),
        node_threshold=np.empty(2 * n, np.float32),
        node_far_child=np.empty(2 * n, np.int32),
        leaf_weight=np.empty(n, np.float32),
        leaf_size=np.empty(n, np.int32),
        impure_entry_start=np.empty(n + 1, np.int64),
        impure_class=np.empty(n, np.int32),
        impure_weight=np.empty(n, np.float32),
    )


def grow_forest(
    binned: BinnedMatrix,
    y: NDArray[np.uint32],  # (n_samples,)
    n_classes: int,
    params: TreeParams,
    seeds: Sequence[int] | NDArray[np.uint64],
    get_weights: Callable[[int], NDArray[np.float64]],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    on_tree: Callable[[list[Forest]], bool] | None = None,
    distribute: Distribute | None = None,
) -> Forest:
    """Grow one tree per seed, which alone determines the randomness of its tree.

    `get_weights` returns the sample weights of a tree by its position. `on_tree` is called after
    each tree, in order, with the list of trees so far, and stops the forest if it returns True.
    `distribute` yields the trees that a function grows from one position to another, elsewhere.
    """
    grow_one = partial(_grow_one, binned, y, params, seeds, get_weights)
    if distribute is not None:
        grow_block = partial(_grow_block, grow_one, binned, n_classes)
        grown: list[Forest] = []
        for tree in distribute(grow_block, len(seeds)):
            grown.append(tree)
            if on_tree is not None and on_tree(grown):
                break
        return join(grown)
    trees = map_threads(
        grow_one,
        range(len(seeds)),
        lambda: allocate_grow_workspace(binned, n_classes),
        n_jobs=n_jobs,
        verbose=verbose,
        on_result=on_tree,
    )
    return join(trees)


def _grow_one(
    binned: BinnedMatrix,
    y: NDArray[np.uint32],
    params: TreeParams,
    seeds: Sequence[int] | NDArray[np.uint64],
    get_weights: Callable[[int], NDArray[np.float64]],
    workspace: GrowWorkspace,
    tree: int,
) -> Forest:
    weights = get_weights(tree)
    unit, seed = _weight_unit(weights), int(seeds[tree])
    sizes = grow_tree(binned, params, workspace, y, weights, unit, seed)
    return _extract_tree(binned, workspace, *sizes)


def _grow_block(
    grow_one: Callable[[GrowWorkspace, int], Forest],
    binned: BinnedMatrix,
    n_classes: int,
    first: int,
    last: int,
) -> list[Forest]:
    workspace = allocate_grow_workspace(binned, n_classes)
    return [grow_one(workspace, tree) for tree in range(first, last)]


def _weight_unit(weights: NDArray[np.float64]) -> float:
    """Return the weight of one level of the kernel's eight-bit upper bounds."""
    heaviest = float(weights.max(initial=0.0))
    if heaviest <= _MAX_LEVEL and np.array_equal(weights, np.rint(weights)):
        return 1.0
    # Half a level less, because the rounded quotient may otherwise exceed the highest level.
    return heaviest / (_MAX_LEVEL - 0.5)


def _extract_tree(
    binned: BinnedMatrix, workspace: GrowWorkspace, n_nodes: int, n_leaves: int, n_impure: int
) -> Forest:
    """Copy a grown tree from the workspace; its features become columns of the input."""
    code = workspace.node_feature_and_side[:n_nodes]
    feature_and_side = np.where(code >= 0, 2 * binned.column[code >> 1] + (code & 1), 0)
    n_codes = len(workspace.class_weights) + n_impure
    is_narrow = max(len(binned.column), n_nodes, n_codes) <= _NARROW_LIMIT
    codes, links = NARROW_DTYPES if is_narrow else WIDE_DTYPES
    n_entries = int(workspace.impure_entry_start[n_impure])
    return Forest(
        node_start=np.array([0, n_nodes]),
        leaf_start=np.array([0, n_leaves]),
        impure_leaf_start=np.array([0, n_impure]),
        feature_and_side=feature_and_side.astype(codes),
        threshold=workspace.node_threshold[:n_nodes].copy(),
        far_child=workspace.node_far_child[:n_nodes].astype(links),
        leaf_weight=workspace.leaf_weight[:n_leaves].copy(),
        leaf_size=workspace.leaf_size[:n_leaves].copy(),
        impure_entry_start=workspace.impure_entry_start[: n_impure + 1].copy(),
        impure_class=workspace.impure_class[:n_entries].copy(),
        impure_weight=workspace.impure_weight[:n_entries].copy(),
    )
