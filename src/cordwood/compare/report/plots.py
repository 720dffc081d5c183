"""Pictures of comparisons, as SVG: learning curves, time and effectiveness, critical difference.

Each learner has a colour, a marker and a label of its own. Needs matplotlib, which the extra
``plots`` installs; `cordwood.compare.report._figure.save` writes the pictures.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from cordwood.compare.report import _figure as canvas
from cordwood.compare.report import _label_placement as labels
from cordwood.compare.report._figure import COLOURS, FONT
from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.comparison import Comparison
from cordwood.compare.stats.curves import LearningCurve, RoundCurve
from cordwood.compare.stats.ranks import Nemenyi
from cordwood.exceptions import CordwoodError

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
_LINES = ("-", "--", ":", "-.")
_GREY = "#666666"
_LEADER = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 1.0, "shrinkB": 5.0}

Point = tuple[float, float]


def draw_learning_curves(
    curves: Mapping[str, LearningCurve], *, title: str = "", metric: str = "micro_f1"
) -> Figure:
    """Draw scores by what was learnt from, a line for each learner.

    Parameters
    ----------
    curves : mapping of str to LearningCurve
        By learner, for one data set; amounts without a score are left out.
    title : str
        Above the picture, such as the name of the data set.
    metric : str
        What the scores are.

    Returns
    -------
    Figure
        The bars are one standard error of the mean to each side.
    """
    figure, axes = _new_axes(6.4, max(4.0, 0.2 * len(curves) + 1.5))
    counted = any(curve.by == "max_positives" for curve in curves.values())
    ends: dict[int, Point] = {}
    for position, curve in enumerate(curves.values()):
        points = [point for point in curve.points if point.n]
        if not points:
            continue
        x = [point.amount if counted else 100 * point.amount for point in points]
        y = [100 * point.mean for point in points]
        error = [100 * point.sd / math.sqrt(point.n) if point.n > 1 else 0.0 for point in points]
        axes.errorbar(x, y, error, elinewidth=0.8, markersize=5, linewidth=1.5, **_look(position))
        ends[position] = (x[-1], y[-1])
    if not ends:
        raise CordwoodError("there is no learning curve to draw: no unit has been done yet")
    if counted:
        _scale(axes, (1.0, 2.0, 5.0), "{:,.0f}")
        axes.set_xlabel("training rows of the category that were kept")
    else:
        axes.set_xlim(0, 103)
        axes.set_xlabel("share of the training rows, %")
    axes.set_ylabel(f"{metric_name(metric)}, %")
    axes.set_title(title, loc="left", parse_math=False)
    _label_ends(figure, axes, ends, list(curves))
    return figure


def draw_round_curves(
    curves: Mapping[str, RoundCurve], *, title: str = "", metric: str = "micro_f1"
) -> Figure:
    """Draw scores by rounds, a line for each learner's test rows and a thin one for training rows.

    Parameters
    ----------
    curves : mapping of str to RoundCurve
        By learner, for one data set.
    title : str
        Above the picture, such as the name of the data set.
    metric : str
        What the scores are.

    Returns
    -------
    Figure
        Where a line ends early, so did the learner's rounds.
    """
    figure, axes = _new_axes(6.4, 4.0)
    ends: dict[int, Point] = {}
    for position, curve in enumerate(curves.values()):
        train, test = (100 * np.array(scores) for scores in (curve.train, curve.test))
        look = _look(position)
        axes.plot(curve.rounds, test, linewidth=1.5, markersize=4, **look)
        axes.plot(curve.rounds, train, linewidth=0.8, linestyle=":", color=look["color"])
        ends[position] = (curve.rounds[-1], float(test[-1]))
    _scale(axes, (1.0, 2.0, 5.0), "{:,.0f}")
    axes.set_xlabel("rounds; dotted: training rows")
    axes.set_ylabel(f"{metric_name(metric)}, %")
    axes.set_title(title, loc="left", parse_math=False)
    _label_ends(figure, axes, ends, list(curves))
    return figure


def draw_time_against_effectiveness(
    comparison: Comparison, *, metric: str = "micro_f1", dataset: str | None = None
) -> Figure:
    """Draw what each learner costs against how good it is.

    Parameters
    ----------
    comparison : Comparison
    metric : str
        One of its metrics.
    dataset : str, optional
        One of its data sets; by default, geometric means of the seconds and means of the scores
        over the data sets that all learners have completed.

    Returns
    -------
    Figure
        Full markers are the learners that no other beats in both; a line joins them. Learners
        that are not complete are left out.
    """
    points = _find_points(comparison, metric, dataset)
    if not points:
        raise CordwoodError("there is nothing to draw: no learner has done all its units yet")
    figure, axes = _new_axes(6.4, 4.4)
    front = _front(points)
    steps = canvas.steps([points[name] for name in front])
    axes.plot(*steps.T, color=_GREY, linewidth=0.8, linestyle=":")
    for position, name in enumerate(comparison.learners):
        if name in points:
            look = _look(position)
            inside = look["color"] if name in front else "white"
            axes.plot(
                *points[name],
                marker=look["marker"],
                color=look["color"],
                markersize=8,
                markerfacecolor=inside,
                linestyle="none",
            )
    _scale_seconds(axes, [seconds for seconds, _ in points.values()])
    axes.margins(y=0.1)
    axes.set_xlabel("CPU seconds to fit and to predict one part, without tuning")
    axes.set_ylabel(f"{metric_name(metric)}, %")
    sets = (dataset,) if dataset else comparison.summaries[metric, front[0]].datasets
    title = sets[0] if len(sets) == 1 else f"mean of {len(sets)} data sets"
    axes.set_title(title, loc="left", parse_math=False)
    _label_points(figure, axes, points, steps)
    return figure


def draw_critical_difference(
    result: Nemenyi, learners: Sequence[str], *, title: str = ""
) -> Figure:
    """Draw average ranks, with a bar over those that do not differ significantly.

    Parameters
    ----------
    result : Nemenyi
    learners : sequence of str
        Their names, in the order of the ranks.
    title : str
        Above the picture.

    Returns
    -------
    Figure
        The best is on the left.
    """
    n = len(learners)
    if len(result.ranks) != n:
        raise ValueError(f"there are {n} names for {len(result.ranks)} ranks")
    if math.isnan(result.critical_difference):
        raise CordwoodError(
            "a critical difference needs two learners that have completed the same data set"
        )
    groups = result.groups()
    bars = 0.16 * len(groups) + 0.12
    rows = 0.24 * math.ceil(n / 2)
    above, width = 0.75, 5.0
    figure = Figure(figsize=(width, above + bars + rows))
    # One unit of y is an inch, downwards from the axis of ranks.
    axes = figure.add_axes((0, 0, 1, 1), xlim=(1, n), ylim=(bars + rows, -above))
    axes.set_axis_off()
    _draw_ranks_axis(axes, n)
    _draw_ruler(axes, result.critical_difference, n)
    for level, group in enumerate(groups):
        y = 0.14 + 0.16 * level
        ends = result.ranks[[group[0], group[-1]]]
        reach = 0.012 * (n - 1)
        axes.plot(
            [ends[0] - reach, ends[1] + reach],
            [y, y],
            color="black",
            linewidth=3,
            solid_capstyle="butt",
            clip_on=False,
        )
    _draw_ranked(axes, result.ranks, learners, top=bars)
    axes.text(1, -above, title, fontsize=FONT + 2, va="bottom", parse_math=False)
    return figure


def _new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = canvas.new_figure(width, height)
    axes = figure.add_subplot()
    canvas.dress(axes)
    return figure, axes


def _look(position: int) -> dict[str, Any]:
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": _MARKERS[position % len(_MARKERS)],
        "linestyle": _LINES[position // len(COLOURS) % len(_LINES)],
    }


def _label_ends(
    figure: Figure, axes: Axes, ends: Mapping[int, Point], names: Sequence[str]
) -> None:
    """Write each learner's name right of its line."""
    frame, scale = canvas.measure(figure, axes)
    order = sorted(ends, key=lambda position: ends[position][1])
    heights = [axes.transData.transform(ends[position])[1] for position in order]
    spread = labels.spread(heights, 1.3 * FONT * scale, frame.bottom, frame.top)
    for position, height in zip(order, spread, strict=True):
        colour = _look(position)["color"]
        axes.annotate(
            names[position],
            ends[position],
            xytext=(1.04, (height - frame.bottom) / (frame.top - frame.bottom)),
            textcoords="axes fraction",
            fontsize=FONT,
            parse_math=False,
            va="center",
            color=colour,
            annotation_clip=False,
            arrowprops={**_LEADER, "color": colour, "relpos": (0, 0.5)},
        )


def _find_points(comparison: Comparison, metric: str, dataset: str | None) -> dict[str, Point]:
    """Give seconds and percent of each learner that is complete."""
    for what, name, known in (
        ("metric", metric, comparison.metrics),
        ("data set", dataset, comparison.datasets),
    ):
        if name is not None and name not in known:
            raise CordwoodError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    points = {}
    for name in comparison.learners:
        summary = comparison.summaries[metric, name]
        sets, score = summary.datasets, summary.mean
        if dataset is not None:
            cell = comparison.cells[metric, dataset, name]
            sets, score = (dataset,) if cell.complete else (), cell.mean
        costs = [comparison.costs[each, name] for each in sets]
        # The clock's own step keeps what took no time at all on a logarithmic axis.
        seconds = np.array([max(cost.fit + cost.predict, 1e-3) for cost in costs])
        if sets and not np.isnan(seconds).any():
            points[name] = (float(np.exp(np.log(seconds).mean())), 100 * score)
    return points


def _front(points: Mapping[str, Point]) -> list[str]:
    """List the learners that no other beats in both, the fastest first."""
    front: list[str] = []
    for name in sorted(points, key=lambda name: (points[name][0], -points[name][1])):
        if not front or points[name][1] > points[front[-1]][1]:
            front.append(name)
    return front


def _scale_seconds(axes: Axes, seconds: Sequence[float]) -> None:
    low, high = min(seconds), max(seconds)
    margin = max((high / low) ** 0.1, 1.25)
    axes.set_xlim(low / margin, high * margin)
    _scale(axes, (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,), "{:g}")


def _scale(axes: Axes, steps: Sequence[float], form: str) -> None:
    """Make the axis below logarithmic, with ticks at steps of each power of ten."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: form.format(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _label_points(
    figure: Figure, axes: Axes, points: Mapping[str, Point], steps: NDArray[np.float64]
) -> None:
    """Write each learner's name by its marker, and not across the line of steps."""
    frame, scale = canvas.measure(figure, axes)
    at = axes.transData.transform(list(points.values()))
    corners = axes.transData.transform(steps)
    line = canvas.enclose(corners[:-1], corners[1:], scale)
    sizes = [_size(axes, name) for name in points]
    boxes = labels.place(list(map(tuple, at)), sizes, frame, 9 * scale, obstacles=line)
    for (x, y), (name, point), box in zip(at, points.items(), boxes, strict=True):
        nearest = np.clip((x, y), box[:2], box[2:])
        far = math.dist((x, y), nearest) > 12 * scale
        axes.annotate(
            name,
            point,
            xytext=((box.left - x) / scale, ((box.bottom + box.top) / 2 - y) / scale),
            textcoords="offset points",
            fontsize=FONT,
            parse_math=False,
            va="center",
            arrowprops={**_LEADER, "color": _GREY} if far else None,
        )


def _size(axes: Axes, text: str) -> tuple[float, float]:
    """Measure a label, with room for a letter between it and the next."""
    drawn = axes.text(0, 0, f"{text}n", fontsize=FONT, parse_math=False)
    box = drawn.get_window_extent()
    drawn.remove()
    return box.width, box.height


def _draw_ranks_axis(axes: Axes, n: int) -> None:
    axes.plot([1, n], [0, 0], color="black", linewidth=1, clip_on=False)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, -0.07], color="black", linewidth=1, clip_on=False)
        axes.text(rank, -0.1, str(rank), ha="center", va="bottom", fontsize=FONT)


def _draw_ruler(axes: Axes, difference: float, n: int) -> None:
    """Draw the critical difference above the ranks, unless it is longer than they are."""
    caption = f"critical difference {difference:.2f}"
    if difference > n - 1:
        axes.text(1, -0.4, f"{caption}, more than all ranks", va="bottom", fontsize=FONT)
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
    axes.text(1, -0.47, caption, va="bottom", fontsize=FONT)


def _draw_ranked(
    axes: Axes, ranks: NDArray[np.float64], learners: Sequence[str], top: float
) -> None:
    """Name the better half on the left and the other on the right, so that no lines cross."""
    order = np.argsort(ranks, kind="stable")
    n = len(order)
    n_left = math.ceil(n / 2)
    margin = 0.04 * (n - 1)
    for position, learner in enumerate(order):
        left = position < n_left
        row = position if left else n - 1 - position
        y = top + 0.24 * row + 0.1
        side = 1 - margin if left else n + margin
        axes.plot(
            [ranks[learner], ranks[learner], side],
            [0, y, y],
            color=_GREY,
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
            fontsize=FONT,
            parse_math=False,
        )
