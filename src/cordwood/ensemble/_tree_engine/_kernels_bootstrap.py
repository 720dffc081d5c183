"""Bootstrap samples as counts: how often each document was drawn for a tree."""

import numpy as np

from cordwood._jit import Floats, Int, Words, kernel
from cordwood._random import below, uniform

_ONE = np.uint32(1)


@kernel
def draw(seed: Int, n_draws: Int, counts: Words) -> None:
    """Draw documents with replacement, and count how often each was drawn."""
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    counts[:] = 0
    for _ in range(n_draws):
        counts[np.uint32(below(state, len(counts)))] += _ONE


@kernel
def lay_guide(cumulative: Floats, guide: Words) -> None:
    """Find which document a search begins at, for each of as many equal parts of the weight."""
    n_docs = len(cumulative)
    total = cumulative[n_docs - 1]
    doc: Int = 0
    for part in range(n_docs):
        while doc < n_docs - 1 and cumulative[doc] <= total * part / n_docs:
            doc += 1
        guide[part] = doc


@kernel
def draw_weighted(seed: Int, n_draws: Int, cumulative: Floats, guide: Words, counts: Words) -> None:
    """Draw documents in proportion to their weights, whose running sum is `cumulative`.

    With the guide of `lay_guide` a draw takes about two steps, however unequal the weights are.
    Documents of equal weight are drawn as `draw` draws them.
    """
    n_docs = len(cumulative)
    total = cumulative[n_docs - 1]
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed)
    counts[:] = 0
    for _ in range(n_draws):
        share = uniform(state)
        point = share * total
        doc = np.int64(guide[np.int64(share * n_docs)])
        # The part's border is rounded, so that the search may have begun too late.
        while doc > 0 and cumulative[doc - 1] > point:
            doc -= 1
        while doc < n_docs - 1 and cumulative[doc] <= point:
            doc += 1
        counts[doc] += _ONE
