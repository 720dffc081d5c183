"""Compare learners over several data sets by their ranks: average ranks and Nemenyi test.

A data set on which the score of any learner is missing (NaN) is ignored, because ranks among
different sets of learners are not comparable. Each result contains the number of data sets used.

References
----------
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cordwood.compare.stats.statistics import round_off

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Nemenyi:
    """Result of the Nemenyi test of all pairs of learners."""

    ranks: Floats  # average ranks of shape (n_learners,); 1 is the best
    critical_difference: float  # of significantly different ranks
    n_datasets: int  # data sets with a score of every learner

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the maximal groups of learners that are not significantly different, by rank.

        >>> ranks = np.array([1.0, 3.1, 2.0])
        >>> Nemenyi(ranks, 1.2, 9).groups()
        ((0, 2), (2, 1))
        """
        order = np.argsort(self.ranks, kind="stable")
        groups: list[tuple[int, ...]] = []
        last_end = 0
        for start in range(order.size):
            close = self.ranks[order] - self.ranks[order[start]] < self.critical_difference
            end = int(np.flatnonzero(close)[-1]) + 1 if close.any() else start + 1
            if end - start > 1 and end > last_end:
                groups.append(tuple(int(learner) for learner in order[start:end]))
                last_end = end
        return tuple(groups)


def average_ranks(scores: ArrayLike) -> Floats:
    """Rank the learners on each data set, 1 being the highest score, and average the ranks.

    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).tolist()
    [1.0, 2.25, 2.75]
    """
    ranks = _rank(scores)
    return ranks.mean(axis=0) if len(ranks) else np.full(ranks.shape[1], np.nan)


def nemenyi(scores: ArrayLike, alpha: float = 0.05) -> Nemenyi:
    """Nemenyi test: compare all pairs of learners by scores of shape (n_datasets, n_learners).

    The critical difference is NaN with fewer than two learners or without a complete data set.

    >>> result = nemenyi([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.9, 0.7, 0.8], [0.8, 0.6, 0.7]])
    >>> round(result.critical_difference, 2), result.groups()
    (1.66, ((0, 1, 2),))
    """
    ranks = average_ranks(scores)
    n, k = _rank(scores).shape
    if n < 1 or k < 2:
        return Nemenyi(ranks, math.nan, n)
    # The critical difference of k learners on n data sets is q sqrt(k (k + 1) / (6 n)), where q is
    # the alpha quantile of the studentized range with k groups, divided by sqrt(2): the range is in
    # units of the standard error of one average rank; that of the difference of two is larger.
    standard_error = math.sqrt(k * (k + 1) / (6 * n)) / math.sqrt(2)
    quantile = float(stats.studentized_range.isf(alpha, k, np.inf))
    return Nemenyi(ranks, quantile * standard_error, n)


def _rank(scores: ArrayLike) -> Floats:
    """Rank within each complete data set; shape (n_complete_datasets, n_learners)."""
    table = np.asarray(scores, dtype=np.float64)
    complete = table[~np.isnan(table).any(axis=1)]
    if not complete.size:
        return complete
    # Equal means over folds may differ by rounding errors.
    return np.asarray(stats.rankdata(-round_off(complete, complete), axis=1))
