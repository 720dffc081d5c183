"""Plots of comparisons: learning curves, time against score, critical differences.

Each learner has its own color, marker and label. Requires matplotlib, which the extra ``plots``
installs; `cordwood.compare.report._figure.save` writes the figures as SVG.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from cordwood.compare.report._figure import (
    COLORS,
    FONT_SIZE,
    bounding_boxes,
    measure_axes,
    new_figure,
    step_line,
    style_axes,
)
from cordwood.compare.report._label_placement import place_labels, spread_labels
from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.comparison import Comparison
from cordwood.compare.stats.curves import LearningCurve, RoundCurve
from cordwood.compare.stats.ranks import Nemenyi
from cordwood.exceptions import CordwoodError
from cordwood.stacking.diversity import pareto_front

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
_LINE_STYLES = ("-", "--", ":", "-.")
_GRAY = "#666666"
_LEADER_LINE = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 1.0, "shrinkB": 5.0}
_ERROR_BAR: dict[str, Any] = {"color": _GRAY, "marker": "|", "markersize": 10, "linewidth": 1.5}
_MIN_SECONDS = 1e-3  # keeps times below the resolution of the clock on a logarithmic axis

Point = tuple[float, float]


def plot_learning_curves(
    curves: Mapping[str, LearningCurve], *, title: str = "", metric: str = "micro_f1"
) -> Figure:
    """Plot scores by training set size, one line per learner.

    Parameters
    ----------
    curves : mapping of str to LearningCurve
        Curves of one data set by learner; points without a score are omitted.
    title : str, default=""
        Title, such as the name of the data set.
    metric : str, default="micro_f1"
        Name of the score.

    Returns
    -------
    Figure
        Error bars are one standard error of the mean in each direction.
    """
    figure, axes = _new_axes(6.4, max(4.0, 0.2 * len(curves) + 1.5))
    is_count = any(curve.by == "max_positives" for curve in curves.values())
    ends: dict[int, Point] = {}
    for i, curve in enumerate(curves.values()):
        points = [point for point in curve.points if point.n]
        if not points:
            continue
        x = [point.train_size if is_count else 100 * point.train_size for point in points]
        y = [100 * point.mean for point in points]
        error = [100 * point.sd / math.sqrt(point.n) if point.n > 1 else 0.0 for point in points]
        axes.errorbar(x, y, error, elinewidth=0.8, markersize=5, linewidth=1.5, **_style(i))
        ends[i] = (x[-1], y[-1])
    if not ends:
        raise CordwoodError("there is no learning curve to plot: no trial has finished yet")
    if is_count:
        _set_log_scale(axes, (1.0, 2.0, 5.0), "{:,.0f}")
        axes.set_xlabel("training samples of the category")
    else:
        axes.set_xlim(0, 103)
        axes.set_xlabel("fraction of the training samples, %")
    axes.set_ylabel(f"{metric_name(metric)}, %")
    axes.set_title(title, loc="left", parse_math=False)
    _add_legend(
        figure, [Line2D([], [], **_ERROR_BAR, label="mean ± standard error over the folds")]
    )
    _label_line_ends(figure, axes, ends, list(curves))
    return figure


def plot_round_curves(
    curves: Mapping[str, RoundCurve], *, title: str = "", metric: str = "micro_f1"
) -> Figure:
    """Plot scores by boosting rounds, with two lines per learner: test and training samples.

    Parameters
    ----------
    curves : mapping of str to RoundCurve
        Curves of one data set by learner.
    title : str, default=""
        Title, such as the name of the data set.
    metric : str, default="micro_f1"
        Name of the score.

    Returns
    -------
    Figure
        A line ends where the learner has stopped early.
    """
    figure, axes = _new_axes(6.4, 4.2)
    ends: dict[int, Point] = {}
    for i, curve in enumerate(curves.values()):
        train, test = (100 * np.array(scores) for scores in (curve.train, curve.test))
        style = _style(i)
        axes.plot(curve.rounds, test, linewidth=1.5, markersize=4, **style)
        axes.plot(curve.rounds, train, linewidth=0.8, linestyle=":", color=style["color"])
        ends[i] = (curve.rounds[-1], float(test[-1]))
    _set_log_scale(axes, (1.0, 2.0, 5.0), "{:,.0f}")
    axes.set_xlabel("boosting rounds")
    axes.set_ylabel(f"{metric_name(metric)}, %")
    axes.set_title(title, loc="left", parse_math=False)
    _add_legend(
        figure,
        [
            Line2D([], [], color=_GRAY, linewidth=1.5, marker="o", label="test samples"),
            Line2D([], [], color=_GRAY, linewidth=0.8, linestyle=":", label="training samples"),
        ],
    )
    _label_line_ends(figure, axes, ends, list(curves))
    return figure


def plot_time_vs_score(
    comparison: Comparison, *, metric: str = "micro_f1", dataset: str | None = None
) -> Figure:
    """Plot the score of each learner against its CPU time.

    Parameters
    ----------
    comparison : Comparison
        The comparison; learners that are not complete are omitted.
    metric : str, default="micro_f1"
        One of its metrics.
    dataset : str, optional
        One of its data sets; by default, the geometric mean of the times and the mean of the
        scores over the data sets that all learners have completed.

    Returns
    -------
    Figure
        Learners on the Pareto front, for which no other is both faster and better, have filled
        markers and are joined by a dotted line.
    """
    points = _get_points(comparison, metric, dataset)
    if not points:
        raise CordwoodError("there is nothing to plot: no learner has finished all its trials yet")
    figure, axes = _new_axes(6.4, 4.6)
    front = _find_front(points)
    steps = step_line([points[name] for name in front])
    axes.plot(*steps.T, color=_GRAY, linewidth=0.8, linestyle=":")
    for i, name in enumerate(comparison.learners):
        if name in points:
            style = _style(i)
            axes.plot(
                *points[name],
                marker=style["marker"],
                color=style["color"],
                markersize=8,
                markerfacecolor=style["color"] if name in front else "white",
                linestyle="none",
            )
    _set_seconds_scale(axes, [seconds for seconds, _ in points.values()])
    axes.margins(y=0.1)
    axes.set_xlabel("CPU seconds to fit and predict one fold, without tuning")
    axes.set_ylabel(f"{metric_name(metric)}, %")
    datasets = (dataset,) if dataset else comparison.summaries[metric, front[0]].datasets
    title = datasets[0] if len(datasets) == 1 else f"mean of {len(datasets)} data sets"
    axes.set_title(title, loc="left", parse_math=False)
    marker: dict[str, Any] = {"color": _GRAY, "marker": "o", "markersize": 8}
    _add_legend(
        figure,
        [
            Line2D([], [], linewidth=0.8, linestyle=":", **marker, label="Pareto front"),
            Line2D(
                [],
                [],
                linestyle="none",
                markerfacecolor="white",
                **marker,
                label="another learner is both faster and better",
            ),
        ],
    )
    _label_points(figure, axes, points, steps)
    return figure


def plot_critical_difference(
    result: Nemenyi, learners: Sequence[str], *, title: str = ""
) -> Figure:
    """Plot average ranks, with bars that join learners that are not significantly different.

    Parameters
    ----------
    result : Nemenyi
        Result of the Nemenyi test.
    learners : sequence of str
        Names of the learners, in the order of the ranks.
    title : str, default=""
        Title of the plot.

    Returns
    -------
    Figure
        The best learner is on the left.
    """
    n = len(learners)
    if len(result.ranks) != n:
        raise ValueError(
            f"learners must have one name for each of {len(result.ranks)} ranks; got {n}."
        )
    if math.isnan(result.critical_difference):
        raise CordwoodError(
            "a critical difference needs at least two learners that have completed the same data "
            "set"
        )
    groups = result.groups()
    bars = 0.16 * len(groups) + 0.12
    rows = 0.24 * math.ceil(n / 2)
    above, width = 0.75, 5.0
    figure = Figure(figsize=(width, above + bars + rows))
    # One trial of y is an inch below the axis of ranks.
    axes = figure.add_axes((0, 0, 1, 1), xlim=(1, n), ylim=(bars + rows, -above))
    axes.set_axis_off()
    _draw_rank_axis(axes, n)
    _draw_ruler(axes, result.critical_difference, n, has_bars=bool(groups))
    for level, group in enumerate(groups):
        y = 0.14 + 0.16 * level
        ends = result.ranks[[group[0], group[-1]]]
        overhang = 0.012 * (n - 1)
        axes.plot(
            [ends[0] - overhang, ends[1] + overhang],
            [y, y],
            color="black",
            linewidth=3,
            solid_capstyle="butt",
            clip_on=False,
        )
    _draw_learners(axes, result.ranks, learners, top=bars)
    axes.text(1, -above, title, fontsize=FONT_SIZE + 2, va="bottom", parse_math=False)
    return figure


def _new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    style_axes(axes)
    return figure, axes


def _add_legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """Explain line styles and markers below the axes; labels name the learners."""
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        fontsize=FONT_SIZE,
    )


def _style(i: int) -> dict[str, Any]:
    """Return color, marker and line style of the i-th learner."""
    return {
        "color": COLORS[i % len(COLORS)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "linestyle": _LINE_STYLES[i // len(COLORS) % len(_LINE_STYLES)],
    }


def _label_line_ends(
    figure: Figure, axes: Axes, ends: Mapping[int, Point], names: Sequence[str]
) -> None:
    """Write the name of each learner to the right of its line."""
    frame, pixels_per_point = measure_axes(figure, axes)
    order = sorted(ends, key=lambda i: ends[i][1])
    heights = [axes.transData.transform(ends[i])[1] for i in order]
    gap = 1.3 * FONT_SIZE * pixels_per_point
    for i, height in zip(order, spread_labels(heights, gap, frame.bottom, frame.top), strict=True):
        color = _style(i)["color"]
        axes.annotate(
            names[i],
            ends[i],
            xytext=(1.04, (height - frame.bottom) / (frame.top - frame.bottom)),
            textcoords="axes fraction",
            fontsize=FONT_SIZE,
            parse_math=False,
            va="center",
            color=color,
            annotation_clip=False,
            arrowprops={**_LEADER_LINE, "color": color, "relpos": (0, 0.5)},
        )


def _get_points(comparison: Comparison, metric: str, dataset: str | None) -> dict[str, Point]:
    """Return CPU seconds and score in percent of each complete learner."""
    for what, name, known in (
        ("metric", metric, comparison.metrics),
        ("data set", dataset, comparison.datasets),
    ):
        if name is not None and name not in known:
            raise CordwoodError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    points = {}
    for name in comparison.learners:
        summary = comparison.summaries[metric, name]
        datasets, score = summary.datasets, summary.mean
        if dataset is not None:
            cell = comparison.cells[metric, dataset, name]
            datasets, score = (dataset,) if cell.complete else (), cell.mean
        times = [comparison.cpu_seconds[each, name] for each in datasets]
        seconds = np.array([max(time.fit + time.predict, _MIN_SECONDS) for time in times])
        if datasets and not np.isnan(seconds).any():
            points[name] = (float(np.exp(np.log(seconds).mean())), 100 * score)
    return points


def _find_front(points: Mapping[str, Point]) -> list[str]:
    """Return the learners on the Pareto front of time and score, the fastest first."""
    names = list(points)
    front = pareto_front(list(points.values()), ["min", "max"])
    return sorted((names[i] for i in front), key=lambda name: points[name])


def _set_seconds_scale(axes: Axes, seconds: Sequence[float]) -> None:
    low, high = min(seconds), max(seconds)
    margin = max((high / low) ** 0.1, 1.25)
    axes.set_xlim(low / margin, high * margin)
    _set_log_scale(axes, (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,), "{:g}")


def _set_log_scale(axes: Axes, subs: Sequence[float], tick_format: str) -> None:
    """Make the x axis logarithmic, with ticks at these multiples of each power of ten."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_format.format(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _label_points(
    figure: Figure, axes: Axes, points: Mapping[str, Point], steps: NDArray[np.float64]
) -> None:
    """Write the name of each learner beside its marker, without crossing the step line."""
    frame, pixels_per_point = measure_axes(figure, axes)
    markers = axes.transData.transform(list(points.values()))
    corners = axes.transData.transform(steps)
    line = bounding_boxes(corners[:-1], corners[1:], pixels_per_point)
    sizes = [_measure_text(axes, name) for name in points]
    boxes = place_labels(
        list(map(tuple, markers)), sizes, frame, 9 * pixels_per_point, obstacles=line
    )
    for (x, y), (name, point), box in zip(markers, points.items(), boxes, strict=True):
        nearest = np.clip((x, y), box[:2], box[2:])
        is_far = math.dist((x, y), nearest) > 12 * pixels_per_point
        offset = np.array([box.left - x, (box.bottom + box.top) / 2 - y]) / pixels_per_point
        axes.annotate(
            name,
            point,
            xytext=tuple(offset),
            textcoords="offset points",
            fontsize=FONT_SIZE,
            parse_math=False,
            va="center",
            arrowprops={**_LEADER_LINE, "color": _GRAY} if is_far else None,
        )


def _measure_text(axes: Axes, text: str) -> tuple[float, float]:
    """Return width and height of a label in pixels, plus one letter as a gap to the next label."""
    drawn = axes.text(0, 0, f"{text}n", fontsize=FONT_SIZE, parse_math=False)
    box = drawn.get_window_extent()
    drawn.remove()
    return box.width, box.height


def _draw_rank_axis(axes: Axes, n: int) -> None:
    axes.plot([1, n], [0, 0], color="black", linewidth=1, clip_on=False)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, -0.07], color="black", linewidth=1, clip_on=False)
        axes.text(rank, -0.1, str(rank), ha="center", va="bottom", fontsize=FONT_SIZE)


def _draw_ruler(axes: Axes, difference: float, n: int, *, has_bars: bool) -> None:
    """Draw the critical difference above the ranks, unless it is longer than their axis."""
    caption = f"critical difference {difference:.2f}"
    if difference > n - 1:
        caption += ", more than the range of ranks"
    if has_bars:
        caption += "; bars join learners that do not differ significantly"
    if difference > n - 1:
        axes.text(1, -0.4, caption, va="bottom", fontsize=FONT_SIZE)
        return
    axes.plot(
        [1, 1 + difference],
        [-0.4, -0.4],
        color="black",
        linewidth=1,
        marker="|",
        markersize=7,
        clip_on=False,
    )
    axes.text(1, -0.47, caption, va="bottom", fontsize=FONT_SIZE)


def _draw_learners(
    axes: Axes, ranks: NDArray[np.float64], learners: Sequence[str], top: float
) -> None:
    """Write the better half on the left and the others on the right, so that no lines cross."""
    order = np.argsort(ranks, kind="stable")
    n = len(order)
    n_left = math.ceil(n / 2)
    margin = 0.04 * (n - 1)
    for i, learner in enumerate(order):
        left = i < n_left
        row = i if left else n - 1 - i
        y = top + 0.24 * row + 0.1
        side = 1 - margin if left else n + margin
        axes.plot(
            [ranks[learner], ranks[learner], side],
            [0, y, y],
            color=_GRAY,
            linewidth=0.8,
            clip_on=False,
        )
        name, rank = learners[learner], f"{ranks[learner]:.2f}"
        axes.text(
            side,
            y,
            f"{name}  {rank} " if left else f" {rank}  {name}",
            ha="right" if left else "left",
            va="center",
            fontsize=FONT_SIZE,
            parse_math=False,
        )
