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
    bootstrap_interval,
    corrected_resampled_t_test,
    holm,
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
def test_paired_t_test_equals_scipy(pairs):
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
        ([0.3, 0.2], [0.2, 0.1], math.inf, 0.0, 2),  # apart by rounding alone
        ([0.1, 0.2], [0.2, 0.3], -math.inf, 0.0, 2),
        ([0.5], [0.4], math.nan, math.nan, 1),
        ([], [], math.nan, math.nan, 0),
        ([0.5, math.nan, 0.4], [math.nan, 0.5, 0.4], math.nan, math.nan, 1),
        ([math.nan] * 2, [math.nan] * 2, math.nan, math.nan, 0),
    ],
)
def test_paired_t_test_has_an_answer_in_degenerate_cases(a, b, statistic, p_value, n):
    result = paired_t_test(a, b)
    assert (result.statistic, result.p_value) == pytest.approx((statistic, p_value), nan_ok=True)
    assert result.n == n


def test_two_folds_are_a_test_with_one_degree_of_freedom():
    # t = 0.2 / (0.1 * sqrt(2) / sqrt(2)) = 2; a Cauchy tail has 1/2 - atan(2)/pi beyond 2.
    result = paired_t_test([0.8, 0.9], [0.7, 0.6])
    assert result.statistic == pytest.approx(2.0)
    assert result.p_value == pytest.approx(1 - 2 * math.atan(2) / math.pi)


def test_a_pair_with_a_missing_score_is_left_out():
    assert paired_t_test([1, 2, 4, math.nan], [0, 0, 0, 9]) == paired_t_test([1, 2, 4], [0, 0, 0])


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="pairs"):
        paired_t_test([0.1, 0.2], [0.1])


def test_corrected_t_shrinks_the_uncorrected_one_by_the_overlap():
    # Nadeau and Bengio: sqrt(1/n) becomes sqrt(1/n + n_test/n_train).
    differences = np.array([0.02, 0.01, 0.03, -0.01, 0.02, 0.04, 0.0, 0.01, 0.02, 0.03])
    plain = stats.ttest_1samp(differences, 0.0)
    corrected = corrected_resampled_t_test(differences, n_train=90, n_test=10)
    expected = plain.statistic * math.sqrt((1 / 10) / (1 / 10 + 1 / 9))
    assert corrected.statistic == pytest.approx(expected)
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(expected, 9))


def test_corrected_t_needs_rows_on_both_sides():
    with pytest.raises(ValueError, match="n_train"):
        corrected_resampled_t_test([0.1, 0.2], n_train=0, n_test=10)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
@settings(deadline=None, max_examples=60)
def test_wilcoxon_counts_every_sign_pattern_shared_ranks_or_not(differences):
    values = np.array([value for value in differences if value])
    ranks = stats.rankdata(np.abs(values))
    signs = np.array(list(product([0, 1], repeat=len(values))))
    sums = np.minimum(signs @ ranks, (1 - signs) @ ranks)
    observed = min(ranks[values > 0].sum(), ranks[values < 0].sum())
    expected = np.mean(sums <= observed)
    assert wilcoxon(differences, np.zeros(len(differences))).p_value == pytest.approx(expected)


def test_wilcoxon_equals_scipy_where_scipy_is_exact():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.3, 1, 40), rng.normal(0, 1, 40)
    theirs = stats.wilcoxon(a, b, method="exact")
    ours = wilcoxon(a, b)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_wilcoxon_equals_scipy_where_both_approximate():
    rng = np.random.default_rng(4)
    differences = rng.integers(-5, 8, 80)
    theirs = stats.wilcoxon(differences, zero_method="wilcox")  # 80 pairs: not exact
    ours = wilcoxon(differences, np.zeros(80))
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_wilcoxon_on_demsars_example():
    # His T = 12 gives each side half of the ranks of the two ties (1.5 each) and counts those
    # ties below all others; without them each of the 12 ranks is two less: 12 - 1.5 - 2 * 2.
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
def test_wilcoxon_has_an_answer_in_degenerate_cases(a, b, p_value):
    assert wilcoxon(a, b).p_value == pytest.approx(p_value, nan_ok=True)


def test_wilcoxon_ties_differences_that_are_equal_on_paper():
    assert 0.3 - 0.2 != 0.2 - 0.1
    assert wilcoxon([0.3, 0.1, 0.9], [0.2, 0.2, 0.3]).statistic == 1.5


def test_corrections_equal_statsmodels():
    # statsmodels 0.14, multipletests(method="holm" and "bonferroni").
    p_values = [0.01, 0.04, 0.03, 0.005]
    assert holm(p_values) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert bonferroni(p_values) == pytest.approx([0.04, 0.16, 0.12, 0.02])


def test_corrections_keep_missing_tests_missing_and_do_not_count_them():
    assert holm([0.02, math.nan, 0.4]) == pytest.approx([0.04, math.nan, 0.4], nan_ok=True)
    assert bonferroni([0.02, math.nan]) == pytest.approx([0.02, math.nan], nan_ok=True)
    assert bonferroni([0.02], m=45) == pytest.approx([0.9])
    assert holm([]).size == bonferroni([]).size == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(deadline=None)
def test_holm_lies_between_no_correction_and_bonferroni(p_values):
    adjusted = holm(p_values)
    assert np.all(adjusted >= p_values)
    assert np.all(adjusted <= bonferroni(p_values) + 1e-15)


def test_bootstrap_interval_agrees_with_scipy():
    # Of skewed values, whose plain percentile interval is elsewhere. So many resamples bring the
    # ends of either to within a hundredth of the width.
    values = np.random.default_rng(1).exponential(1.0, 40)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=100_000, batch=1000, method="BCa", random_state=5
    ).confidence_interval
    ours = bootstrap_interval(values, n_resamples=100_000)
    width = theirs.high - theirs.low
    assert ours.mean == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.low, abs=0.02 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.02 * width)


def test_bootstrap_interval_is_the_same_for_the_same_seed_and_narrower_for_less_confidence():
    values = [0.71, 0.83, 0.75, 0.92, 0.64, 0.79, 0.88, math.nan]
    wide, narrow = bootstrap_interval(values), bootstrap_interval(values, level=0.5)
    assert wide == bootstrap_interval(values) != bootstrap_interval(values, seed=1)
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high


def test_bootstrap_interval_of_symmetric_values_is_symmetric():
    # A third of the resamples hit the mean itself, and speak for neither side.
    interval = bootstrap_interval([0, 0, 0, 1, 1, 1], level=0.8)
    assert interval.low + interval.high == pytest.approx(1.0)
    assert interval.low < interval.mean < interval.high


def test_bootstrap_interval_has_an_answer_in_degenerate_cases():
    constant = bootstrap_interval([0.3, 0.3, 0.3])
    assert constant.low == constant.high == constant.mean == pytest.approx(0.3)
    assert bootstrap_interval([0.4]).high == 0.4
    assert math.isnan(bootstrap_interval([math.nan]).low)
    with pytest.raises(ValueError, match="level"):
        bootstrap_interval([0.1], level=95)


def test_best_and_ties_corrects_for_the_number_of_rivals():
    best = np.array([0.80, 0.82, 0.84, 0.86, 0.88])
    rival = best - [0.01, 0.03, 0.02, 0.04, 0.00]
    alone = best_and_ties(np.column_stack([rival, best]))
    raw = stats.ttest_rel(best, rival).pvalue
    assert 0.05 / 3 < raw < 0.05
    assert alone.best == 1
    assert alone.tied.tolist() == [False, True]
    assert alone.p_values == pytest.approx([raw, math.nan], nan_ok=True)
    crowd = best_and_ties(np.column_stack([rival, best, rival / 2, best / 2]))
    assert crowd.tied.tolist() == [True, True, False, False]
    assert crowd.p_values[0] == pytest.approx(3 * raw)


def test_best_and_ties_takes_the_test_it_is_given():
    scores = np.array([[0.9, 0.8], [0.9, 0.79], [0.9, 0.81]])
    assert best_and_ties(scores).tied.tolist() == [True, False]
    # Three pairs cannot be significant by signed ranks.
    assert best_and_ties(scores, test=wilcoxon).tied.tolist() == [True, True]
    assert best_and_ties(scores, alpha=1e-9).tied.tolist() == [True, True]


def test_a_learner_that_lacks_a_fold_takes_no_part():
    scores = [[0.99, 0.8, 0.8], [math.nan, 0.7, 0.7], [math.nan, 0.6, 0.6]]
    result = best_and_ties(scores)
    assert result.best == 1
    assert result.tied.tolist() == [False, True, True]
    assert result.p_values == pytest.approx([math.nan, math.nan, 1.0], nan_ok=True)


def test_a_fold_that_nobody_has_is_left_out():
    result = best_and_ties([[0.9, 0.1], [math.nan, math.nan], [0.8, 0.3], [0.85, 0.2]])
    assert result.tied.tolist() == [True, False]


@pytest.mark.parametrize(
    ("scores", "best", "tied"),
    [
        ([[0.9, 0.5]], 0, [True, True]),  # one fold proves nothing
        ([[0.9], [0.8]], 0, [True]),
        ([[math.nan, math.nan]], None, [False, False]),
        (np.empty((0, 2)), None, [False, False]),
        ([[0.5, 0.5], [0.6, 0.6]], 0, [True, True]),
        ([[0.5, 0.6], [0.5, 0.6]], 1, [False, True]),  # no variance at all
    ],
)
def test_best_and_ties_has_an_answer_in_degenerate_cases(scores, best, tied):
    result = best_and_ties(scores)
    assert (result.best, result.tied.tolist()) == (best, tied)
