import math

import numpy as np
import pytest

from cordwood.compare.stats.curves import learning_curve
from cordwood.compare.stats.statistics import paired_t_test


def test_points_are_in_the_order_of_the_shares_with_their_own_scores():
    scores = np.array([[0.9, 0.8, 0.85], [0.5, 0.4, math.nan], [0.7, 0.6, 0.8]])
    curve = learning_curve([1.0, 0.1, 0.5], scores)
    assert [point.amount for point in curve.points] == [0.1, 0.5, 1.0]
    assert [point.mean for point in curve.points] == pytest.approx([0.45, 0.7, 0.85])
    assert [point.sd for point in curve.points] == pytest.approx([0.05 * 2**0.5, 0.1, 0.05])
    assert [point.n for point in curve.points] == [2, 3, 3]
    assert curve.last_gain == paired_t_test(scores[0], scores[2])
    assert curve.last_gain.difference > 0


def test_few_scores_have_a_defined_summary():
    one = learning_curve([1.0], [[0.5]])
    assert one.points[0].mean == 0.5
    assert math.isnan(one.points[0].sd)
    assert one.last_gain.n == 0
    none = learning_curve([0.5, 1.0], [[math.nan], [0.5]])
    assert math.isnan(none.points[0].mean)
    assert learning_curve([], np.empty((0, 3))).points == ()


@pytest.mark.parametrize(
    ("shares", "scores", "message"),
    [([0.5], [[0.1], [0.2]], "1 rows"), ([1.0, 1.0], [[0.1], [0.2]], "once")],
)
def test_wrong_tables_are_refused(shares, scores, message):
    with pytest.raises(ValueError, match=message):
        learning_curve(shares, scores)
