"""Texts unlike the rest: of words that are rare in other texts, or far from all other texts."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.neighbors.index import CosineIndex, query_index

# With fewer texts, most of them have no similar text.
MIN_SAMPLES = 100

_N_NEIGHBORS = 50
# Weight of the mean rarity of all words, as a number of words, so that texts of one or two words
# are not outliers because of these.
_N_PRIOR_WORDS = 5
# In interquartile ranges above the median; about two above the third quartile.
_MIN_SCORE = 2.5
_BATCH_SIZE = 1000


class Outliers(NamedTuple):
    """Scores of texts, in interquartile ranges above their medians."""

    rarity: NDArray[np.float64]  # mean rarity of the words
    distance: NDArray[np.float64]  # mean distance of the nearest texts

    @property
    def score(self) -> NDArray[np.float64]:
        """The larger of both scores."""
        return np.maximum(self.rarity, self.distance)

    @property
    def ranking(self) -> NDArray[np.intp]:
        """Indices of the outliers, the largest score first."""
        order = np.argsort(-self.score, kind="stable")
        return order[self.score[order] >= _MIN_SCORE]


def score_outliers(
    counts: sp.csr_matrix, index: CosineIndex, cluster: NDArray[np.intp], indexed: NDArray[np.intp]
) -> Outliers:
    """Score texts by the rarity of their words and by the distance of their neighbors."""
    n_neighbors = min(_N_NEIGHBORS, len(indexed) - 1)
    # Near-duplicates are not neighbors of each other: an outlier remains one if it occurs twice.
    groups = cluster.astype(np.int64)
    distance = np.empty(counts.shape[0])
    for first in range(0, counts.shape[0], _BATCH_SIZE):
        batch = slice(first, first + _BATCH_SIZE)
        _, distances = query_index(
            index,
            counts[batch],
            n_neighbors,
            query_groups=groups[batch],
            groups=groups[indexed],
        )
        # A text without words in common with a neighbor has the distance 1.
        distance[batch] = np.minimum(distances, 1).mean(axis=1)
    is_empty = np.diff(counts.indptr) == 0
    return Outliers(
        _standardize(_measure_rarity(counts), is_empty), _standardize(distance, is_empty)
    )


def _measure_rarity(counts: sp.csr_matrix) -> NDArray[np.float64]:
    """Return the mean inverse document frequency, in other texts, of the words of each text."""
    n_samples = counts.shape[0]
    n_texts = np.bincount(counts.indices, minlength=counts.shape[1])
    weights = np.log(n_samples / (n_texts - 0.5))[counts.indices]
    sizes = np.diff(counts.indptr)
    samples = np.repeat(np.arange(n_samples), sizes)
    sums = np.bincount(samples, weights=weights, minlength=n_samples)
    mean = weights.mean() if len(weights) else 0.0
    return np.asarray((sums + _N_PRIOR_WORDS * mean) / (sizes + _N_PRIOR_WORDS))


def _standardize(values: NDArray[np.float64], is_empty: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the distance to the median in interquartile ranges; minus infinity if empty."""
    if is_empty.all():
        return np.full(len(values), -np.inf)
    low, median, high = np.quantile(values[~is_empty], [0.25, 0.5, 0.75])
    scale = max(high - low, 1e-6)
    return np.where(is_empty, -np.inf, (values - median) / scale)
