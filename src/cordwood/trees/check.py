"""Is this a forest? Asked of arrays that come from a file, before a kernel walks them unchecked."""

import numpy as np
from numpy.typing import NDArray

from cordwood.trees.forest import freeze
from cordwood.trees.records import Forest

_DTYPES = {
    "node_start": np.int64,
    "leaf_start": np.int64,
    "split": np.int32,
    "threshold": np.float32,
    "other": np.int32,
    "leaf_class": np.int32,
    "leaf_weight": np.float32,
    "leaf_size": np.int32,
    "mixed_start": np.int64,
    "mixed_class": np.int32,
    "mixed_weight": np.float32,
}


def check_forest(forest: Forest, n_classes: int, n_features: int) -> Forest:
    """Give the forest, frozen; raise ValueError unless it is made of trees.

    No walk through it leaves its arrays, and each ends: every step goes to a later node of the
    same tree, and the last node of every tree is a leaf. Every node, leaf and mixed leaf is
    reached in one way only, so that laying out a tree takes no more room than it has nodes.
    """
    if not isinstance(forest, Forest):
        raise ValueError(f"a forest is expected, not {type(forest).__name__}")
    for name, dtype in _DTYPES.items():
        array = getattr(forest, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"the forest's {name} is not a row of {np.dtype(dtype).name}")
    _check_lengths(forest)
    _check_values(forest, n_classes, n_features)
    _check_links(forest)
    return freeze(Forest._make(np.array(array) for array in forest))


def _check_lengths(forest: Forest) -> None:
    n_nodes, n_leaves, n_entries = map(len, (forest.split, forest.leaf_class, forest.mixed_class))
    starts = {"node_start": n_nodes, "leaf_start": n_leaves, "mixed_start": n_entries}
    for name, n in starts.items():
        start = getattr(forest, name)
        if len(start) < 1 or start[0] != 0 or start[-1] != n or (np.diff(start) < 1).any():
            raise ValueError(f"the forest's {name} does not cut its {n} entries into pieces")
    lengths = {
        "threshold": n_nodes,
        "other": n_nodes,
        "leaf_weight": n_leaves,
        "leaf_size": n_leaves,
        "mixed_weight": n_entries,
        "leaf_start": len(forest.node_start),
    }
    for name, length in lengths.items():
        if len(getattr(forest, name)) != length:
            raise ValueError(f"the forest's {name} is not of length {length}")
    if forest.n_trees < 1:
        raise ValueError("the forest has no trees")


def _check_values(forest: Forest, n_classes: int, n_features: int) -> None:
    n_mixed = len(forest.mixed_start) - 1
    tree, position = _places(forest)
    n_nodes, n_leaves = np.diff(forest.node_start)[tree], np.diff(forest.leaf_start)[tree]
    # Complements in 64 bits, where none of them overflows.
    other, leaf_class = forest.other.astype(np.int64), forest.leaf_class.astype(np.int64)
    inner = forest.split >= 0
    sound = {
        "split": (forest.split >= -1)
        & (forest.split >> 1 < n_features)
        & (~inner | (position + 1 < n_nodes)),
        "threshold": np.isfinite(forest.threshold),
        "other": np.where(
            other >= 0, inner & (other > position) & (other < n_nodes), ~other < n_leaves
        ),
        "leaf_class": (leaf_class < n_classes) & (~leaf_class < n_mixed),
        "leaf_weight": (forest.leaf_weight > 0) & np.isfinite(forest.leaf_weight),
        "leaf_size": forest.leaf_size > 0,
        "mixed_class": (forest.mixed_class >= 0) & (forest.mixed_class < n_classes),
        "mixed_weight": (forest.mixed_weight >= 0) & np.isfinite(forest.mixed_weight),
    }
    for name, holds in sound.items():
        if not holds.all():
            raise ValueError(f"the forest's {name} points outside of it or is out of range")


def _check_links(forest: Forest) -> None:
    """Check that all but the roots are reached, once each, now that no link leads outside."""
    tree, _ = _places(forest)
    jumps = forest.other >= 0
    following = np.flatnonzero(forest.split >= 0) + 1
    jumped = (forest.node_start[tree] + forest.other)[jumps]
    leaves = (forest.leaf_start[tree] + ~forest.other)[~jumps]
    mixed = ~forest.leaf_class[forest.leaf_class < 0]
    links = {
        "nodes": (np.concatenate([forest.node_start[:-1], following, jumped]), len(tree)),
        "leaves": (leaves, len(forest.leaf_class)),
        "mixed leaves": (mixed, len(forest.mixed_start) - 1),
    }
    for name, (reached, n) in links.items():
        if len(reached) != n or (np.bincount(reached, minlength=n) != 1).any():
            raise ValueError(f"the forest's {name} are not each reached in exactly one way")


def _places(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each node's tree, and its place in the tree."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_start))
    return tree, np.arange(len(tree)) - forest.node_start[tree]
