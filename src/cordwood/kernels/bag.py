"""Bootstrap samples as counts: how often each document was drawn for a tree."""

import numpy as np

from cordwood.kernels.jit import kernel
from cordwood.kernels.rng import below
from cordwood.kernels.types import Int, Words

_ONE = np.uint32(1)


@kernel
def draw(seed: Int, n_draws: Int, counts: Words) -> None:
    """Draw documents with replacement, and count how often each was drawn."""
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    counts[:] = 0
    for _ in range(n_draws):
        counts[np.uint32(below(state, len(counts)))] += _ONE
