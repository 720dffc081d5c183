import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.exceptions import CordwoodError
from cordwood.stacking.diversity import pareto_front

values = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([-np.inf, np.inf]))
tables = st.integers(1, 4).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(values, min_size=n, max_size=n), max_size=25).map(
            lambda rows: np.array(rows).reshape(-1, n)
        ),
        st.lists(st.sampled_from(["min", "max"]), min_size=n, max_size=n),
    )
)


def find_by_brute_force(points, directions):
    costs = points * np.where(np.array(directions) == "min", 1, -1)
    return [
        position
        for position, cost in enumerate(costs)
        if not any((other <= cost).all() and (other < cost).any() for other in costs)
    ]


@given(tables)
@settings(deadline=None, max_examples=200)
def test_the_front_is_that_of_brute_force(drawn):
    points, directions = drawn
    assert pareto_front(points, directions).tolist() == find_by_brute_force(points, directions)


def test_directions_choose_the_corner():
    corners = [(0, 0), (0, 1), (1, 0), (1, 1)]
    fronts = {
        ("min", "min"): [0],
        ("min", "max"): [1],
        ("max", "min"): [2],
        ("max", "max"): [3],
    }
    for directions, front in fronts.items():
        assert pareto_front(corners, directions).tolist() == front


@pytest.mark.parametrize("n_objectives", [1, 2, 3])
def test_equal_points_are_all_on_the_front(n_objectives):
    points = np.repeat([[0.0] * n_objectives, [1.0] * n_objectives], [3, 2], axis=0)
    assert pareto_front(points, ["min"] * n_objectives).tolist() == [0, 1, 2]


def test_two_objectives_are_as_three_of_which_one_says_nothing():
    points = np.random.default_rng(0).normal(size=(20_000, 2)).round(1)
    idle = np.column_stack([points, np.zeros(len(points))])
    front = pareto_front(points, ["min", "max"])
    assert 5 < front.size < 100
    assert np.array_equal(front, pareto_front(idle, ["min", "max", "min"]))


def test_a_hundred_thousand_points_that_are_all_on_the_front():
    # Any way but one walk along them would take minutes.
    x = np.arange(100_000.0)
    assert pareto_front(np.column_stack([x, -x]), ["min", "min"]).size == x.size


@pytest.mark.parametrize(
    ("points", "directions", "sentence"),
    [
        ([1, 2, 3], ["min"], r"points is of shape \(3,\)"),
        (np.ones((3, 0)), [], r"points is of shape \(3, 0\)"),
        ([[1, 2]], ["min"], r"directions is \['min'\], and points have 2 objectives"),
        ([[1, 2, 3]], "min", "directions is 'min', and points have 3 objectives"),
        ([[1, 2]], ["min", "up"], "directions has 'up'; give 'min' or 'max'"),
        ([[1, 2], [1, np.nan]], ["min", "max"], r"points\[1\] has a NaN"),
    ],
)
def test_wrong_input_is_said_in_a_sentence(points, directions, sentence):
    with pytest.raises(CordwoodError, match=sentence):
        pareto_front(points, directions)
