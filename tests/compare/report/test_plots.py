import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install cordwood[plots]")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from cordwood.compare.report.plots import (
    plot_critical_difference,
    plot_learning_curves,
    plot_round_curves,
    plot_time_vs_score,
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
    """Return the boxes of all texts except tick labels, in pixels."""
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    (axes,) = figure.axes
    # For annotations, the box of the text without its leader line.
    return {
        text.get_text().strip(): Text.get_window_extent(text, renderer)
        for text in axes.texts
        if text.get_text()
    }


def assert_apart(boxes):
    names = list(boxes)
    for position, name in enumerate(names):
        for other in names[:position]:
            assert not boxes[name].overlaps(boxes[other]), f"{name!r} overlaps {other!r}"


def test_labels_of_learning_curves_do_not_overlap():
    rng = np.random.default_rng(0)
    train_fractions = [0.1, 0.5, 1.0]
    curves = {
        f"learner {i}": learning_curve(train_fractions, 0.8 + 0.002 * rng.random((3, 5)))
        for i in range(14)
    }
    boxes = labels_of(plot_learning_curves(curves, title="set"))
    assert set(boxes) == set(curves)
    assert_apart(boxes)


def test_learning_curves_show_percentages_with_standard_errors():
    scores = np.array([[0.5, 0.6, 0.7, math.nan], [0.8, 0.8, 0.8, 0.8]])
    figure = plot_learning_curves({"rf": learning_curve([0.2, 1.0], scores)}, metric="macro_f1")
    (axes,) = figure.axes
    line = axes.containers[0][0]
    assert line.get_xydata() == pytest.approx(np.array([[20, 60], [100, 80]]))
    (bars,) = axes.containers[0][2]
    low, high = bars.get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 10 / math.sqrt(3))
    assert axes.get_ylabel() == "macro-F1, %"


def test_learning_curves_by_samples_of_the_category():
    curve = learning_curve([3, 100], [[0.5], [0.8]], by="max_positives")
    (axes,) = plot_learning_curves({"rf": curve}, metric="f1").axes
    assert axes.containers[0][0].get_xydata() == pytest.approx(np.array([[3, 50], [100, 80]]))
    assert axes.get_xscale() == "log" and "category" in axes.get_xlabel()
    assert axes.get_ylabel() == "F1, %"


def test_round_curves_have_lines_for_test_and_training_samples():
    curves = {
        "ada": RoundCurve((1, 10, 300), train=(0.6, 0.9, 1.0), test=(0.5, 0.7, 0.65)),
        "lp": RoundCurve((1, 4), train=(0.6, 0.8), test=(0.5, 0.8)),
    }
    figure = plot_round_curves(curves, title="tin", metric="f1")
    (axes,) = figure.axes
    test, train, *_ = axes.lines
    assert test.get_xydata() == pytest.approx(np.array([[1, 50], [10, 70], [300, 65]]))
    assert train.get_xydata()[:, 1] == pytest.approx([60, 90, 100])
    assert len(axes.lines) == 4 and train.get_linestyle() == ":"
    assert set(labels_of(figure)) == {"ada", "lp"}
    assert_apart(labels_of(figure))


@pytest.mark.parametrize(
    ("plot", "texts"),
    [
        (
            lambda: plot_learning_curves({"rf": learning_curve([0.5, 1.0], [[0.7], [0.8]])}),
            ["mean ± standard error over the folds"],
        ),
        (
            lambda: plot_round_curves({"ada": RoundCurve((1, 2), (0.6, 0.9), (0.5, 0.7))}),
            ["test samples", "training samples"],
        ),
        (
            lambda: plot_time_vs_score(make_comparison({"rf": (0.9, 1.0), "nb": (0.8, 2.0)})),
            ["Pareto front", "another learner is both faster and better"],
        ),
    ],
)
def test_legend_explains_lines_and_markers(plot, texts):
    figure = plot()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == texts
    # Below the axes, where it overlaps no label.
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0


def test_learning_curves_without_scores_raise():
    empty = learning_curve([0.5, 1.0], [[math.nan], [math.nan]])
    with pytest.raises(CordwoodError, match="no learning curve"):
        plot_learning_curves({"rf": empty})


def test_pareto_front_is_filled_and_joined():
    learners = {"slow": (0.9, 100.0), "fast": (0.7, 1.0), "bad": (0.6, 10.0), "mid": (0.8, 10.0)}
    figure = plot_time_vs_score(make_comparison(learners))
    (axes,) = figure.axes
    steps, *markers = axes.lines
    corners = np.array([[1, 70], [10, 70], [10, 80], [100, 80], [100, 90]])
    assert steps.get_xydata() == pytest.approx(corners)
    filled = [line.get_xydata()[0, 1] for line in markers if line.get_markerfacecolor() != "white"]
    assert sorted(filled) == pytest.approx([70, 80, 90])
    assert_apart(labels_of(figure))
    assert set(labels_of(figure)) == set(learners)


def test_times_are_averaged_geometrically():
    fast = make_comparison({"rf": (0.8, 1.0)}, ["a"])
    slow = make_comparison({"rf": (0.6, 100.0)}, ["b"])
    both = make_comparison({"rf": (0.7, 1.0)}, ["a", "b"])
    mixed = type(both)(**{**vars(both), "cpu_seconds": {**fast.cpu_seconds, **slow.cpu_seconds}})
    (axes,) = plot_time_vs_score(mixed).axes
    assert axes.lines[1].get_xydata() == pytest.approx(np.array([[10.0, 70.0]]))
    assert axes.get_title(loc="left") == "mean of 2 data sets"
    (axes,) = plot_time_vs_score(mixed, dataset="b").axes
    assert axes.lines[1].get_xydata() == pytest.approx(np.array([[100.0, 70.0]]))
    assert axes.get_title(loc="left") == "b"


def test_labels_of_close_points_do_not_overlap():
    rng = np.random.default_rng(1)
    learners = {f"name {i}": (0.8 + 0.02 * rng.random(), 1 + rng.random()) for i in range(12)}
    assert_apart(labels_of(plot_time_vs_score(make_comparison(learners))))


def test_time_without_complete_learners_raises():
    trial = {"dataset": "d", "learner": "rf", "repeat": 0, "fold": 0, "train_fraction": 1.0}
    with pytest.raises(CordwoodError, match="nothing to plot"):
        plot_time_vs_score(compare([], [("key", trial)]))


def test_unknown_names_raise():
    comparison = make_comparison({"rf": (0.9, 1.0)}, ["a", "b"])
    with pytest.raises(CordwoodError, match="no data set 'c'; there are a, b"):
        plot_time_vs_score(comparison, dataset="c")
    with pytest.raises(CordwoodError, match="no metric 'accuracy'"):
        plot_time_vs_score(comparison, metric="accuracy")


def test_names_are_not_parsed_as_math():
    figure = plot_time_vs_score(make_comparison({r"$\frac$": (0.9, 1.0)}, ["$x$"]))
    figure.draw_without_rendering()
    assert set(labels_of(figure)) == {r"$\frac$"}


def test_critical_difference_shows_ranks_groups_and_ruler():
    ranks = np.array([3.0, 1.2, 1.8])
    figure = plot_critical_difference(Nemenyi(ranks, 1.0, np.ones((3, 3)), 9), ["a", "b", "c"])
    (axes,) = figure.axes
    boxes = labels_of(figure)
    assert {
        "b  1.20",
        "c  1.80",
        "3.00  a",
        "critical difference 1.00; bars join learners that do not differ significantly",
    } <= set(boxes)
    assert_apart(boxes)
    assert boxes["b  1.20"].x1 < boxes["3.00  a"].x0
    lines = [line.get_xdata() for line in axes.lines]
    assert any(np.ptp(x) == pytest.approx(1.0) and min(x) == 1.0 for x in lines if len(x) == 2)
    (bar,) = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 3]
    assert (min(bar) < 1.2, max(bar) > 1.8, max(bar) < 3.0) == (True, True, True)


def test_lines_of_critical_difference_do_not_cross():
    ranks = Nemenyi(np.array([1.0, 2.0, 3.0, 4.0]), 0.5, np.ones((4, 4)), 9)
    boxes = labels_of(plot_critical_difference(ranks, ["a", "b", "c", "d"]))
    assert boxes["a  1.00"].y0 > boxes["b  2.00"].y0
    assert boxes["4.00  d"].y0 > boxes["3.00  c"].y0


def test_labels_of_critical_difference_do_not_overlap():
    scores = np.random.default_rng(2).random((8, 21))
    names = [f"a rather long name {i}" for i in range(21)]
    boxes = labels_of(plot_critical_difference(nemenyi(scores), names, title="title"))
    assert len(boxes) == 21 + 21 + 2  # names, ranks, ruler and title
    assert_apart(boxes)


def test_critical_difference_longer_than_the_axis():
    boxes = labels_of(plot_critical_difference(nemenyi([[0.9, 0.8]]), ["a", "b"]))
    assert any("more than the range of ranks" in text for text in boxes)


def test_critical_difference_with_too_few_learners_raises():
    with pytest.raises(CordwoodError, match="at least two learners"):
        plot_critical_difference(nemenyi([[0.9]]), ["a"])
    with pytest.raises(ValueError, match="one name for each of 2 ranks; got 1"):
        plot_critical_difference(nemenyi([[0.9, 0.8]]), ["a"])
