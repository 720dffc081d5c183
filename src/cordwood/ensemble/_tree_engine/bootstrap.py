"""Which documents a tree sees, and how much each weighs there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood.ensemble._tree_engine._kernels_bootstrap import draw, draw_weighted, lay_guide


def draw_counts(seed: int, n_docs: int, n_draws: int) -> NDArray[np.uint32]:
    """Count how often each document is drawn in `n_draws` draws with replacement."""
    counts = np.empty(n_docs, np.uint32)
    draw(int(seed), n_draws, counts)
    return counts


def draw_weighted_counts(
    seeds: Sequence[int] | NDArray[Any], weights: NDArray[np.float64], n_draws: int
) -> NDArray[np.uint32]:
    """Count how often each document is drawn for each tree, in proportion to its weight.

    Parameters
    ----------
    seeds : sequence of int
        One for each tree.
    weights : float64 array of shape (n_docs,)
        Not negative, and not all zero. Weights that are all one give the counts of `draw_counts`.
    n_draws : int

    Returns
    -------
    uint32 array of shape (n_trees, n_docs)

    Examples
    --------
    >>> draw_weighted_counts([0, 1], np.array([0.0, 3.0, 0.0]), 5)
    array([[0, 5, 0],
           [0, 5, 0]], dtype=uint32)
    """
    cumulative = read_only(np.cumsum(weights))
    guide = np.empty(len(weights), np.uint32)
    lay_guide(cumulative, guide)
    counts = np.empty((len(seeds), len(weights)), np.uint32)
    for seed, row in zip(seeds, counts, strict=True):
        draw_weighted(int(seed), n_draws, cumulative, guide, row)
    return counts


def pack(seeds: Sequence[int] | NDArray[np.uint64], n_docs: int, n_draws: int) -> NDArray[np.uint8]:
    """Set bit i of a tree's row, counted from the lowest, where document i is in its bag."""
    bags = np.empty((len(seeds), -(-n_docs // 8)), np.uint8)
    for bag, seed in zip(bags, seeds, strict=True):
        bag[:] = pack_draws(draw_counts(seed, n_docs, n_draws) > 0)
    return bags


def pack_draws(is_drawn: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack which documents were drawn, for one tree or for a tree in each row, as `pack` does."""
    return np.packbits(is_drawn, axis=-1, bitorder="little")
