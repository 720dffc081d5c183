import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.reports.label_placement import Box, place_labels, spread_labels


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9).map(sorted))
@settings(deadline=None)
def test_spread_labels_keeps_gap_order_and_range(heights):
    moved = spread_labels(heights, gap=10.0, low=0.0, high=100.0)
    assert np.all(np.diff(moved) >= 10.0 - 1e-9)
    assert moved.min() >= -1e-9
    assert moved.max() <= 100.0 + 1e-9


def test_spread_labels_does_not_move_distant_labels():
    assert spread_labels([10.0, 30.0, 60.0], 10.0, 0.0, 100.0).tolist() == [10.0, 30.0, 60.0]


def test_spread_labels_moves_both_neighbors():
    assert spread_labels([50.0, 50.0], 10.0, 0.0, 100.0).tolist() == [45.0, 55.0]


def test_too_many_labels_exceed_the_range_but_keep_the_gap():
    assert spread_labels([0.0, 0.0, 0.0], 10.0, 0.0, 15.0).tolist() == [0.0, 10.0, 20.0]


def test_labels_overlap_neither_markers_nor_each_other():
    rng = np.random.default_rng(0)
    markers = [(float(x), float(y)) for x, y in rng.uniform(50, 950, (20, 2))]
    boxes = place_labels(markers, [(90.0, 20.0)] * 20, Box(0, 0, 1000, 1000), distance=15.0)
    dots = [Box(x - 7.5, y - 7.5, x + 7.5, y + 7.5) for x, y in markers]
    for position, box in enumerate(boxes):
        assert all(box.overlap(other) == 0 for other in boxes[:position])
        assert all(box.overlap(dot) == 0 for dot in dots)
        assert box.overlap(Box(0, 0, 1000, 1000)) == pytest.approx(90 * 20)
        assert (box.right - box.left, box.top - box.bottom) == pytest.approx((90, 20))


def test_label_is_placed_left_if_the_right_is_outside_or_occupied():
    (at_the_edge,) = place_labels([(95, 50)], [(20, 10)], Box(0, 0, 100, 100), distance=4)
    assert at_the_edge.right == 91
    wall = Box(56, 0, 57, 100)
    (by_the_wall,) = place_labels([(50, 50)], [(20, 10)], Box(0, 0, 100, 100), 4, obstacles=[wall])
    assert by_the_wall.right == 46
