import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cordwood.compare.stats.ranks import (
    Nemenyi,
    average_ranks,
    compare_with_control,
    friedman,
    nemenyi,
)

# Demšar (2006), Table 6: AUC of C4.5, +m, +cf, +m+cf on 14 data sets. On the last but one the
# paper prints .975 twice and ranks the third before the fourth, by digits that it does not print.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)

tables = st.integers(3, 6).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=2, max_size=8
    ).map(lambda rows: np.array(rows) / 10)
)


def test_ranks_of_demsars_table():
    assert average_ranks(DEMSAR).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]


def test_friedman_of_demsars_ranks_before_the_correction_for_ties():
    # He has chi2 = 9.28 and F = 3.69, without the correction for ties.
    ranks = average_ranks(DEMSAR)
    chi2 = 12 * 14 / (4 * 5) * ((ranks**2).sum() - 4 * 5**2 / 4)
    assert round(chi2, 2) == 9.28
    untied = friedman(DEMSAR[[0, 1, 2, 3, 4, 6, 8, 11, 12, 13]])  # the sets without a tie
    uncorrected = 12 * 10 / 20 * ((untied.ranks**2).sum() - 25)
    assert untied.chi2 == pytest.approx(uncorrected)
    assert untied.f == pytest.approx(9 * uncorrected / (10 * 3 - uncorrected))


@given(tables)
@settings(deadline=None, max_examples=60)
def test_friedman_equals_scipy_with_ties(table):
    ours = friedman(table)
    if np.all(np.ptp(table, axis=1) == 0):
        assert (ours.chi2, ours.p_chi2, ours.f, ours.p_f) == (0.0, 1.0, 0.0, 1.0)
        return
    theirs = stats.friedmanchisquare(*table.T)
    assert ours.chi2 == pytest.approx(theirs.statistic)
    assert ours.p_chi2 == pytest.approx(theirs.pvalue)


@given(tables)
@settings(deadline=None, max_examples=40)
def test_iman_davenport_is_the_f_test_of_a_two_way_layout_of_ranks(table):
    n, k = table.shape
    ranks = stats.rankdata(-table, axis=1)
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    within = ((ranks - (k + 1) / 2) ** 2).sum() - between
    if within > 1e-9:
        expected = (between / (k - 1)) / (within / ((n - 1) * (k - 1)))
        result = friedman(table)
        assert result.f == pytest.approx(expected)
        assert result.p_f == pytest.approx(stats.f.sf(expected, k - 1, (k - 1) * (n - 1)))


def test_perfect_agreement_is_an_infinite_f():
    result = friedman([[0.9, 0.5, 0.1]] * 3)
    assert (result.f, result.p_f, result.chi2) == (math.inf, 0.0, pytest.approx(6.0))


@pytest.mark.parametrize("scores", [[[0.9], [0.8]], [[0.9, 0.8]], np.empty((0, 3))])
def test_friedman_without_anything_to_test_is_nan(scores):
    result = friedman(scores)
    assert all(map(math.isnan, (result.chi2, result.p_chi2, result.f, result.p_f)))
    assert result.n_sets == len(scores)


def test_a_data_set_with_a_missing_score_is_left_out():
    holed = np.vstack([DEMSAR, [0.1, math.nan, 0.9, 0.9]])
    assert friedman(holed).n_sets == nemenyi(holed).n_sets == 14
    assert average_ranks(holed) == pytest.approx(average_ranks(DEMSAR))
    assert np.isnan(average_ranks([[0.1, math.nan]])).all()


def test_means_that_are_equal_on_paper_share_their_rank():
    assert 0.1 + 0.2 != 0.3
    assert average_ranks([[0.1 + 0.2, 0.3]]).tolist() == [1.5, 1.5]


@pytest.mark.parametrize(("alpha", "printed"), [(0.05, 1.25), (0.10, 1.12)])
def test_critical_difference_of_demsars_example(alpha, printed):
    # 2.569 and 2.291 (Table 5a) times sqrt(4 * 5 / (6 * 14)).
    assert round(nemenyi(DEMSAR, alpha=alpha).critical_difference, 2) == printed


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (7, 2.949), (10, 3.164)])
def test_critical_values_of_demsars_table(k, q):
    difference = nemenyi(np.tile(np.arange(k) / k, (6, 1))).critical_difference
    assert difference / math.sqrt(k * (k + 1) / 36) == pytest.approx(q, abs=1e-3)


def test_nemenyi_equals_scikit_posthocs():
    # scikit-posthocs 0.17.1, posthoc_nemenyi_friedman, on Table 6 as it is printed (.975 twice).
    printed = np.where(DEMSAR == 0.9751, 0.975, DEMSAR)
    expected = [
        [1.0, 0.08867271, 0.97168647, 0.06168326],
        [0.08867271, 1.0, 0.22669689, 0.99888234],
        [0.97168647, 0.22669689, 1.0, 0.17005164],
        [0.06168326, 0.99888234, 0.17005164, 1.0],
    ]
    assert nemenyi(printed).p_values == pytest.approx(np.array(expected), abs=1e-7)


def test_p_is_at_the_level_where_ranks_are_a_critical_difference_apart():
    scores = np.array([[0.9, 0.8, 0.7]] * 5 + [[0.8, 0.9, 0.7]] * 2)
    apart = nemenyi(scores).p_values[0, 1]
    assert nemenyi(scores, alpha=apart).critical_difference == pytest.approx(3 / 7, rel=1e-4)


def test_groups_of_demsars_figure():
    # At .10, where the critical difference is 1.12: C4.5 is apart from C4.5+m and C4.5+m+cf.
    assert nemenyi(DEMSAR, alpha=0.10).groups() == ((3, 1, 2), (2, 0))


def test_groups_are_the_largest_ones_and_never_of_one():
    ranks = np.array([1.0, 2.0, 2.5, 6.0])
    assert Nemenyi(ranks, 1.6, np.ones((4, 4)), 5).groups() == ((0, 1, 2),)
    assert Nemenyi(ranks, 0.2, np.ones((4, 4)), 5).groups() == ()
    # Exactly a critical difference apart is different.
    assert Nemenyi(np.array([1.0, 2.0]), 1.0, np.ones((2, 2)), 5).groups() == ()


@pytest.mark.parametrize("scores", [[[0.9], [0.8]], [[0.9, math.nan]]])
def test_nemenyi_without_anything_to_compare_is_nan(scores):
    result = nemenyi(scores)
    assert math.isnan(result.critical_difference)
    assert np.isnan(result.p_values).all()
    assert result.groups() == ()


def test_comparison_with_a_control_equals_demsars_example():
    # p. 14: C4.5 against +m+cf, +m and +cf has p = .016, .019 and .607 before Holm's correction.
    corrected = compare_with_control(DEMSAR, control=0)
    assert corrected == pytest.approx([math.nan, 0.047, 0.608, 0.047], nan_ok=True, abs=2e-3)


def test_comparison_with_a_control_has_an_answer_without_data():
    assert np.isnan(compare_with_control([[math.nan, 0.1]], control=1)).all()
    with pytest.raises(ValueError, match="control"):
        compare_with_control(DEMSAR, control=4)
