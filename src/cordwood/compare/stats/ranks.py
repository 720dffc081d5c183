"""Learners compared over many data sets by their ranks: Friedman, Nemenyi, Holm.

A data set on which any learner's score is missing (NaN) is left out of all of these: ranks among
different sets of learners do not compare. Each result says how many data sets were left.

References
----------
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cordwood.compare.stats.statistics import holm, snap

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Friedman:
    """Whether the learners differ at all.

    Parameters
    ----------
    ranks : ndarray of shape (n_learners,)
        Average rank of each learner; 1 is best.
    chi2, p_chi2 : float
        Friedman's statistic, corrected for ties, and its p-value.
    f, p_f : float
        Iman and Davenport's statistic, which is less timid, and its p-value.
    n_sets : int
        Number of data sets with a score of every learner.
    """

    ranks: Floats
    chi2: float
    p_chi2: float
    f: float
    p_f: float
    n_sets: int


@dataclass(frozen=True)
class Nemenyi:
    """Which learners differ from which.

    Parameters
    ----------
    ranks : ndarray of shape (n_learners,)
        Average rank of each learner; 1 is best.
    critical_difference : float
        Learners whose average ranks are at least so far apart differ significantly.
    p_values : ndarray of shape (n_learners, n_learners)
        Of each pair, corrected for the number of pairs; 1 on the diagonal.
    n_sets : int
        Number of data sets with a score of every learner.
    """

    ranks: Floats
    critical_difference: float
    p_values: Floats
    n_sets: int

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """List the largest groups of learners that do not differ, best first; none of one.

        Examples
        --------
        >>> apart = np.array([1.0, 3.1, 2.0])
        >>> Nemenyi(apart, 1.2, np.ones((3, 3)), 9).groups()
        ((0, 2), (2, 1))
        """
        order = np.argsort(self.ranks, kind="stable")
        groups: list[tuple[int, ...]] = []
        last_end = 0
        for start in range(order.size):
            near = self.ranks[order] - self.ranks[order[start]] < self.critical_difference
            end = int(np.flatnonzero(near)[-1]) + 1 if near.any() else start + 1
            if end - start > 1 and end > last_end:
                groups.append(tuple(int(learner) for learner in order[start:end]))
                last_end = end
        return tuple(groups)


def average_ranks(scores: ArrayLike) -> Floats:
    """Rank the learners on each data set, and average; 1 is best, equals share their mean rank.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_learners)
        Higher is better.

    Returns
    -------
    ndarray of shape (n_learners,)
        NaN if no data set has a score of every learner.

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).tolist()
    [1.0, 2.25, 2.75]
    """
    ranks = _ranks(scores)
    return ranks.mean(axis=0) if len(ranks) else np.full(ranks.shape[1], np.nan)


def friedman(scores: ArrayLike) -> Friedman:
    """Test whether all learners are equally good over the data sets.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_learners)
        Higher is better.

    Returns
    -------
    Friedman
        With fewer than two learners or two complete data sets there is nothing to test, and the
        statistics are NaN. Where every data set is one great tie both statistics are 0 and p is 1;
        where all data sets agree on one order, F is infinite and its p is 0.

    Examples
    --------
    >>> test = friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.9, 0.7, 0.8], [0.8, 0.6, 0.7]])
    >>> test.ranks.tolist(), round(test.chi2, 3), round(test.p_chi2, 3)
    ([1.0, 2.5, 2.5], 6.0, 0.05)
    """
    ranks = _ranks(scores)
    n, k = ranks.shape
    if n < 2 or k < 2:
        return Friedman(average_ranks(scores), *(math.nan,) * 4, n)
    mean = ranks.mean(axis=0)
    # The variance of the ranks as they are, ties and all, which is k(k+1)/12 where there are none.
    variance = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1))
    chi2 = float(n * ((mean - (k + 1) / 2) ** 2).sum() / variance) if variance else 0.0
    rest = n * (k - 1) - chi2
    f = (n - 1) * chi2 / rest if rest > 1e-9 else math.inf
    return Friedman(
        mean,
        chi2,
        float(stats.chi2.sf(chi2, k - 1)),
        f,
        float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        n,
    )


def nemenyi(scores: ArrayLike, alpha: float = 0.05) -> Nemenyi:
    """Compare every learner with every other over the data sets.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_learners)
        Higher is better.
    alpha : float
        Level of significance of the critical difference.

    Returns
    -------
    Nemenyi
        With fewer than two learners, or without a complete data set, critical difference and
        p-values are NaN.

    Examples
    --------
    >>> result = nemenyi([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.9, 0.7, 0.8], [0.8, 0.6, 0.7]])
    >>> round(result.critical_difference, 2), result.groups()
    (1.66, ((0, 1, 2),))
    """
    ranks = average_ranks(scores)
    n, k = _ranks(scores).shape
    if n < 1 or k < 2:
        return Nemenyi(ranks, math.nan, np.full((k, k), np.nan), n)
    # The studentized range is in units of one learner's spread, a difference of two has sqrt(2).
    unit = _spread(n, k) / math.sqrt(2)
    distances = np.abs(ranks[:, None] - ranks[None, :]) / unit
    p_values = np.ones((k, k))
    # One pair, one integral: each is slow.
    upper = np.triu_indices(k, 1)
    p_values[upper] = stats.studentized_range.sf(distances[upper], k, np.inf)
    p_values.T[upper] = p_values[upper]
    quantile = float(stats.studentized_range.isf(alpha, k, np.inf))
    return Nemenyi(ranks, quantile * unit, np.clip(p_values, 0.0, 1.0), n)


def compare_with_control(scores: ArrayLike, control: int) -> Floats:
    """Compare every learner with one, by ranks over the data sets, with Holm's correction.

    Stronger than `nemenyi` where one learner was the question from the start.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_learners)
        Higher is better.
    control : int
        Column of the learner that the others are compared with.

    Returns
    -------
    ndarray of shape (n_learners,)
        Corrected p-values; NaN for the control, and for all without a complete data set.

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.9, 0.7, 0.8], [0.8, 0.6, 0.7]]
    >>> compare_with_control(scores, control=0).round(3).tolist()
    [nan, 0.068, 0.068]
    """
    ranks = average_ranks(scores)
    n, k = _ranks(scores).shape
    if not 0 <= control < k:
        raise ValueError(f"control must be a column from 0 to {k - 1}, not {control}")
    if n < 1:
        return np.full(k, np.nan)
    p_values = 2 * stats.norm.sf(np.abs(ranks - ranks[control]) / _spread(n, k))
    p_values[control] = np.nan
    return holm(p_values)


def _ranks(scores: ArrayLike) -> Floats:
    """Rank within each complete data set; shape (n_complete_sets, n_learners)."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"scores must be a table of sets x learners, not of shape {table.shape}")
    complete = table[~np.isnan(table).any(axis=1)]
    if not complete.size:
        return complete
    # Means over folds that are equal on paper may differ in the last bit.
    return np.asarray(stats.rankdata(-snap(complete, complete), axis=1))


def _spread(n_sets: int, n_learners: int) -> float:
    """Standard error of the difference of two average ranks."""
    return math.sqrt(n_learners * (n_learners + 1) / (6 * n_sets))
