import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install cordwood[plots]")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from cordwood.compare.report.plots import (
    draw_critical_difference,
    draw_learning_curves,
    draw_round_curves,
    draw_time_against_effectiveness,
)
from cordwood.compare.stats.comparison import compare
from cordwood.compare.stats.curves import RoundCurve, learning_curve
from cordwood.compare.stats.ranks import Nemenyi, nemenyi
from cordwood.exceptions import CordwoodError


def make_comparison(learners, datasets=("d",)):
    """Compare learners of (score, seconds), the same on each data set."""
    records = [
        {
            "key": f"{dataset}-{name}",
            "trial": {
                "dataset": dataset,
                "learner": name,
                "repeat": 0,
                "fold": 0,
                "train_fraction": 1.0,
            },
            "scores": {"micro_f1": score, "macro_f1": score},
            "tune_cpu_seconds": 99.0,
            "fit_cpu_seconds": 0.9 * seconds,
            "predict_cpu_seconds": 0.1 * seconds,
        }
        for dataset in datasets
        for name, (score, seconds) in learners.items()
    ]
    return compare(records)


def labels_of(figure):
    """Give the boxes of all texts but the tick labels, in pixels."""
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    (axes,) = figure.axes
    # Of an annotation, the box of its text and not that of its leader.
    return {
        text.get_text().strip(): Text.get_window_extent(text, renderer)
        for text in axes.texts
        if text.get_text()
    }


def assert_apart(boxes):
    names = list(boxes)
    for position, name in enumerate(names):
        for other in names[:position]:
            assert not boxes[name].overlaps(boxes[other]), f"{name!r} hides {other!r}"


def test_every_learner_is_named_at_the_end_of_its_curve_and_no_names_touch():
    rng = np.random.default_rng(0)
    train_fractions = [0.1, 0.5, 1.0]
    curves = {
        f"learner {i}": learning_curve(train_fractions, 0.8 + 0.002 * rng.random((3, 5)))
        for i in range(14)
    }
    boxes = labels_of(draw_learning_curves(curves, title="set"))
    assert set(boxes) == set(curves)
    assert_apart(boxes)


def test_curves_show_percent_with_standard_errors():
    scores = np.array([[0.5, 0.6, 0.7, math.nan], [0.8, 0.8, 0.8, 0.8]])
    figure = draw_learning_curves({"rf": learning_curve([0.2, 1.0], scores)}, metric="macro_f1")
    (axes,) = figure.axes
    line = axes.containers[0][0]
    assert line.get_xydata() == pytest.approx(np.array([[20, 60], [100, 80]]))
    (bars,) = axes.containers[0][2]
    low, high = bars.get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 10 / math.sqrt(3))
    assert axes.get_ylabel() == "macro-F1, %"


def test_rows_of_a_category_are_counted_and_not_percent():
    curve = learning_curve([3, 100], [[0.5], [0.8]], by="max_positives")
    (axes,) = draw_learning_curves({"rf": curve}, metric="f1").axes
    assert axes.containers[0][0].get_xydata() == pytest.approx(np.array([[3, 50], [100, 80]]))
    assert axes.get_xscale() == "log" and "category" in axes.get_xlabel()
    assert axes.get_ylabel() == "F1, %"


def test_rounds_have_a_line_for_test_rows_and_one_for_training_rows():
    curves = {
        "ada": RoundCurve((1, 10, 300), train=(0.6, 0.9, 1.0), test=(0.5, 0.7, 0.65)),
        "lp": RoundCurve((1, 4), train=(0.6, 0.8), test=(0.5, 0.8)),
    }
    figure = draw_round_curves(curves, title="tin", metric="f1")
    (axes,) = figure.axes
    test, train, *_ = axes.lines
    assert test.get_xydata() == pytest.approx(np.array([[1, 50], [10, 70], [300, 65]]))
    assert train.get_xydata()[:, 1] == pytest.approx([60, 90, 100])
    assert len(axes.lines) == 4 and train.get_linestyle() == ":"
    assert set(labels_of(figure)) == {"ada", "lp"}
    assert_apart(labels_of(figure))


def test_curves_without_any_score_are_refused():
    empty = learning_curve([0.5, 1.0], [[math.nan], [math.nan]])
    with pytest.raises(CordwoodError, match="no learning curve"):
        draw_learning_curves({"rf": empty})


def test_learners_that_no_other_beats_are_full_and_joined():
    learners = {"slow": (0.9, 100.0), "fast": (0.7, 1.0), "bad": (0.6, 10.0), "mid": (0.8, 10.0)}
    figure = draw_time_against_effectiveness(make_comparison(learners))
    (axes,) = figure.axes
    steps, *markers = axes.lines
    corners = np.array([[1, 70], [10, 70], [10, 80], [100, 80], [100, 90]])
    assert steps.get_xydata() == pytest.approx(corners)
    full = [line.get_xydata()[0, 1] for line in markers if line.get_markerfacecolor() != "white"]
    assert sorted(full) == pytest.approx([70, 80, 90])
    assert_apart(labels_of(figure))
    assert set(labels_of(figure)) == set(learners)


def test_seconds_over_data_sets_are_a_geometric_mean():
    fast = make_comparison({"rf": (0.8, 1.0)}, ["a"])
    slow = make_comparison({"rf": (0.6, 100.0)}, ["b"])
    both = make_comparison({"rf": (0.7, 1.0)}, ["a", "b"])
    mixed = type(both)(**{**vars(both), "costs": {**fast.costs, **slow.costs}})
    (axes,) = draw_time_against_effectiveness(mixed).axes
    assert axes.lines[1].get_xydata() == pytest.approx(np.array([[10.0, 70.0]]))
    assert axes.get_title(loc="left") == "mean of 2 data sets"
    (axes,) = draw_time_against_effectiveness(mixed, dataset="b").axes
    assert axes.lines[1].get_xydata() == pytest.approx(np.array([[100.0, 70.0]]))
    assert axes.get_title(loc="left") == "b"


def test_crowded_points_have_names_that_do_not_touch():
    rng = np.random.default_rng(1)
    learners = {f"name {i}": (0.8 + 0.02 * rng.random(), 1 + rng.random()) for i in range(12)}
    assert_apart(labels_of(draw_time_against_effectiveness(make_comparison(learners))))


def test_time_needs_a_learner_that_is_complete():
    trial = {"dataset": "d", "learner": "rf", "repeat": 0, "fold": 0, "train_fraction": 1.0}
    with pytest.raises(CordwoodError, match="nothing to draw"):
        draw_time_against_effectiveness(compare([], [("key", trial)]))


def test_unknown_names_are_refused_with_the_known_ones():
    comparison = make_comparison({"rf": (0.9, 1.0)}, ["a", "b"])
    with pytest.raises(CordwoodError, match="no data set 'c'; there are a, b"):
        draw_time_against_effectiveness(comparison, dataset="c")
    with pytest.raises(CordwoodError, match="no metric 'accuracy'"):
        draw_time_against_effectiveness(comparison, metric="accuracy")


def test_dollars_in_names_are_dollars():
    figure = draw_time_against_effectiveness(make_comparison({r"$\frac$": (0.9, 1.0)}, ["$x$"]))
    figure.draw_without_rendering()
    assert set(labels_of(figure)) == {r"$\frac$"}


def test_critical_difference_shows_ranks_groups_and_ruler():
    ranks = np.array([3.0, 1.2, 1.8])
    figure = draw_critical_difference(Nemenyi(ranks, 1.0, np.ones((3, 3)), 9), ["a", "b", "c"])
    (axes,) = figure.axes
    boxes = labels_of(figure)
    assert {"b  1.20", "c  1.80", "3.00  a", "critical difference 1.00"} <= set(boxes)
    assert_apart(boxes)
    assert boxes["b  1.20"].x1 < boxes["3.00  a"].x0
    lines = [line.get_xdata() for line in axes.lines]
    assert any(np.ptp(x) == pytest.approx(1.0) and min(x) == 1.0 for x in lines if len(x) == 2)
    (bar,) = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 3]
    assert (min(bar) < 1.2, max(bar) > 1.8, max(bar) < 3.0) == (True, True, True)


def test_names_are_outermost_first_on_both_sides_so_that_no_lines_cross():
    ranks = Nemenyi(np.array([1.0, 2.0, 3.0, 4.0]), 0.5, np.ones((4, 4)), 9)
    boxes = labels_of(draw_critical_difference(ranks, ["a", "b", "c", "d"]))
    assert boxes["a  1.00"].y0 > boxes["b  2.00"].y0
    assert boxes["4.00  d"].y0 > boxes["3.00  c"].y0


def test_critical_difference_of_many_learners_has_names_that_do_not_touch():
    scores = np.random.default_rng(2).random((8, 21))
    names = [f"a rather long name {i}" for i in range(21)]
    boxes = labels_of(draw_critical_difference(nemenyi(scores), names, title="title"))
    assert len(boxes) == 21 + 21 + 2  # names, ranks, ruler and title
    assert_apart(boxes)


def test_a_critical_difference_longer_than_the_axis_is_said_in_words():
    boxes = labels_of(draw_critical_difference(nemenyi([[0.9, 0.8]]), ["a", "b"]))
    assert any("more than all ranks" in text for text in boxes)


def test_critical_difference_needs_something_to_compare():
    with pytest.raises(CordwoodError, match="two learners"):
        draw_critical_difference(nemenyi([[0.9]]), ["a"])
    with pytest.raises(ValueError, match="1 names for 2 ranks"):
        draw_critical_difference(nemenyi([[0.9, 0.8]]), ["a"])
