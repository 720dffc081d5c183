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
def test_matches_brute_force(drawn):
    points, directions = drawn
    assert pareto_front(points, directions).tolist() == find_by_brute_force(points, directions)


def test_directions_select_the_corner():
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


def test_constant_third_objective_does_not_change_the_front():
    points = np.random.default_rng(0).normal(size=(20_000, 2)).round(1)
    idle = np.column_stack([points, np.zeros(len(points))])
    front = pareto_front(points, ["min", "max"])
    assert 5 < front.size < 100
    assert np.array_equal(front, pareto_front(idle, ["min", "max", "min"]))


def test_front_of_many_points_takes_n_log_n_time():
    # A quadratic algorithm would take minutes.
    x = np.arange(100_000.0)
    assert pareto_front(np.column_stack([x, -x]), ["min", "min"]).size == x.size


@pytest.mark.parametrize(
    ("points", "directions", "message"),
    [
        ([1, 2, 3], ["min"], r"points must have shape .*; got shape \(3,\)"),
        (np.ones((3, 0)), [], r"points must have shape .*; got shape \(3, 0\)"),
        ([[1, 2]], ["min"], r"directions must .* each of the 2 objectives; got \['min'\]"),
        ([[1, 2, 3]], "min", "directions must .* each of the 3 objectives; got 'min'"),
        ([[1, 2]], ["min", "up"], "directions must contain only 'min' and 'max'; got 'up'"),
        ([[1, 2], [1, np.nan]], ["min", "max"], r"points must not contain NaN; remove points\[1\]"),
    ],
)
def test_invalid_input_raises(points, directions, message):
    with pytest.raises(CordwoodError, match=message):
        pareto_front(points, directions)
