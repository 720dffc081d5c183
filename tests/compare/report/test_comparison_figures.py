from xml.etree import ElementTree

import numpy as np
import pytest

from cordwood.compare.report.comparison_figures import (
    draw_curves,
    draw_ranks,
    draw_times,
)
from cordwood.compare.report.comparison_summary import summarize_comparison
from cordwood.compare.stats.comparison import compare, learning_curves
from cordwood.reports.svg import FONT_SIZE, text_width


def make_records(learners, dataset="d", **trial):
    """One fold of learners of (score, seconds)."""
    return [
        {
            "key": f"{dataset}-{name}-{trial}",
            "trial": {
                "dataset": dataset,
                "learner": name,
                "repeat": 0,
                "fold": 0,
                "train_fraction": 1.0,
                **trial,
            },
            "scores": {"f1": score},
            "fit_cpu_seconds": 0.9 * seconds,
            "predict_cpu_seconds": 0.1 * seconds,
        }
        for name, (score, seconds) in learners.items()
    ]


def summarize(records):
    comparison = compare(records, metrics=["f1"])
    return summarize_comparison(comparison, {"f1": learning_curves(records, metric="f1")})


def list_rows(chart):
    return [[entry.text for entry in row] for row in chart.data.rows]


def test_pareto_front_is_neither_slower_nor_worse():
    learners = {"slow": (0.9, 100.0), "fast": (0.7, 1.0), "bad": (0.6, 10.0), "mid": (0.8, 10.0)}
    summary = summarize(make_records(learners))
    points = summary.times["f1"]
    assert [name for name, point in points.items() if point.is_best] == ["slow", "fast", "mid"]
    chart = draw_times(summary, "f1")
    assert "For fast, mid and slow, no other learner is both faster and better" in chart.sentence
    assert "slow takes 100.0 times as long as fast and is better by 20.00" in chart.sentence
    assert list_rows(chart)[2] == ["bad", "10", "60.000", "–", "no"]


def test_times_are_averaged_geometrically():
    records = [
        *make_records({"rf": (0.8, 1.0)}, "a"),
        *make_records({"rf": (0.6, 100.0)}, "b"),
    ]
    point = summarize(records).times["f1"]["rf"]
    assert (point.seconds, point.score) == pytest.approx((10.0, 0.7))


def test_labels_of_close_points_do_not_overlap():
    rng = np.random.default_rng(1)
    learners = {f"name {i}": (0.8 + 0.02 * rng.random(), 1 + rng.random()) for i in range(12)}
    root = ElementTree.fromstring(draw_times(summarize(make_records(learners)), "f1").svg)
    starts = [
        (float(node.get("x")), float(node.get("y")), text_width(node.text))
        for node in root.iter("text")
        if node.text in learners
    ]
    assert len(starts) == 12
    for i, (x, y, width) in enumerate(starts):
        for other_x, other_y, other_width in starts[:i]:
            is_apart = x + width <= other_x or other_x + other_width <= x
            assert is_apart or abs(y - other_y) >= FONT_SIZE - 0.1


def test_learning_curves_are_percentages_with_standard_errors():
    records = [
        record
        for fold, score in enumerate((0.5, 0.6, 0.7))
        for size in (0.2, 1.0)
        for record in make_records({"rf": (score, 1.0)}, fold=fold, train_fraction=size)
    ]
    rows = list_rows(draw_curves(summarize(records), "f1")["d"])
    assert rows == [["rf", "20", "60.000", "5.774"], ["rf", "100", "60.000", "5.774"]]


def test_learning_curves_by_samples_of_the_category():
    records = [
        *make_records({"rf": (0.5, 1.0)}, max_positives=3),
        *make_records({"rf": (0.8, 1.0)}, max_positives=100),
    ]
    chart = draw_curves(summarize(records), "f1")["d"]
    assert list_rows(chart) == [["rf", "3", "50.000", "0.000"], ["rf", "100", "80.000", "0.000"]]
    assert "training samples of the category" in chart.svg


def test_ranks_need_three_learners_and_two_data_sets():
    learners = {"a": (0.9, 1.0), "b": (0.8, 1.0), "c": (0.7, 1.0)}
    assert draw_ranks(summarize(make_records(learners)), "f1") is None
    both = [*make_records(learners), *make_records(learners, "e")]
    assert list_rows(draw_ranks(summarize(both), "f1")) == [
        ["a", "1.000"],
        ["b", "2.000"],
        ["c", "3.000"],
    ]
