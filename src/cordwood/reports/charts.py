"""Charts of reports: from plain numbers to SVG."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cordwood._base.wording import shorten_line
from cordwood.reports.label_placement import Box, place_labels, spread_labels
from cordwood.reports.svg import (
    FONT_SIZE,
    N_SERIES,
    Drawing,
    Frame,
    Ticks,
    linear_scale,
    linear_ticks,
    log_scale,
    log_ticks,
    text_width,
)

WIDTH = 420.0
_TOP, _BOTTOM = 34.0, 44.0
_MAX_LABEL = 28
_MAX_LINE_LABEL = 20
_MAX_RIGHT = 170.0
_ROW = 22.0
# Markers of values outside of the axis.
_LEFT_ARROW, _RIGHT_ARROW = 5, 6


Legend = Sequence[tuple[str, int, str]]
"""Meaning of marks: class name, number of a marker or -1 for a line, and text."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, whose ends are equal to the value if there is none."""

    value: float
    low: float
    high: float

    def scale(self, factor: float = 100.0) -> "Estimate":
        """Return it in another unit, by default in percent."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)


class LinePoint(NamedTuple):
    """A point of a line chart; the ends of its error bar are equal to y if there is none."""

    x: float
    y: float
    low: float
    high: float


class TimedScore(NamedTuple):
    """A point of `time_chart`."""

    seconds: float
    score: float
    is_best: bool  # no other one is both faster and better
    error: float = 0.0  # standard error of the score; 0 if it is unknown


@dataclass(frozen=True)
class ReliabilityBin:
    """Mean probability and accuracy of a bin of samples, with the interval of the accuracy."""

    confidence: float
    accuracy: float
    low: float
    high: float
    n: int


def histogram(
    counts: Sequence[int], edges: Sequence[float], *, title: str, x_label: str, y_label: str
) -> str:
    """Draw a histogram on a logarithmic axis."""
    drawing = Drawing(WIDTH, 220)
    frame = Frame(46, _TOP, WIDTH - 14, 220 - _BOTTOM)
    x = log_scale(edges[0], edges[-1], frame.left, frame.right)
    y = linear_scale(0, max(*counts, 1), frame.bottom, frame.top)
    drawing.axes(
        frame,
        x,
        y,
        log_ticks(edges[0], edges[-1]),
        linear_ticks(0, max(*counts, 1), 4),
        x_label,
        y_label,
    )
    for i, n in enumerate(counts):
        left, right = x(edges[i]), x(edges[i + 1])
        hint = f"{edges[i]:,.0f} to {edges[i + 1]:,.0f}: {n:,}"
        drawing.rect(left + 0.5, y(n), right - left - 1, frame.bottom - y(n), "fill s0", hint)
    return drawing.render(title)


def interval_chart(
    rows: Mapping[str, Estimate],
    *,
    title: str,
    x_label: str,
    strong: Sequence[str] = (),
    hollow: Sequence[str] = (),
    legend: Legend = (),
    low: float | None = None,
    high: float | None = None,
    has_values: bool = False,
) -> str:
    """Draw one dot with an interval per row.

    With `has_values`, the numbers are written at the end of each row, for intervals that are too
    short to be seen. A row outside of `low` and `high` has an arrow at the end of the axis.
    """
    names = {name: shorten_line(name, _MAX_LABEL, "…") for name in rows}
    # Bold letters are wider.
    left = min(max(map(text_width, names.values())) * (1.08 if strong else 1) + 14, 210)
    texts = [f"{row.value:.1f} ({row.low:.1f} to {row.high:.1f})" for row in rows.values()]
    right = max(map(text_width, texts)) + 14 if has_values else 16
    drawing = Drawing(WIDTH, 8 + _ROW * len(rows) + _BOTTOM)
    frame = Frame(left, 8, WIDTH - right, 8 + _ROW * len(rows))
    ends = [end for row in rows.values() for end in (row.low, row.high)]
    low, high = _pad(min(ends), max(ends), low, high)
    x = linear_scale(low, high, frame.left, frame.right)
    # Labels of ticks need about 40 pixels.
    n_ticks = min(5, max(2, int((frame.right - frame.left) / 40)))
    for value, label in zip(*linear_ticks(low, high, n_ticks), strict=True):
        drawing.line(x(value), frame.top, x(value), frame.bottom, "grid")
        drawing.text(x(value), frame.bottom + 16, label, anchor="middle", css="tick")
    for i, (name, row) in enumerate(rows.items()):
        middle = frame.top + _ROW * (i + 0.5)
        css = "strong" if name in strong else ""
        drawing.text(frame.left - 10, middle + 4, names[name], anchor="end", css=css)
        hint = f"{name}: {row.value:.2f} ({row.low:.2f} to {row.high:.2f})"
        css = "hollow s0" if name in hollow else "fill s0"
        if low <= row.value <= high:
            ends_shown = max(row.low, low), min(row.high, high)
            if row.high > row.low:
                drawing.line(x(ends_shown[0]), middle, x(ends_shown[1]), middle, "bar s0")
            drawing.marker(x(row.value), middle, 0, css, hint, 3.5 if has_values else 4.5)
        elif row.value < low:
            drawing.marker(frame.left + 5, middle, _LEFT_ARROW, css, hint, 4.5)
        else:
            drawing.marker(frame.right - 5, middle, _RIGHT_ARROW, css, hint, 4.5)
        if has_values:
            drawing.text(frame.right + 10, middle + 4, texts[i], css="tick")
    drawing.text((frame.left + frame.right) / 2, frame.bottom + 34, x_label, anchor="middle")
    if legend:
        drawing.height = drawing.legend(legend, 4, frame.bottom + 54) - 12
    return drawing.render(title, "; ".join(f"{n}: {row.value:.2f}" for n, row in rows.items()))


def line_chart(
    series: Mapping[str, Sequence[LinePoint]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    legend: Legend = (),
    markers: bool = True,
    dashed: Mapping[str, Sequence[LinePoint]] | None = None,
) -> str:
    """Draw lines with error bars, and their names at their right ends.

    Each line may have a second one of the same name in `dashed`, which is drawn thin and dashed.
    """
    names = {name: shorten_line(name, _MAX_LINE_LABEL, "…") for name in series}
    labelled = len(series) > 1
    right = min(max(map(text_width, names.values())) + 30, _MAX_RIGHT) if labelled else 16
    plot_height = max(190.0, 15.0 * len(series)) if labelled else 190.0
    drawing = Drawing(WIDTH, _TOP + plot_height + _BOTTOM)
    frame = Frame(46, _TOP, WIDTH - right, _TOP + plot_height)
    points = [p for each in (series, dashed or {}) for line in each.values() for p in line]
    x_low, x_high = x_range or (min(p.x for p in points), max(p.x for p in points))
    bounds = [end for p in points for end in (p.low, p.high)]
    low, high = y_range or _pad(min(bounds), max(bounds))
    scale = log_scale if log_x else linear_scale
    x = scale(x_low, x_high, frame.left + 6, frame.right - 6)
    y = linear_scale(low, high, frame.bottom, frame.top)
    x_ticks = log_ticks(x_low, x_high) if log_x else linear_ticks(x_low, x_high)
    if log_x and len(x_ticks.values) < 2:
        used = sorted({p.x for p in points})
        x_ticks = Ticks(tuple(used), tuple(f"{value:,.0f}" for value in used))
    drawing.axes(frame, x, y, x_ticks, linear_ticks(low, high), x_label, y_label)
    for i, (name, line) in enumerate(series.items()):
        css = f"s{i % N_SERIES}"
        if dashed and name in dashed:
            drawing.path([(x(p.x), y(p.y)) for p in dashed[name]], f"thin {css}")
        drawing.path([(x(p.x), y(p.y)) for p in line], f"line {css}")
        for p in line:
            if p.high > p.low:
                drawing.line(x(p.x), y(p.low), x(p.x), y(p.high), f"error {css}")
            if markers:
                drawing.marker(x(p.x), y(p.y), i, f"fill {css}", f"{name}: {p.y:.2f}", 3.5)
    if labelled:
        ends = {name: (x(line[-1].x), y(line[-1].y)) for name, line in series.items()}
        _label_lines(drawing, frame, ends, names)
    if legend:
        drawing.height = drawing.legend(legend, 4, frame.bottom + 56) - 12
    last = "; ".join(f"{name}: {line[-1].y:.2f} at the end" for name, line in series.items())
    return drawing.render(title, last)


def time_chart(points: Mapping[str, TimedScore], *, title: str, x_label: str, y_label: str) -> str:
    """Draw scores against times on a logarithmic axis, with a line through the Pareto front."""
    height = 300.0 + 8 * max(0, len(points) - 8)
    drawing = Drawing(WIDTH, height)
    frame = Frame(46, _TOP, WIDTH - 16, height - _BOTTOM - 44)
    seconds = [p.seconds for p in points.values()]
    low, high = _pad(
        min(p.score - p.error for p in points.values()),
        max(p.score + p.error for p in points.values()),
    )
    x_low, x_high = min(seconds) / 1.4, max(seconds) * 1.8
    x = log_scale(x_low, x_high, frame.left, frame.right)
    y = linear_scale(low, high, frame.bottom, frame.top)
    drawing.axes(frame, x, y, log_ticks(x_low, x_high), linear_ticks(low, high), x_label, y_label)
    front = sorted((p for p in points.values() if p.is_best), key=lambda point: point.seconds)
    steps = [
        corner
        for i, p in enumerate(front)
        for corner in ([(x(p.seconds), y(front[i - 1].score))] if i else [])
        + [(x(p.seconds), y(p.score))]
    ]
    drawing.path(steps, "front")
    names = {name: shorten_line(name, _MAX_LABEL, "…") for name in points}
    # Pixels grow downwards, so that boxes are placed with negated heights.
    boxes = place_labels(
        [(x(p.seconds), -y(p.score)) for p in points.values()],
        [(text_width(name), FONT_SIZE) for name in names.values()],
        Box(frame.left, -frame.bottom, frame.right, -frame.top),
        distance=8,
        obstacles=[
            Box(min(a[0], b[0]), -max(a[1], b[1]) - 1, max(a[0], b[0]), 1 - min(a[1], b[1]))
            for a, b in zip(steps, steps[1:], strict=False)
        ],
    )
    for i, (name, p) in enumerate(points.items()):
        box = boxes[i]
        at = x(p.seconds), y(p.score)
        nearest = min(max(at[0], box.left), box.right), min(max(at[1], -box.top), -box.bottom)
        if math.dist(at, nearest) > 12:
            drawing.line(*at, *nearest, "leader")
        css = f"s{i % N_SERIES}"
        hint = f"{name}: {p.score:.2f}, {p.seconds:.2g} s"
        if p.error > 0:
            low_end, high_end = y(p.score - p.error), y(p.score + p.error)
            drawing.line(at[0], low_end, at[0], high_end, f"error {css}")
        drawing.marker(*at, i, f"{'fill' if p.is_best else 'hollow'} {css}", hint)
        drawing.text(box.left, -box.bottom - 2, names[name])
    bottom = drawing.legend(
        [("fill s7", 0, "no other is both faster and better"), ("front", -1, "Pareto front")],
        4,
        frame.bottom + 58,
    )
    others = [("hollow s7", 0, "another is both faster and better")]
    if any(p.error > 0 for p in points.values()):
        others.append(("error s7", -1, "± standard error"))
    drawing.height = drawing.legend(others, 4, bottom) - 12
    return drawing.render(
        title, "; ".join(f"{n}: {p.score:.2f} in {p.seconds:.2g} s" for n, p in points.items())
    )


def critical_difference_chart(
    ranks: Mapping[str, float],
    critical_difference: float,
    groups: Sequence[Sequence[str]],
    *,
    title: str,
) -> str:
    """Draw average ranks, with bars that join groups that are not significantly different."""
    n = len(ranks)
    order = sorted(ranks, key=ranks.__getitem__)
    half = math.ceil(n / 2)
    axis, bars = 58.0, 14.0 * len(groups) + 8
    labels = {name: f"{shorten_line(name, _MAX_LABEL, '…')} ({ranks[name]:.2f})" for name in order}
    margin = max(map(text_width, labels.values())) + 24
    width = max(WIDTH, 2 * margin + 200)
    height = axis + bars + 20 * max(half, n - half) + 10
    drawing = Drawing(width, height)
    x = linear_scale(1, n, margin, width - margin)
    drawing.line(x(1), axis, x(n), axis, "axis")
    step = 1 if n <= 12 else 2
    for rank in range(1, n + 1, step):
        drawing.line(x(rank), axis, x(rank), axis - 5, "axis")
        drawing.text(x(rank), axis - 10, str(rank), anchor="middle", css="tick")
    # A critical difference beyond the axis is drawn in its whole length only if it fits.
    end = min(1 + critical_difference, n)
    drawing.line(x(1), 22, x(end), 22, "axis")
    for tip in (1.0, *([end] if critical_difference <= n - 1 else [])):
        drawing.line(x(tip), 18, x(tip), 26, "axis")
    more = "" if critical_difference <= n - 1 else ", longer than the axis"
    drawing.text(x(1), 12, f"critical difference {critical_difference:.2f}{more}", css="tick")
    for level, group in enumerate(groups):
        at = axis + 10 + 14 * level
        drawing.line(x(ranks[group[0]]) - 4, at, x(ranks[group[-1]]) + 4, at, "clique")
    for i, name in enumerate(order):
        is_left = i < half
        row = i if is_left else n - 1 - i
        at = axis + bars + 16 + 20 * row
        side = margin - 10 if is_left else width - margin + 10
        drawing.path([(x(ranks[name]), axis), (x(ranks[name]), at - 4), (side, at - 4)], "leader")
        anchor = "end" if is_left else "start"
        drawing.text(side - 4 if is_left else side + 4, at, labels[name], anchor=anchor)
    if groups:
        legend = [("clique", -1, "not significantly different"), ("leader", -1, "average rank")]
        drawing.height = drawing.legend(legend, 4, height + 16) - 12
    return drawing.render(title, "; ".join(f"{name}: {ranks[name]:.2f}" for name in order))


def reliability_chart(bins: Sequence[ReliabilityBin], *, title: str) -> str:
    """Draw the share of correct predictions against the mean probability of bins."""
    drawing = Drawing(WIDTH, 340)
    frame = Frame(46, _TOP, WIDTH - 16, 230)
    low = min([0.9, *(b.confidence for b in bins), *(b.low for b in bins)])
    low = math.floor(10 * low) * 10.0
    x = linear_scale(low, 100, frame.left, frame.right)
    y = linear_scale(low, 100, frame.bottom, frame.top)
    ticks = linear_ticks(low, 100)
    drawing.axes(frame, x, y, ticks, ticks, "probability of the predicted class, %", "correct, %")
    drawing.path([(x(low), y(low)), (x(100), y(100))], "front")
    largest = max(b.n for b in bins)
    drawing.path([(x(100 * b.confidence), y(100 * b.accuracy)) for b in bins], "line s0")
    for b in bins:
        at = x(100 * b.confidence)
        drawing.line(at, y(100 * b.low), at, y(100 * b.high), "error s0")
        hint = (
            f"probability {100 * b.confidence:.1f} %: {100 * b.accuracy:.1f} % of "
            f"{b.n:,.0f} samples correct"
        )
        radius = 2.5 + 3 * math.sqrt(b.n / largest)
        drawing.marker(at, y(100 * b.accuracy), 0, "fill s0", hint, radius)
    after = drawing.legend(
        [("front", -1, "perfect calibration"), ("error s0", -1, "95 % interval")], 4, 290
    )
    dots = [("fill s0", 0, "mean of a bin; larger: more samples")]
    drawing.height = drawing.legend(dots, 4, after) - 12
    return drawing.render(
        title,
        "; ".join(f"{100 * b.confidence:.0f} %: {100 * b.accuracy:.0f} %" for b in bins),
    )


def _label_lines(
    drawing: Drawing,
    frame: Frame,
    ends: Mapping[str, tuple[float, float]],
    names: Mapping[str, str],
) -> None:
    """Write the names of lines to the right of their ends, moved apart."""
    order = sorted(ends, key=lambda name: ends[name][1])
    heights = spread_labels([ends[name][1] for name in order], 14, frame.top, frame.bottom)
    series = {name: i for i, name in enumerate(ends)}
    for name, at in zip(order, np.asarray(heights).tolist(), strict=True):
        css = f"s{series[name] % N_SERIES}"
        start, height = ends[name]
        drawing.line(start + 5, height, frame.right + 8, at, f"leader {css}")
        drawing.marker(frame.right + 13, at, series[name], f"fill {css}", "", 3.5)
        drawing.text(frame.right + 21, at + 4, names[name])


def _pad(
    low: float, high: float, fixed_low: float | None = None, fixed_high: float | None = None
) -> tuple[float, float]:
    """Extend a range by a twentieth at each end that is not fixed."""
    margin = 0.05 * (high - low) or 0.5
    return (
        low - margin if fixed_low is None else fixed_low,
        high + margin if fixed_high is None else fixed_high,
    )
