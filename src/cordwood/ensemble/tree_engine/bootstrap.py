"""Bootstrap samples, as the number of times that each training sample is drawn for a tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import read_only
from cordwood._kernels.jit import Float64Array, Int, UInt32Array, kernel
from cordwood._kernels.random import randbelow, uniform

_ONE = np.uint32(1)


def draw_counts(seed: int, n_samples: int, n_draws: int) -> NDArray[np.uint32]:
    """Return how often each sample is drawn in `n_draws` draws with replacement."""
    counts = np.empty(n_samples, np.uint32)
    draw(int(seed), n_draws, counts)
    return counts


def draw_weighted_counts(
    seeds: Sequence[int] | NDArray[Any], weights: NDArray[np.float64], n_draws: int
) -> NDArray[np.uint32]:
    """Return how often each sample is drawn for each tree, in proportion to its weight."""
    # If all weights are one, the counts are those of `draw_counts`.
    cumulative = read_only(np.cumsum(weights))
    guide = np.empty(len(weights), np.uint32)
    build_guide_table(cumulative, guide)
    counts = np.empty((len(seeds), len(weights)), np.uint32)
    for seed, tree_counts in zip(seeds, counts, strict=True):
        draw_weighted(int(seed), n_draws, cumulative, guide, tree_counts)
    return counts


def pack_in_bag(
    seeds: Sequence[int] | NDArray[np.uint64], n_samples: int, n_draws: int
) -> NDArray[np.uint8]:
    """Return the in-bag mask of each tree, packed by `pack_mask`."""
    # Bit i of a row, counted from the lowest, is set if sample i was drawn for the tree.
    in_bag = np.empty((len(seeds), -(-n_samples // 8)), np.uint8)
    for tree_mask, seed in zip(in_bag, seeds, strict=True):
        tree_mask[:] = pack_mask(draw_counts(seed, n_samples, n_draws) > 0)
    return in_bag


def pack_mask(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack a mask, or one mask per row, into bits; the lowest bit comes first."""
    return np.packbits(mask, axis=-1, bitorder="little")


@kernel
def draw(seed: Int, n_draws: Int, counts: UInt32Array) -> None:
    """Draw samples with replacement and count how often each was drawn."""
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    counts[:] = 0
    for _ in range(n_draws):
        counts[np.uint32(randbelow(state, len(counts)))] += _ONE


@kernel
def build_guide_table(cumulative: Float64Array, guide: UInt32Array) -> None:
    """Write the sample at which the search begins, for n_samples equal parts of the total weight.

    This is the guide table of Chen and Asau (1974) for sampling from a discrete distribution.
    """
    n_samples = len(cumulative)
    total = cumulative[n_samples - 1]
    sample: Int = 0
    for part in range(n_samples):
        while sample < n_samples - 1 and cumulative[sample] <= total * part / n_samples:
            sample += 1
        guide[part] = sample


@kernel
def draw_weighted(
    seed: Int, n_draws: Int, cumulative: Float64Array, guide: UInt32Array, counts: UInt32Array
) -> None:
    """Draw samples in proportion to their weights, whose running sum is `cumulative`."""
    # With the guide table a draw takes about two steps, however unequal the weights are. Samples of
    # equal weight are drawn exactly as by `draw`.
    n_samples = len(cumulative)
    total = cumulative[n_samples - 1]
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    counts[:] = 0
    for _ in range(n_draws):
        fraction = uniform(state)
        point = fraction * total
        sample = np.int64(guide[np.int64(fraction * n_samples)])
        # The boundaries of the parts are rounded, so the search may begin one sample too late.
        while sample > 0 and cumulative[sample - 1] > point:
            sample -= 1
        while sample < n_samples - 1 and cumulative[sample] <= point:
            sample += 1
        counts[sample] += _ONE
