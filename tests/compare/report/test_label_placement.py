import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.compare.report._label_placement import Box, place, spread


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9).map(sorted))
@settings(deadline=None)
def test_spread_keeps_distance_order_and_frame(heights):
    moved = spread(heights, gap=10.0, low=0.0, high=100.0)
    assert np.all(np.diff(moved) >= 10.0 - 1e-9)
    assert moved.min() >= -1e-9
    assert moved.max() <= 100.0 + 1e-9


def test_spread_moves_nothing_that_has_room():
    assert spread([10.0, 30.0, 60.0], 10.0, 0.0, 100.0).tolist() == [10.0, 30.0, 60.0]


def test_spread_shares_the_way():
    assert spread([50.0, 50.0], 10.0, 0.0, 100.0).tolist() == [45.0, 55.0]


def test_too_many_for_the_frame_still_keep_their_distance():
    assert spread([0.0, 0.0, 0.0], 10.0, 0.0, 15.0).tolist() == [0.0, 10.0, 20.0]


def test_labels_hide_neither_markers_nor_each_other():
    rng = np.random.default_rng(0)
    markers = [(float(x), float(y)) for x, y in rng.uniform(50, 950, (20, 2))]
    boxes = place(markers, [(90.0, 20.0)] * 20, Box(0, 0, 1000, 1000), reach=15.0)
    dots = [Box(x - 7.5, y - 7.5, x + 7.5, y + 7.5) for x, y in markers]
    for position, box in enumerate(boxes):
        assert all(box.shared_area(other) == 0 for other in boxes[:position])
        assert all(box.shared_area(dot) == 0 for dot in dots)
        assert box.shared_area(Box(0, 0, 1000, 1000)) == pytest.approx(90 * 20)
        assert (box.right - box.left, box.top - box.bottom) == pytest.approx((90, 20))


def test_a_label_goes_left_where_the_right_is_out_of_the_frame_or_taken():
    (at_the_edge,) = place([(95, 50)], [(20, 10)], Box(0, 0, 100, 100), reach=4)
    assert at_the_edge.right == 91
    wall = Box(56, 0, 57, 100)
    (by_the_wall,) = place([(50, 50)], [(20, 10)], Box(0, 0, 100, 100), 4, obstacles=[wall])
    assert by_the_wall.right == 46
