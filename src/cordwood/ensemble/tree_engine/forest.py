"""The `Forest` record: fitted trees in flat arrays, and the validation of forests from files."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import read_only

# Types of a forest's `feature_and_side` and `far_child`.
NARROW_DTYPES: tuple[type, type] = (np.uint16, np.int16)
WIDE_DTYPES: tuple[type, type] = (np.uint32, np.int32)


class Forest(NamedTuple):
    """Fitted trees, one after another in flat read-only arrays.

    A node takes eight bytes, or twelve in a wide forest: see `feature_and_side`. Its larger child
    is the next node; the other child, the far child, is found through `far_child`. A leaf is
    identified by the one node that refers to it in `far_child`; a leaf that is a far child has no
    node of its own.
    """

    # (n_trees + 1,): where each tree's nodes, leaves and impure leaves begin. Leaves are in the
    # order of the nodes that refer to them.
    node_start: NDArray[np.int64]
    leaf_start: NDArray[np.int64]  # (n_trees + 1,)
    impure_leaf_start: NDArray[np.int64]  # (n_trees + 1,)
    # (n_nodes,): twice the feature, plus one if the next node is for values above the threshold. It
    # is stored in 16 bits, and so is `far_child`, if that is enough for all trees; otherwise the
    # forest is wide.
    feature_and_side: NDArray[np.uint16] | NDArray[np.uint32]
    # (n_nodes,): minus infinity at a leaf node: no value is left for a next node.
    threshold: NDArray[np.float32]
    # (n_nodes,): the far child, relative to the tree's first node; or the bitwise complement of a
    # leaf code. A code below n_classes is the class of a pure leaf; a code from n_classes on is
    # n_classes plus the number of an impure leaf, relative to the tree's first.
    far_child: NDArray[np.int16] | NDArray[np.int32]
    # (n_leaves,): leaf statistics: total weight and number of the training samples in each leaf.
    # Both are empty in a forest without leaf statistics.
    leaf_weight: NDArray[np.float32]
    leaf_size: NDArray[np.int32]
    # (n_impure_leaves + 1,): where the classes of each impure leaf begin.
    impure_entry_start: NDArray[np.int64]
    # (n_entries,): the classes of each impure leaf and their weights.
    impure_class: NDArray[np.int32]
    impure_weight: NDArray[np.float32]  # (n_entries,)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.node_start) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaf_start[-1])

    @property
    def is_wide(self) -> bool:
        """Whether nodes are stored in 32-bit rather than 16-bit integers."""
        return self.feature_and_side.dtype == WIDE_DTYPES[0]

    @property
    def has_leaf_stats(self) -> bool:
        """Whether the weights and numbers of samples in the leaves are stored."""
        return len(self.leaf_size) == self.n_leaves


def join(forests: Sequence[Forest]) -> Forest:
    """Concatenate forests.

    The result is wide if any of them is, and has leaf statistics if all of them have.
    """
    codes, links = WIDE_DTYPES if any(forest.is_wide for forest in forests) else NARROW_DTYPES
    with_stats = forests if all(forest.has_leaf_stats for forest in forests) else []
    return freeze(
        Forest(
            node_start=_join_starts([forest.node_start for forest in forests]),
            leaf_start=_join_starts([forest.leaf_start for forest in forests]),
            impure_leaf_start=_join_starts([forest.impure_leaf_start for forest in forests]),
            feature_and_side=_concatenate([forest.feature_and_side for forest in forests], codes),
            threshold=_concatenate([forest.threshold for forest in forests], np.float32),
            far_child=_concatenate([forest.far_child for forest in forests], links),
            leaf_weight=_concatenate([forest.leaf_weight for forest in with_stats], np.float32),
            leaf_size=_concatenate([forest.leaf_size for forest in with_stats], np.int32),
            impure_entry_start=_join_starts([forest.impure_entry_start for forest in forests]),
            impure_class=_concatenate([forest.impure_class for forest in forests], np.int32),
            impure_weight=_concatenate([forest.impure_weight for forest in forests], np.float32),
        )
    )


def freeze(forest: Forest) -> Forest:
    """Make the arrays read-only, so that one compiled version serves fitted and loaded forests."""
    return Forest._make(read_only(array) for array in forest)


def drop_leaf_stats(forest: Forest) -> Forest:
    """Return the same trees without leaf statistics."""
    return freeze(
        forest._replace(leaf_weight=np.empty(0, np.float32), leaf_size=np.empty(0, np.int32))
    )


def rename_features(forest: Forest, columns: NDArray[np.int32] | None) -> Forest:
    """Return the same trees where feature i is called `columns[i]`; None changes nothing."""
    if columns is None:
        return forest
    # Leaf nodes refer to feature 0, whether or not there is one.
    is_leaf = forest.threshold == -np.inf
    codes: NDArray[np.uint32] = np.zeros(len(is_leaf), np.uint32)
    code = forest.feature_and_side[~is_leaf]
    codes[~is_leaf] = 2 * columns.astype(np.uint32)[code >> 1] + (code & 1)
    return freeze(
        forest._replace(
            feature_and_side=codes,
            far_child=forest.far_child.astype(WIDE_DTYPES[1]),
        )
    )


def number_features(forest: Forest) -> tuple[Forest, NDArray[np.int64]]:
    """Return the same trees with the features that they split on numbered from 0, and these."""
    # The inverse of `rename_features`. The features are sorted, and include feature 0.
    features, number = np.unique(forest.feature_and_side >> 1, return_inverse=True)
    codes = (2 * number + (forest.feature_and_side & 1)).astype(forest.feature_and_side.dtype)
    return freeze(forest._replace(feature_and_side=codes)), features.astype(np.int64)


def take_trees(forest: Forest, first: int, last: int) -> Forest:
    """Return the trees from `first` to before `last` as a forest."""
    nodes, leaves, impure = (
        slice(start[first], start[last])
        for start in (forest.node_start, forest.leaf_start, forest.impure_leaf_start)
    )
    entry_start = forest.impure_entry_start[impure.start : impure.stop + 1]
    entries = slice(entry_start[0], entry_start[-1])
    return freeze(
        Forest(
            node_start=forest.node_start[first : last + 1] - nodes.start,
            leaf_start=forest.leaf_start[first : last + 1] - leaves.start,
            impure_leaf_start=forest.impure_leaf_start[first : last + 1] - impure.start,
            feature_and_side=forest.feature_and_side[nodes],
            threshold=forest.threshold[nodes],
            far_child=forest.far_child[nodes],
            leaf_weight=forest.leaf_weight[leaves],
            leaf_size=forest.leaf_size[leaves],
            impure_entry_start=entry_start - entries.start,
            impure_class=forest.impure_class[entries],
            impure_weight=forest.impure_weight[entries],
        )
    )


def leaf_index(forest: Forest, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Convert leaves returned by `apply` to consecutive indices from 0 to `forest.n_leaves - 1`."""
    return np.cumsum(forest.far_child < 0)[nodes] - 1


def _join_starts(starts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Concatenate arrays of offsets, each of which begins at zero and ends with its length."""
    offsets = np.cumsum([0, *(int(start[-1]) for start in starts)])
    shifted = [start[:-1] + offset for start, offset in zip(starts, offsets[:-1], strict=True)]
    return np.concatenate([*shifted, offsets[-1:]]).astype(np.int64)


def _concatenate(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)


# --- validation of untrusted forests ----------------------------------------------------------

_DTYPES = {
    "node_start": np.int64,
    "leaf_start": np.int64,
    "impure_leaf_start": np.int64,
    "threshold": np.float32,
    "leaf_weight": np.float32,
    "leaf_size": np.int32,
    "impure_entry_start": np.int64,
    "impure_class": np.int32,
    "impure_weight": np.float32,
}


def check_forest(forest: Forest, n_classes: int, n_features: int) -> Forest:
    """Return a read-only copy of a forest from an untrusted file, or raise ValueError."""
    # Kernels do not check bounds.
    # In a valid forest no path leaves the arrays, and every path ends: each step goes to a later
    # node of the same tree, and the last node of every tree is a leaf. Every node and every impure
    # leaf has exactly one parent, so that expanding a tree takes no more memory than it has nodes.
    if not isinstance(forest, Forest):
        raise ValueError(f"Expected a forest; got {type(forest).__name__}.")
    is_wide = getattr(forest.feature_and_side, "dtype", None) == WIDE_DTYPES[0]
    node_dtypes = WIDE_DTYPES if is_wide else NARROW_DTYPES
    links = dict(zip(("feature_and_side", "far_child"), node_dtypes, strict=True))
    for name, dtype in {**_DTYPES, **links}.items():
        array = getattr(forest, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(
                f"Invalid forest: {name} must be a one-dimensional array of type "
                f"{np.dtype(dtype).name}."
            )
    _check_lengths(forest)
    _check_values(forest, n_classes, n_features)
    _check_links(forest, n_classes)
    return freeze(Forest._make(np.array(array) for array in forest))


def _check_lengths(forest: Forest) -> None:
    n_nodes, n_entries = len(forest.feature_and_side), len(forest.impure_class)
    n_leaves = np.count_nonzero(forest.far_child < 0)
    n_impure = len(forest.impure_entry_start) - 1
    # Every tree has nodes and leaves, and every impure leaf has classes, but a tree may have no
    # impure leaves.
    starts = {
        "node_start": (n_nodes, 1),
        "leaf_start": (n_leaves, 1),
        "impure_entry_start": (n_entries, 1),
        "impure_leaf_start": (n_impure, 0),
    }
    for name, (n, min_length) in starts.items():
        start = getattr(forest, name)
        valid = len(start) >= 1 and start[0] == 0 and start[-1] == n
        if not valid or (np.diff(start) < min_length).any():
            raise ValueError(
                f"Invalid forest: {name} must increase from 0 to the number of entries, {n}."
            )
    n_stats = n_leaves if len(forest.leaf_size) else 0
    lengths = {
        "threshold": n_nodes,
        "far_child": n_nodes,
        "leaf_weight": n_stats,
        "leaf_size": n_stats,
        "impure_weight": n_entries,
        "leaf_start": len(forest.node_start),
        "impure_leaf_start": len(forest.node_start),
    }
    for name, length in lengths.items():
        if len(getattr(forest, name)) != length:
            raise ValueError(f"Invalid forest: {name} must have length {length}.")
    if forest.n_trees < 1:
        raise ValueError("Invalid forest: it has no trees.")


def _check_values(forest: Forest, n_classes: int, n_features: int) -> None:
    tree, position = _node_positions(forest)
    n_nodes = np.diff(forest.node_start)
    n_codes = n_classes + np.diff(forest.impure_leaf_start)
    n_leaves = np.bincount(tree[forest.far_child < 0], minlength=forest.n_trees)
    # 64 bits, in which no complement overflows.
    far_child = forest.far_child.astype(np.int64)
    is_leaf = forest.threshold == -np.inf
    valid = {
        "leaf_start": n_leaves == np.diff(forest.leaf_start),
        "feature_and_side": (forest.feature_and_side >> 1 < n_features)
        & np.where(is_leaf, forest.feature_and_side == 0, position + 1 < n_nodes[tree]),
        "threshold": np.isfinite(forest.threshold) | is_leaf,
        "far_child": np.where(
            far_child >= 0,
            ~is_leaf & (far_child > position) & (far_child < n_nodes[tree]),
            ~far_child < n_codes[tree],
        ),
        "leaf_weight": (forest.leaf_weight > 0) & np.isfinite(forest.leaf_weight),
        "leaf_size": forest.leaf_size > 0,
        "impure_class": (forest.impure_class >= 0) & (forest.impure_class < n_classes),
        "impure_weight": (forest.impure_weight >= 0) & np.isfinite(forest.impure_weight),
    }
    for name, is_valid in valid.items():
        if not is_valid.all():
            raise ValueError(f"Invalid forest: {name} has values that are out of range.")


def _check_links(forest: Forest, n_classes: int) -> None:
    """Check that each node but the roots, and each impure leaf, has exactly one parent."""
    tree, _ = _node_positions(forest)
    far_child = forest.far_child.astype(np.int64)
    is_impure = ~far_child >= n_classes
    next_nodes = np.flatnonzero(forest.threshold > -np.inf) + 1
    far_nodes = (forest.node_start[tree] + far_child)[far_child >= 0]
    impure = (forest.impure_leaf_start[tree] + ~far_child - n_classes)[is_impure]
    links = {
        "nodes": (np.concatenate([forest.node_start[:-1], next_nodes, far_nodes]), len(tree)),
        "impure leaves": (impure, len(forest.impure_entry_start) - 1),
    }
    for name, (targets, n) in links.items():
        if len(targets) != n or (np.bincount(targets, minlength=n) != 1).any():
            raise ValueError(f"Invalid forest: {name} must each have exactly one parent.")


def _node_positions(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each node's tree and its position in the tree."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_start))
    return tree, np.arange(len(tree)) - forest.node_start[tree]
