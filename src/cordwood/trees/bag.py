"""Which documents a tree sees, and how much each weighs there."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.bag import draw


def draw_counts(seed: int, n_docs: int, n_draws: int) -> NDArray[np.uint32]:
    """Count how often each document is drawn in `n_draws` draws with replacement."""
    counts = np.empty(n_docs, np.uint32)
    draw(int(seed), n_draws, counts)
    return counts


def pack(seeds: Sequence[int] | NDArray[np.uint64], n_docs: int, n_draws: int) -> NDArray[np.uint8]:
    """Set bit i of a tree's row, counted from the lowest, where document i is in its bag."""
    bags = np.empty((len(seeds), -(-n_docs // 8)), np.uint8)
    for bag, seed in zip(bags, seeds, strict=True):
        bag[:] = np.packbits(draw_counts(seed, n_docs, n_draws) > 0, bitorder="little")
    return bags
