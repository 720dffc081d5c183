import math

import numpy as np
import pytest

from cordwood.compare.stats.curves import learning_curve


def test_points_have_means_and_deviations_over_the_folds():
    scores = np.array([[0.5, 0.4, math.nan], [0.7, 0.6, 0.8], [0.9, 0.8, 0.85]])
    curve = learning_curve([0.1, 0.5, 1.0], scores)
    assert [point.train_size for point in curve.points] == [0.1, 0.5, 1.0]
    assert [point.mean for point in curve.points] == pytest.approx([0.45, 0.7, 0.85])
    assert [point.sd for point in curve.points] == pytest.approx([0.05 * 2**0.5, 0.1, 0.05])
    assert [point.n for point in curve.points] == [2, 3, 3]


def test_missing_scores_give_nan():
    one = learning_curve([1.0], [[0.5]])
    assert one.points[0].mean == 0.5
    assert math.isnan(one.points[0].sd)
    none = learning_curve([0.5, 1.0], [[math.nan], [0.5]])
    assert math.isnan(none.points[0].mean)
    assert learning_curve([], np.empty((0, 3))).points == ()
