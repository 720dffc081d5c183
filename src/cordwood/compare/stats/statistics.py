"""Whether one learner is better than another: tests on scores that were measured in pairs.

Pure functions on arrays. A missing score is NaN; each function says what it does with it. `ranks`
compares learners over data sets, `factorial` takes a designed experiment apart.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]

_EXACT = 50
"""Up to so many pairs the signed-rank test counts all sign patterns instead of approximating."""


@dataclass(frozen=True)
class PairedTest:
    """What a two-sided test on pairs of scores found.

    Parameters
    ----------
    difference : float
        Mean of the differences, first minus second; NaN without pairs.
    statistic : float
        t, or the smaller sum of signed ranks.
    p_value : float
        NaN where there are too few pairs to test anything.
    n : int
        Number of complete pairs; those with a missing score are left out.
    """

    difference: float
    statistic: float
    p_value: float
    n: int


PairTest = Callable[[Floats, Floats], PairedTest]
"""A test of two columns of scores, such as `paired_t_test`."""


def paired_t_test(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Test whether two learners' scores on the same folds have the same mean.

    Folds of one cross-validation share training rows, so this test finds more differences than
    there are; `corrected_resampled_t_test` allows for that.

    Parameters
    ----------
    a, b : array-like of shape (n_folds,)
        Scores of the two learners, fold by fold.

    Returns
    -------
    PairedTest
        With fewer than two pairs, p is NaN. Where all differences are equal, p is 1 if they are
        zero, and otherwise 0 with an infinite t.

    Examples
    --------
    >>> test = paired_t_test([0.81, 0.79, 0.83, 0.80], [0.78, 0.77, 0.82, 0.76])
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (3.873, 0.03)
    """
    return _t_test(_differences(a, b), variance_factor=0.0)


def corrected_resampled_t_test(differences: ArrayLike, n_train: float, n_test: float) -> PairedTest:
    """Test differences over resampled splits of one data set, whose training rows overlap.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        Score of one learner minus score of the other, split by split.
    n_train, n_test : float
        Number of rows in a training part and in a test part; means, where splits differ.

    Returns
    -------
    PairedTest
        Degenerate cases as for `paired_t_test`.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003):
    the variance of the mean is (1/n + n_test/n_train) times that of the differences.

    Examples
    --------
    >>> test = corrected_resampled_t_test([0.03, 0.02, 0.01, 0.04], n_train=75, n_test=25)
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (2.535, 0.085)
    """
    if not (n_train > 0 and n_test > 0):
        raise ValueError(f"n_train and n_test must be above zero, not {n_train} and {n_test}")
    return _t_test(_differences(differences, 0.0), variance_factor=n_test / n_train)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Test by signed ranks whether two learners' scores differ, on folds or on data sets.

    Pairs with equal scores say nothing and are left out of the ranks, as Wilcoxon had it. Equal
    sizes share their mean rank. Up to 50 pairs the p-value is exact, with shared ranks too;
    beyond, it is the normal approximation with the variance corrected for them.

    Parameters
    ----------
    a, b : array-like of shape (n_pairs,)
        Scores of the two learners, pair by pair.

    Returns
    -------
    PairedTest
        If all scores are equal, p is 1; without any pair, NaN.

    Examples
    --------
    >>> wilcoxon([0.9, 0.8, 0.7, 0.9, 0.6], [0.8, 0.6, 0.4, 0.5, 0.1]).p_value
    0.0625
    """
    differences = _differences(a, b)
    if differences.size == 0:
        return PairedTest(math.nan, math.nan, math.nan, 0)
    unequal = differences[differences != 0]
    ranks = stats.rankdata(np.abs(unequal))
    statistic = float(min(ranks[unequal > 0].sum(), ranks[unequal < 0].sum()))
    p_value = _signed_rank_p(ranks, statistic) if unequal.size else 1.0
    return PairedTest(float(differences.mean()), statistic, p_value, differences.size)


def bonferroni(p_values: ArrayLike, m: int | None = None) -> Floats:
    """Correct p-values for the number of tests: each times `m`, at most 1.

    Parameters
    ----------
    p_values : array-like
        NaN stays NaN.
    m : int, optional
        Number of tests; by default that of the p-values which are not NaN.

    Examples
    --------
    >>> bonferroni([0.01, 0.4, 0.02]).tolist()
    [0.03, 1.0, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    return np.minimum(p * (np.count_nonzero(~np.isnan(p)) if m is None else m), 1.0)


def holm(p_values: ArrayLike) -> Floats:
    """Correct p-values for the number of tests, step by step from the smallest.

    As safe as `bonferroni`, and never weaker.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        NaN stays NaN and does not count as a test.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


@dataclass(frozen=True)
class Interval:
    """A mean and where it lies with the stated confidence.

    Parameters
    ----------
    mean, low, high : float
        NaN without values.
    """

    mean: float
    low: float
    high: float


def bootstrap_interval(
    values: ArrayLike, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Draw a confidence interval of a mean out of the values themselves.

    The interval is bias-corrected and accelerated (BCa). Of a handful of folds it is too narrow,
    as all bootstrap intervals are.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Scores, or differences of scores; NaN are left out.
    level : float
        Confidence, between 0 and 1.
    n_resamples : int
        How often the values are drawn anew.
    seed : int
        Decides the draws; the same seed gives the same interval.

    Returns
    -------
    Interval
        Where all values are equal, or there is but one, the interval is that point.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987).

    Examples
    --------
    >>> interval = bootstrap_interval([0.81, 0.79, 0.83, 0.80, 0.84])
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.798, 0.83)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}")
    data = np.asarray(values, dtype=np.float64)
    data = data[~np.isnan(data)]
    if data.size == 0:
        return Interval(math.nan, math.nan, math.nan)
    mean = float(data.mean())
    if np.ptp(data) == 0:
        return Interval(mean, mean, mean)
    rng = np.random.default_rng(seed)
    means = np.array(
        [data[rng.integers(0, data.size, data.size)].mean() for _ in range(n_resamples)]
    )
    deviations = data - mean
    # Half of the ties count as below: with few values a resample often hits the mean itself.
    below = np.mean(means < mean) + np.mean(means == mean) / 2
    bias = stats.norm.ppf(below)
    acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    z = bias + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(means, stats.norm.cdf(bias + z / (1 - acceleration * z)))
    return Interval(mean, float(low), float(high))


@dataclass(frozen=True)
class BestAndTies:
    """Which learner is best, and which others could as well be.

    Parameters
    ----------
    best : int or None
        Column of the highest mean, the first of equals; None without scores.
    tied : ndarray of shape (n_learners,) of bool
        Whether a learner is the best or not significantly different from it.
    p_values : ndarray of shape (n_learners,)
        Against the best, corrected for the number of tests; NaN for the best itself, and where
        no test could be made.
    """

    best: int | None
    tied: NDArray[np.bool_]
    p_values: Floats


def best_and_ties(
    scores: ArrayLike, test: PairTest = paired_t_test, alpha: float = 0.05
) -> BestAndTies:
    """Find the best learner on one data set and those that are statistically tied with it.

    Every other learner is tested against the best, with Bonferroni's correction for these
    tests, as the papers mark their tables.

    Parameters
    ----------
    scores : array-like of shape (n_folds, n_learners)
        Higher is better. A fold that nobody has is left out; a learner that lacks a fold which
        another has takes no part, as its mean is over other folds: it is neither best nor tied.
    test : callable
        Takes two columns and gives a `PairedTest`.
    alpha : float
        Level of significance.

    Returns
    -------
    BestAndTies
        Where no test can be made, as with one fold, nothing is shown to be different: all who
        take part are tied.

    Examples
    --------
    >>> scores = [[0.9, 0.89, 0.5], [0.8, 0.82, 0.4], [0.7, 0.68, 0.3]]
    >>> best_and_ties(scores).tied.tolist()
    [True, True, False]
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"scores must be a table of folds x learners, not of shape {table.shape}")
    p_values = np.full(table.shape[1], np.nan)
    table = table[~np.isnan(table).all(axis=1)]
    complete = ~np.isnan(table).any(axis=0)
    if not table.size or not complete.any():
        return BestAndTies(None, np.zeros(len(p_values), dtype=bool), p_values)
    competing = table[:, complete]
    means = snap(competing.mean(axis=0), competing)
    best = int(np.flatnonzero(complete)[np.argmax(means)])
    for learner in np.flatnonzero(complete):
        if learner != best:
            p_values[learner] = test(table[:, best], table[:, learner]).p_value
    p_values = bonferroni(p_values)
    return BestAndTies(best, complete & ~(p_values < alpha), p_values)


def snap(values: Floats, measured: Floats) -> Floats:
    """Make equal what differs by rounding alone, so that it ties in ranks.

    Parameters
    ----------
    values : ndarray
        Differences, means or the like.
    measured : ndarray
        What they were computed from; its largest entry sets the scale.

    Examples
    --------
    >>> differences = np.array([0.3 - 0.2, 0.2 - 0.1])
    >>> differences.tolist(), snap(differences, np.array([0.3, 0.2, 0.1])).tolist()
    ([0.09999999999999998, 0.1], [0.1, 0.1])
    """
    largest = np.abs(measured).max(initial=0.0)
    return np.round(values, 12 - math.ceil(math.log10(largest))) if largest else values


def _t_test(differences: Floats, variance_factor: float) -> PairedTest:
    """Student's t; the variance of the mean is (1/n + factor) times that of the differences."""
    n = differences.size
    if n == 0:
        return PairedTest(math.nan, math.nan, math.nan, 0)
    mean = float(differences.mean())
    if n == 1:
        return PairedTest(mean, math.nan, math.nan, 1)
    if np.ptp(differences) == 0:
        return PairedTest(mean, math.copysign(math.inf, mean) if mean else 0.0, float(not mean), n)
    t = mean / math.sqrt((1 / n + variance_factor) * differences.var(ddof=1))
    return PairedTest(mean, t, float(2 * stats.t.sf(abs(t), n - 1)), n)


def _signed_rank_p(ranks: Floats, statistic: float) -> float:
    """Two-sided p-value of the smaller sum of signed ranks."""
    if ranks.size > _EXACT:
        spread = math.sqrt((ranks**2).sum() / 4)
        return float(min(2 * stats.norm.cdf((statistic - ranks.sum() / 2) / spread), 1.0))
    # Shared ranks are halves: doubled, they index the number of sign patterns with that sum.
    doubled = np.rint(2 * ranks).astype(np.intp)
    patterns = np.zeros(doubled.sum() + 1)
    patterns[0] = 1.0
    for rank in doubled:
        patterns[rank:] += patterns[:-rank].copy()
    tail = patterns[: round(2 * statistic) + 1].sum() / 2.0**ranks.size
    return float(min(2 * tail, 1.0))


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Subtract pair by pair, without the pairs that lack a score."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or second.shape not in ((), first.shape):
        raise ValueError(f"scores must come in pairs, not in shapes {first.shape}, {second.shape}")
    pairs = np.stack([first, np.broadcast_to(second, first.shape)])
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    return snap(pairs[0] - pairs[1], pairs)
