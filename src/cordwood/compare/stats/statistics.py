"""Statistical tests on paired scores of two learners.

Missing scores are NaN; each function documents how it treats them. `cordwood.compare.stats.ranks`
compares learners over several data sets.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]

_MAX_EXACT = 50
"""Largest number of pairs for which the signed-rank test is exact."""

_LARGE_EFFECT = 4.0
"""Mean difference, in standard deviations of the differences, that a useful t-test must detect.

With normal differences, one learner wins practically every fold at this effect size.
"""


@dataclass(frozen=True)
class PairedTestResult:
    """Result of a two-sided test on paired scores; NaN if there are too few pairs."""

    difference: float  # mean of first minus second
    statistic: float  # t, or the smaller of the two sums of signed ranks
    p_value: float
    n: int  # pairs without a missing score
    # Smallest p-value that a test with this number of pairs can be expected to give: for signed
    # ranks the exact minimum, and for t-tests that of a difference of four standard deviations. If
    # it is not below the significance level, the test cannot distinguish a tie from a difference.
    min_p_value: float


PairedTest = Callable[[Floats, Floats], PairedTestResult]
"""A test of two arrays of scores, such as `paired_t_test`."""


def paired_t_test(a: ArrayLike, b: ArrayLike) -> PairedTestResult:
    """Test whether the scores of two learners on the same folds have the same mean.

    The training sets of the folds of a cross-validation overlap, which makes this test too
    liberal; `corrected_resampled_t_test` takes the overlap into account.

    >>> result = paired_t_test([0.81, 0.79, 0.83, 0.80], [0.78, 0.77, 0.82, 0.76])
    >>> round(result.statistic, 3), round(result.p_value, 3)
    (3.873, 0.03)
    """
    return _t_test(_differences(a, b), overlap=0.0)


def corrected_resampled_t_test(
    differences: ArrayLike, n_train: float, n_test: float
) -> PairedTestResult:
    """Test differences over resampled splits of one data set, whose training sets overlap.

    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003).

    >>> result = corrected_resampled_t_test([0.03, 0.02, 0.01, 0.04], n_train=75, n_test=25)
    >>> round(result.statistic, 3), round(result.p_value, 3)
    (2.535, 0.085)
    """
    # They estimate the variance of the mean of n differences with variance s² by
    # (1/n + n_test/n_train) s².
    return _t_test(_differences(differences, 0.0), overlap=n_test / n_train)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> PairedTestResult:
    """Wilcoxon signed-rank test of the scores of two learners, on folds or on data sets.

    Pairs with equal scores are dropped. Tied absolute differences share their mean rank. Up to 50
    pairs the p-value is exact, also with ties, for which `scipy.stats.wilcoxon` has only an
    approximation; beyond, it is the normal approximation with the variance corrected for ties.

    >>> result = wilcoxon([0.9, 0.8, 0.7, 0.9, 0.6], [0.8, 0.6, 0.4, 0.5, 0.1])
    >>> result.p_value, result.min_p_value
    (0.0625, 0.0625)
    """
    differences = _differences(a, b)
    n = differences.size
    if n == 0:
        return PairedTestResult(math.nan, math.nan, math.nan, 0, math.nan)
    nonzero = differences[differences != 0]
    ranks = stats.rankdata(np.abs(nonzero))
    statistic = float(min(ranks[nonzero > 0].sum(), ranks[nonzero < 0].sum()))
    p_value = _signed_rank_p_value(ranks, statistic) if nonzero.size else 1.0
    return PairedTestResult(float(differences.mean()), statistic, p_value, n, 2.0 ** (1 - n))


def bonferroni(p_values: ArrayLike) -> Floats:
    """Adjust p-values for multiple tests by Bonferroni's method; NaN are not counted.

    >>> bonferroni([0.01, 0.4, 0.02]).tolist()
    [0.03, 1.0, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    return np.minimum(p * np.count_nonzero(~np.isnan(p)), 1.0)


@dataclass(frozen=True)
class BestAndTies:
    """The best learner on a data set, and its comparison with each other learner."""

    best: int | None  # the first of equals; None without scores
    # Of shape (n_learners,): the best one, and those that have the same scores or are not
    # significantly different from it by a test that could have detected a difference.
    tied: NDArray[np.bool_]
    # Of shape (n_learners,): there are too few folds for the test to detect a difference.
    undecided: NDArray[np.bool_]
    p_values: Floats  # of shape (n_learners,), adjusted; NaN for the best one


def best_and_ties(
    scores: ArrayLike, test: PairedTest = paired_t_test, alpha: float = 0.05
) -> BestAndTies:
    """Find the best learner on one data set and the learners that are statistically tied with it.

    Each other learner is tested against the best one, with Bonferroni's correction. A tie is
    reported only if the number of folds is large enough for the test to detect a difference: the
    smallest p-value that the test can be expected to give, see `PairedTestResult.min_p_value`,
    must be below `alpha` after the correction.

    >>> scores = [[0.9, 0.89, 0.5], [0.8, 0.82, 0.4], [0.7, 0.68, 0.3]]
    >>> best_and_ties(scores).tied.tolist()
    [True, True, False]

    Two folds are too few to decide whether the first two learners differ:

    >>> result = best_and_ties(scores[:2])
    >>> result.tied.tolist(), result.undecided.tolist()
    ([False, True, False], [True, False, False])
    """
    table = np.asarray(scores, dtype=np.float64)
    n_learners = table.shape[1]
    p_values = np.full(n_learners, np.nan)
    min_p_values = np.full(n_learners, np.nan)
    table = table[~np.isnan(table).all(axis=1)]
    complete = ~np.isnan(table).any(axis=0)
    if not table.size or not complete.any():
        none = np.zeros(n_learners, dtype=bool)
        return BestAndTies(None, none, none, p_values)
    means = round_off(table[:, complete].mean(axis=0), table[:, complete])
    best = int(np.flatnonzero(complete)[np.argmax(means)])
    for learner in np.flatnonzero(complete):
        if learner != best:
            result = test(table[:, best], table[:, learner])
            p_values[learner], min_p_values[learner] = result.p_value, result.min_p_value
    p_values = bonferroni(p_values)
    is_equal = (table == table[:, [best]]).all(axis=0)
    not_different = complete & ~(p_values < alpha)
    can_differ = bonferroni(min_p_values) < alpha
    tied = not_different & (is_equal | can_differ)
    return BestAndTies(best, tied, not_different & ~tied, p_values)


def round_off(values: Floats, scores: Floats) -> Floats:
    """Round values so that those that differ only by rounding errors of the scores are equal.

    >>> differences = np.array([0.3 - 0.2, 0.2 - 0.1])
    >>> differences.tolist(), round_off(differences, np.array([0.3, 0.2, 0.1])).tolist()
    ([0.09999999999999998, 0.1], [0.1, 0.1])
    """
    largest = np.abs(scores).max(initial=0.0)
    return np.round(values, 12 - math.ceil(math.log10(largest))) if largest else values


def _t_test(differences: Floats, overlap: float) -> PairedTestResult:
    """Student's t-test; the variance of the mean is (1/n + overlap) times that of the values."""
    n = differences.size
    if n == 0:
        return PairedTestResult(math.nan, math.nan, math.nan, 0, math.nan)
    mean = float(differences.mean())
    if n == 1:
        return PairedTestResult(mean, math.nan, math.nan, 1, math.nan)
    variance_factor = 1 / n + overlap
    min_p_value = _t_p_value(_LARGE_EFFECT / math.sqrt(variance_factor), n)
    if np.ptp(differences) == 0:
        t = math.copysign(math.inf, mean) if mean else 0.0
        return PairedTestResult(mean, t, float(not mean), n, min_p_value)
    t = mean / math.sqrt(variance_factor * differences.var(ddof=1))
    return PairedTestResult(mean, t, _t_p_value(t, n), n, min_p_value)


def _t_p_value(t: float, n: int) -> float:
    return float(2 * stats.t.sf(abs(t), n - 1))


def _signed_rank_p_value(ranks: Floats, statistic: float) -> float:
    """Two-sided p-value of the smaller sum of signed ranks."""
    if ranks.size > _MAX_EXACT:
        standard_deviation = math.sqrt((ranks**2).sum() / 4)
        z = (statistic - ranks.sum() / 2) / standard_deviation
        return float(min(2 * stats.norm.cdf(z), 1.0))
    # Tied ranks are multiples of 1/2: doubled, they index the number of sign patterns by rank sum.
    doubled = np.rint(2 * ranks).astype(np.intp)
    n_patterns = np.zeros(doubled.sum() + 1)
    n_patterns[0] = 1.0
    for rank in doubled:
        n_patterns[rank:] += n_patterns[:-rank].copy()
    tail = n_patterns[: round(2 * statistic) + 1].sum() / 2.0**ranks.size
    return float(min(2 * tail, 1.0))


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the differences of all pairs without a missing score."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or second.shape not in ((), first.shape):
        raise ValueError(
            f"scores must be one-dimensional pairs; got shapes {first.shape} and {second.shape}."
        )
    pairs = np.stack([first, np.broadcast_to(second, first.shape)])
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    return round_off(pairs[0] - pairs[1], pairs)
