import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cordwood.compare.stats.statistics import (
    best_and_ties,
    bonferroni,
    corrected_resampled_t_test,
    paired_t_test,
    wilcoxon,
)

# Demšar (2006), Table 2: AUC of C4.5 without and with tuned m, on 14 data sets.
C45 = [
    0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957,
]  # fmt: skip
C45_M = [
    0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978,
]  # fmt: skip

scores = st.floats(0, 1).map(lambda score: round(score, 3))
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=12)


@given(pairs)
@settings(deadline=None, max_examples=60)
def test_paired_t_test_matches_scipy(pairs):
    a, b = np.array(pairs).T
    ours = paired_t_test(a, b)
    difference = np.round(a - b, 12)
    if np.ptp(difference) == 0:
        assert ours.p_value == (1.0 if difference[0] == 0 else 0.0)
    else:
        theirs = stats.ttest_1samp(difference, 0.0)
        assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-9)
        assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-9)
    assert ours.difference == pytest.approx(difference.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "statistic", "p_value", "n"),
    [
        ([0.5, 0.5], [0.5, 0.5], 0.0, 1.0, 2),
        ([0.3, 0.2], [0.2, 0.1], math.inf, 0.0, 2),  # equal up to rounding errors
        ([0.1, 0.2], [0.2, 0.3], -math.inf, 0.0, 2),
        ([0.5], [0.4], math.nan, math.nan, 1),
        ([], [], math.nan, math.nan, 0),
        ([0.5, math.nan, 0.4], [math.nan, 0.5, 0.4], math.nan, math.nan, 1),
        ([math.nan] * 2, [math.nan] * 2, math.nan, math.nan, 0),
    ],
)
def test_paired_t_test_of_degenerate_pairs(a, b, statistic, p_value, n):
    result = paired_t_test(a, b)
    assert (result.statistic, result.p_value) == pytest.approx((statistic, p_value), nan_ok=True)
    assert result.n == n


def test_paired_t_test_of_two_folds_has_one_degree_of_freedom():
    # t = 0.2 / (0.1 * sqrt(2) / sqrt(2)) = 2; a Cauchy tail has 1/2 - atan(2)/pi beyond 2.
    result = paired_t_test([0.8, 0.9], [0.7, 0.6])
    assert result.statistic == pytest.approx(2.0)
    assert result.p_value == pytest.approx(1 - 2 * math.atan(2) / math.pi)


def test_pairs_with_a_missing_score_are_ignored():
    assert paired_t_test([1, 2, 4, math.nan], [0, 0, 0, 9]) == paired_t_test([1, 2, 4], [0, 0, 0])


def test_unequal_lengths_raise():
    with pytest.raises(ValueError, match="pairs"):
        paired_t_test([0.1, 0.2], [0.1])


def test_corrected_t_test_accounts_for_the_overlap():
    # Nadeau and Bengio: sqrt(1/n) becomes sqrt(1/n + n_test/n_train).
    differences = np.array([0.02, 0.01, 0.03, -0.01, 0.02, 0.04, 0.0, 0.01, 0.02, 0.03])
    plain = stats.ttest_1samp(differences, 0.0)
    corrected = corrected_resampled_t_test(differences, n_train=90, n_test=10)
    expected = plain.statistic * math.sqrt((1 / 10) / (1 / 10 + 1 / 9))
    assert corrected.statistic == pytest.approx(expected)
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(expected, 9))


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
@settings(deadline=None, max_examples=60)
def test_wilcoxon_is_exact_with_ties(differences):
    values = np.array([value for value in differences if value])
    ranks = stats.rankdata(np.abs(values))
    signs = np.array(list(product([0, 1], repeat=len(values))))
    sums = np.minimum(signs @ ranks, (1 - signs) @ ranks)
    observed = min(ranks[values > 0].sum(), ranks[values < 0].sum())
    expected = np.mean(sums <= observed)
    assert wilcoxon(differences, np.zeros(len(differences))).p_value == pytest.approx(expected)


def test_wilcoxon_matches_exact_scipy():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.3, 1, 40), rng.normal(0, 1, 40)
    theirs = stats.wilcoxon(a, b, method="exact")
    ours = wilcoxon(a, b)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_wilcoxon_matches_approximate_scipy():
    rng = np.random.default_rng(4)
    differences = rng.integers(-5, 8, 80)
    theirs = stats.wilcoxon(differences, zero_method="wilcox")  # 80 pairs: not exact
    ours = wilcoxon(differences, np.zeros(80))
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_wilcoxon_of_demsars_example():
    # Demšar splits the ranks of the two zero differences between both sums (1.5 each): T = 12.
    # Without these pairs each of the other ranks is two less: 12 - 1.5 - 2 * 2.
    result = wilcoxon(C45, C45_M)
    assert (result.statistic, result.n) == (6.5, 14)
    assert result.p_value < 0.05  # "we reject the null-hypothesis"


@pytest.mark.parametrize(
    ("a", "b", "p_value"),
    [
        ([0.5, 0.5], [0.5, 0.5], 1.0),
        ([0.5], [0.4], 1.0),
        ([], [], math.nan),
        ([math.nan], [0.1], math.nan),
    ],
)
def test_wilcoxon_of_degenerate_pairs(a, b, p_value):
    assert wilcoxon(a, b).p_value == pytest.approx(p_value, nan_ok=True)


def test_wilcoxon_ignores_rounding_errors():
    assert 0.3 - 0.2 != 0.2 - 0.1
    assert wilcoxon([0.3, 0.1, 0.9], [0.2, 0.2, 0.3]).statistic == 1.5


def test_bonferroni_matches_statsmodels():
    # statsmodels 0.14, multipletests(method="bonferroni").
    assert bonferroni([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.04, 0.16, 0.12, 0.02])


def test_bonferroni_does_not_count_missing_tests():
    assert bonferroni([0.02, math.nan]) == pytest.approx([0.02, math.nan], nan_ok=True)
    assert bonferroni([]).size == 0


@pytest.mark.parametrize("n", range(1, 9))
def test_min_p_value_of_wilcoxon_is_attained_by_equal_signs(n):
    result = wilcoxon(np.arange(1, n + 1), np.zeros(n))
    assert result.min_p_value == result.p_value == 2 / 2**n


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("n_train", [math.inf, 80])
def test_min_p_value_of_t_tests_is_that_of_four_standard_deviations(n, n_train):
    differences = np.linspace(-1, 1, n)
    differences += 4 * differences.std(ddof=1)
    result = corrected_resampled_t_test(differences, n_train, 20)
    assert result.min_p_value == pytest.approx(result.p_value)


def test_best_and_ties_adjusts_for_the_number_of_tests():
    best = np.array([0.80, 0.82, 0.84, 0.86, 0.88])
    other = best - [0.01, 0.03, 0.02, 0.04, 0.00]
    pair = best_and_ties(np.column_stack([other, best]))
    raw = stats.ttest_rel(best, other).pvalue
    assert 0.05 / 3 < raw < 0.05
    assert pair.best == 1
    assert pair.tied.tolist() == [False, True]
    assert pair.p_values == pytest.approx([raw, math.nan], nan_ok=True)
    four = best_and_ties(np.column_stack([other, best, other / 2, best / 2]))
    assert four.tied.tolist() == [True, True, False, False]
    assert four.p_values[0] == pytest.approx(3 * raw)


def test_best_and_ties_uses_the_given_test():
    scores = np.array([[0.9, 0.8], [0.9, 0.79], [0.9, 0.81]])
    assert best_and_ties(scores).tied.tolist() == [True, False]
    # Three pairs cannot be significant by signed ranks.
    result = best_and_ties(scores, test=wilcoxon)
    assert result.tied.tolist() == [True, False]
    assert result.undecided.tolist() == [False, True]
    # Nor by any test at this level.
    assert best_and_ties(scores, alpha=1e-9).undecided.tolist() == [False, True]


@pytest.mark.parametrize(
    ("n_folds", "n_learners", "decides"),
    [(2, 2, False), (3, 2, True), (3, 7, False), (5, 7, True), (5, 10, True), (10, 20, True)],
)
def test_ties_need_enough_folds_for_the_number_of_learners(n_folds, n_learners, decides):
    rng = np.random.default_rng(0)
    scores = 0.8 + 0.01 * rng.standard_normal((n_folds, n_learners))
    result = best_and_ties(scores)
    others = np.arange(n_learners) != result.best
    assert (result.p_values[others] > 0.05).all()
    assert result.tied[others].all() == decides
    assert result.undecided[others].any() != decides


def test_learner_with_missing_folds_is_excluded():
    scores = [[0.99, 0.8, 0.8], [math.nan, 0.7, 0.7], [math.nan, 0.6, 0.6]]
    result = best_and_ties(scores)
    assert result.best == 1
    assert result.tied.tolist() == [False, True, True]
    assert result.undecided.tolist() == [False, False, False]
    assert result.p_values == pytest.approx([math.nan, math.nan, 1.0], nan_ok=True)


def test_fold_without_any_score_is_ignored():
    result = best_and_ties([[0.9, 0.1], [math.nan, math.nan], [0.8, 0.3], [0.85, 0.2]])
    assert result.tied.tolist() == [True, False]


@pytest.mark.parametrize(
    ("scores", "best", "tied", "undecided"),
    [
        ([[0.9, 0.5]], 0, [True, False], [False, True]),
        ([[0.9], [0.8]], 0, [True], [False]),
        ([[math.nan, math.nan]], None, [False, False], [False, False]),
        (np.empty((0, 2)), None, [False, False], [False, False]),
        ([[0.5, 0.5], [0.6, 0.6]], 0, [True, True], [False, False]),
        ([[0.5, 0.6], [0.5, 0.6]], 1, [False, True], [False, False]),  # no variance
    ],
)
def test_best_and_ties_of_degenerate_scores(scores, best, tied, undecided):
    result = best_and_ties(scores)
    assert (result.best, result.tied.tolist()) == (best, tied)
    assert result.undecided.tolist() == undecided
