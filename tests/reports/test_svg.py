import math
from xml.etree import ElementTree

import pytest

from cordwood.reports import charts, svg
from cordwood.reports.blocks import Chart
from cordwood.reports.charts import Estimate, LinePoint, ReliabilityBin, TimedScore
from cordwood.reports.html_page import render_svg

NASTY = '</svg><script>alert("1")</script>&\x00'


def parse(element):
    """Parse an SVG element and check that its coordinates are finite."""
    root = ElementTree.fromstring(element)
    assert root.tag == "svg" and root.get("role") == "img" and root.get("aria-label")
    for node in root.iter():
        for name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"):
            if node.get(name) is not None and node is not root:
                assert math.isfinite(float(node.get(name)))
    return root


def list_texts(root):
    return [node.text for node in root.iter("text")]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 100), (-3, 7), (0.91, 0.93), (99.2, 99.9), (1e-6, 3e-6), (5, 5)]
)
def test_linear_ticks_are_round_values_in_the_range(low, high):
    ticks = svg.linear_ticks(low, high)
    assert 1 <= len(ticks.values) <= 7
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in ticks.values)
    assert len(set(ticks.labels)) == len(ticks.labels)
    for value, label in zip(*ticks, strict=True):
        assert float(label.replace(",", "")) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0.01, 0.02), (1, 10), (0.3, 5000), (1, 1e9)])
def test_log_ticks_are_in_the_range(low, high):
    ticks = svg.log_ticks(low, high)
    assert 1 <= len(ticks.values) <= 10
    assert all(0.99 * low <= value <= 1.01 * high for value in ticks.values)


def test_scales_map_the_ends_of_their_range():
    linear = svg.linear_scale(2, 4, 10, 20)
    log = svg.log_scale(1, 100, 0, 10)
    assert (linear(2), linear(3), linear(4)) == (10, 15, 20)
    assert (log(1), log(10), log(100)) == pytest.approx((0, 5, 10))


def test_control_characters_and_surrogates_are_replaced():
    assert svg.printable("a\x00\x1b\ud800\uffffb\n") == "a����b\n"


def test_histogram_has_a_bar_per_bin():
    root = parse(
        charts.histogram([3, 0, 5], [1, 2, 4, 8], title="t", x_label="words", y_label="texts")
    )
    heights = [float(node.get("height")) for node in root.iter("rect")]
    assert heights[1] == 0
    assert heights[0] / heights[2] == pytest.approx(3 / 5, abs=0.01)


def test_intervals_contain_their_dots():
    rows = {"first": Estimate(80, 78, 82), NASTY: Estimate(50, 50, 50)}
    root = parse(charts.interval_chart(rows, title="t", x_label="%", hollow=[NASTY]))
    dots = [float(node.get("cx")) for node in root.iter("circle")]
    bars = [node for node in root.iter("line") if "bar" in node.get("class")]
    assert dots[0] > dots[1] and len(bars) == 1
    assert float(bars[0].get("x1")) < dots[0] < float(bars[0].get("x2"))
    assert not list(root.iter("script"))


@pytest.mark.parametrize("n_series", [1, 3, 20])
@pytest.mark.parametrize("log_x", [False, True])
def test_lines_are_labelled_without_overlap(n_series, log_x):
    series = {
        f"learner {i}": [LinePoint(x, 50 + 0.01 * i, 49, 51) for x in (10, 100, 1000)]
        for i in range(n_series)
    }
    root = parse(charts.line_chart(series, title="t", x_label="x", y_label="y", log_x=log_x))
    shown = [node for node in root.iter("text") if node.text.startswith("learner")]
    assert len(shown) == (n_series if n_series > 1 else 0)
    heights = sorted(float(node.get("y")) for node in shown)
    assert all(b - a > 13 for a, b in zip(heights, heights[1:], strict=False))


def test_time_chart_explains_its_marks():
    points = {
        "a": TimedScore(1, 90, True),
        "b": TimedScore(5, 80, False),
        NASTY: TimedScore(9, 95, True),
    }
    root = parse(charts.time_chart(points, title="t", x_label="s", y_label="%"))
    texts = list_texts(root)
    assert "Pareto front" in texts
    assert "no other is both faster and better" in texts
    assert "another is both faster and better" in texts
    hollow = [node for node in root.iter() if "hollow" in (node.get("class") or "")]
    assert len(hollow) == 2  # one learner, and the legend
    assert "± standard error" not in texts


def test_time_chart_has_error_bars():
    points = {"a": TimedScore(1, 90, True, 1.5), "b": TimedScore(5, 80, False)}
    root = parse(charts.time_chart(points, title="t", x_label="s", y_label="%"))
    bars = [node for node in root.iter("line") if "error" in node.get("class")]
    assert len(bars) == 2  # one learner, and the legend
    assert float(bars[0].get("y1")) > float(bars[0].get("y2"))
    assert "± standard error" in list_texts(root)


def test_interval_chart_writes_values_that_fit():
    rows = {"this model": Estimate(89.71, 88.94, 90.52), "baseline": Estimate(13.4, 12.5, 14.3)}
    root = parse(
        charts.interval_chart(rows, title="t", x_label="%", low=0, high=100, has_values=True)
    )
    assert "89.7 (88.9 to 90.5)" in list_texts(root)
    width = float(root.get("viewBox").split()[2])
    for node in root.iter("text"):
        if node.text.startswith("89.7"):
            assert float(node.get("x")) + svg.text_width(node.text) <= width


def test_names_of_lines_fit_and_begin_at_the_end_of_their_line():
    short = [LinePoint(1, 1, 1, 1), LinePoint(2, 2, 2, 2)]
    lines = {"a name that is longer than its margin": short, "b": [*short, LinePoint(9, 3, 3, 3)]}
    root = parse(charts.line_chart(lines, title="t", x_label="x", y_label="y"))
    width = float(root.get("viewBox").split()[2])
    for node in root.iter("text"):
        if node.get("text-anchor") == "start":
            assert float(node.get("x")) + svg.text_width(node.text) <= width
    starts = [float(node.get("x1")) for node in root.iter("line") if "leader" in node.get("class")]
    assert max(starts) - min(starts) > 50


def test_critical_difference_orders_learners_by_rank():
    ranks = {"worst": 3.5, "best": 1.2, "second": 1.9, "third": 3.4}
    root = parse(charts.critical_difference_chart(ranks, 1.0, [["best", "second"]], title="t"))
    ticks = {node.text: float(node.get("x")) for node in root.iter("text")}
    assert ticks["1"] < ticks["2"] < ticks["4"]
    assert {"best (1.20)", "worst (3.50)"} <= set(ticks)
    # The bar of the group, and its entry in the legend.
    assert len([node for node in root.iter("line") if node.get("class") == "clique"]) == 2
    assert "not significantly different" in ticks


def test_long_names_fit_into_the_critical_difference_diagram():
    ranks = {f"a learner with a long name {i}": 1.0 + i for i in range(5)}
    root = parse(charts.critical_difference_chart(ranks, 1.0, [], title="t"))
    width = float(root.get("viewBox").split()[2])
    for node in root.iter("text"):
        size = svg.text_width(node.text)
        start = (
            float(node.get("x"))
            - {"start": 0, "middle": size / 2, "end": size}[node.get("text-anchor")]
        )
        assert start >= 0 and start + size <= width


def test_critical_difference_beyond_the_axis_is_stated():
    ranks = {"a": 1.0, "b": 2.0, "c": 3.0}
    root = parse(charts.critical_difference_chart(ranks, 4.31, [["a", "b", "c"]], title="t"))
    assert "critical difference 4.31, longer than the axis" in list_texts(root)


def test_reliability_chart_draws_every_bin():
    bins = [
        ReliabilityBin(c, a, a - 0.02, a, 50) for c, a in [(0.4, 0.5), (0.8, 0.75), (0.99, 1.0)]
    ]
    root = parse(charts.reliability_chart(bins, title="t"))
    assert len([n for n in root.iter("circle") if n.find("title") is not None]) == 3


def test_svg_file_has_its_title_and_its_own_colors():
    inner = charts.interval_chart({"a": Estimate(80, 78, 82)}, title="t", x_label="%")
    content = render_svg(Chart(title=NASTY, svg=inner))
    root = ElementTree.fromstring(content)
    namespace = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{namespace}svg" and not list(root.iter(f"{namespace}script"))
    left, top, width, height = map(float, root.get("viewBox").split())
    (nested,) = root.findall(f"{namespace}svg")
    assert left < 0 and float(nested.get("width")) < left + width
    assert top < 0 and float(nested.get("height")) < top + height
    # Other programs than browsers do not know CSS variables.
    style = root.find(f"{namespace}style").text
    assert "var(" not in style and "--" not in style and ".s0 { color: #0a62be; }" in style
