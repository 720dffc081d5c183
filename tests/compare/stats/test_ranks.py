import math

import numpy as np
import pytest

from cordwood.compare.stats.ranks import Nemenyi, average_ranks, nemenyi

# Demšar (2006), Table 6: AUC of C4.5, +m, +cf, +m+cf on 14 data sets. On the last but one the
# paper prints .975 twice, but ranks the third before the fourth by further digits.
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


def test_average_ranks_of_demsars_table():
    assert average_ranks(DEMSAR).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]


def test_data_sets_with_missing_scores_are_ignored():
    with_missing = np.vstack([DEMSAR, [0.1, math.nan, 0.9, 0.9]])
    assert nemenyi(with_missing).n_datasets == 14
    assert average_ranks(with_missing) == pytest.approx(average_ranks(DEMSAR))
    assert np.isnan(average_ranks([[0.1, math.nan]])).all()


def test_ranks_ignore_rounding_errors():
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


def test_groups_of_demsars_figure():
    # At .10, where the critical difference is 1.12: C4.5 is apart from C4.5+m and C4.5+m+cf.
    assert nemenyi(DEMSAR, alpha=0.10).groups() == ((3, 1, 2), (2, 0))


def test_groups_are_maximal_and_have_at_least_two_learners():
    ranks = np.array([1.0, 2.0, 2.5, 6.0])
    assert Nemenyi(ranks, 1.6, 5).groups() == ((0, 1, 2),)
    assert Nemenyi(ranks, 0.2, 5).groups() == ()
    # A difference equal to the critical difference is significant.
    assert Nemenyi(np.array([1.0, 2.0]), 1.0, 5).groups() == ()


@pytest.mark.parametrize("scores", [[[0.9], [0.8]], [[0.9, math.nan]]])
def test_nemenyi_without_complete_data_sets_is_nan(scores):
    result = nemenyi(scores)
    assert math.isnan(result.critical_difference)
    assert result.groups() == ()
