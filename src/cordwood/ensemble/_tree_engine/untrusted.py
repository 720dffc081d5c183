"""Is this a forest? Asked of arrays that come from a file, before a kernel walks them unchecked."""

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._tree_engine.grower import freeze
from cordwood.ensemble._tree_engine.records import NARROW, WIDE, Forest

_DTYPES = {
    "node_start": np.int64,
    "leaf_start": np.int64,
    "mixed_first": np.int64,
    "threshold": np.float32,
    "leaf_weight": np.float32,
    "leaf_size": np.int32,
    "mixed_start": np.int64,
    "mixed_class": np.int32,
    "mixed_weight": np.float32,
}


def check_forest(forest: Forest, n_classes: int, n_features: int) -> Forest:
    """Give the forest, frozen; raise ValueError unless it is made of trees.

    No walk through it leaves its arrays, and each ends: every step goes to a later node of the
    same tree, and the last node of every tree is a leaf. Every node and mixed leaf is reached in
    one way only, so that laying out a tree takes no more room than it has nodes.
    """
    if not isinstance(forest, Forest):
        raise ValueError(f"a forest is expected, not {type(forest).__name__}")
    is_wide = getattr(forest.split, "dtype", None) == WIDE[0]
    links = dict(zip(("split", "other"), WIDE if is_wide else NARROW, strict=True))
    for name, dtype in {**_DTYPES, **links}.items():
        array = getattr(forest, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"the forest's {name} is not a row of {np.dtype(dtype).name}")
    _check_lengths(forest)
    _check_values(forest, n_classes, n_features)
    _check_links(forest, n_classes)
    return freeze(Forest._make(np.array(array) for array in forest))


def _check_lengths(forest: Forest) -> None:
    n_nodes, n_entries = len(forest.split), len(forest.mixed_class)
    n_leaves = np.count_nonzero(forest.other < 0)
    n_mixed = len(forest.mixed_start) - 1
    # Trees have nodes and leaves, and mixed leaves have classes, but not every tree has such.
    starts = {
        "node_start": (n_nodes, 1),
        "leaf_start": (n_leaves, 1),
        "mixed_start": (n_entries, 1),
        "mixed_first": (n_mixed, 0),
    }
    for name, (n, least) in starts.items():
        start = getattr(forest, name)
        if len(start) < 1 or start[0] != 0 or start[-1] != n or (np.diff(start) < least).any():
            raise ValueError(f"the forest's {name} does not cut its {n} entries into pieces")
    n_census = n_leaves if len(forest.leaf_size) else 0
    lengths = {
        "threshold": n_nodes,
        "other": n_nodes,
        "leaf_weight": n_census,
        "leaf_size": n_census,
        "mixed_weight": n_entries,
        "leaf_start": len(forest.node_start),
        "mixed_first": len(forest.node_start),
    }
    for name, length in lengths.items():
        if len(getattr(forest, name)) != length:
            raise ValueError(f"the forest's {name} is not of length {length}")
    if forest.n_trees < 1:
        raise ValueError("the forest has no trees")


def _check_values(forest: Forest, n_classes: int, n_features: int) -> None:
    tree, position = _places(forest)
    n_nodes, n_codes = np.diff(forest.node_start), n_classes + np.diff(forest.mixed_first)
    n_leaves = np.bincount(tree[forest.other < 0], minlength=forest.n_trees)
    # Complements in 64 bits, where none of them overflows.
    other = forest.other.astype(np.int64)
    ends = forest.threshold == -np.inf
    sound = {
        "leaf_start": n_leaves == np.diff(forest.leaf_start),
        "split": (forest.split >> 1 < n_features)
        & np.where(ends, forest.split == 0, position + 1 < n_nodes[tree]),
        "threshold": np.isfinite(forest.threshold) | ends,
        "other": np.where(
            other >= 0,
            ~ends & (other > position) & (other < n_nodes[tree]),
            ~other < n_codes[tree],
        ),
        "leaf_weight": (forest.leaf_weight > 0) & np.isfinite(forest.leaf_weight),
        "leaf_size": forest.leaf_size > 0,
        "mixed_class": (forest.mixed_class >= 0) & (forest.mixed_class < n_classes),
        "mixed_weight": (forest.mixed_weight >= 0) & np.isfinite(forest.mixed_weight),
    }
    for name, holds in sound.items():
        if not holds.all():
            raise ValueError(f"the forest's {name} points outside of it or is out of range")


def _check_links(forest: Forest, n_classes: int) -> None:
    """Check that all but the roots are reached, once each, now that no link leads outside."""
    tree, _ = _places(forest)
    other = forest.other.astype(np.int64)
    is_mixed = ~other >= n_classes
    following = np.flatnonzero(forest.threshold > -np.inf) + 1
    jumped = (forest.node_start[tree] + other)[other >= 0]
    mixed = (forest.mixed_first[tree] + ~other - n_classes)[is_mixed]
    links = {
        "nodes": (np.concatenate([forest.node_start[:-1], following, jumped]), len(tree)),
        "mixed leaves": (mixed, len(forest.mixed_start) - 1),
    }
    for name, (reached, n) in links.items():
        if len(reached) != n or (np.bincount(reached, minlength=n) != 1).any():
            raise ValueError(f"the forest's {name} are not each reached in exactly one way")


def _places(forest: Forest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each node's tree, and its place in the tree."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_start))
    return tree, np.arange(len(tree)) - forest.node_start[tree]
