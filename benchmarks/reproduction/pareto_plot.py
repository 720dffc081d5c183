"""Plot of the subsets of a stack's members: diversity against effectiveness.

Needs matplotlib, which the dependency group ``bench`` installs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cordwood.compare.report.rendering import metric_name
from cordwood.exceptions import CordwoodError
from cordwood.reports.label_placement import place_labels
from cordwood.stacking.diversity import pareto_front
from reproduction import canvas
from reproduction.canvas import FONT_SIZE, LIGHT_GRAY
from reproduction.subsets import SubsetScore

_FRONT, _ALL = canvas.COLORS[:2]
_GREY = "#999999"

Floats = NDArray[np.float64]


def draw_subsets(
    subsets: Sequence[SubsetScore], *, title: str = "", metric: str = "macro_f1"
) -> Figure:
    """Plot the score of each stack against the double fault of its members.

    Parameters
    ----------
    subsets : sequence of SubsetScore
        From `score_subsets`.
    title : str, default=""
        Title of the plot, such as the name of the data set.
    metric : {"macro_f1", "micro_f1"}, default="macro_f1"
        The score to plot.

    Returns
    -------
    Figure
        A dot for each subset, and a diamond for the stack of all members. The line joins the Pareto
        front: the subsets that no other subset dominates in diversity and effectiveness. Its dots
        are numbered, and the lower panel shows the members of each.

    References
    ----------
    R. Campos et al., "Stacking bagged and boosted forests for effective automated
    classification", SIGIR 2017, figure 3.
    """
    if metric not in ("macro_f1", "micro_f1"):
        raise CordwoodError(f"metric must be 'macro_f1' or 'micro_f1'; got {metric!r}")
    if not subsets:
        raise CordwoodError("subsets must not be empty")
    points = 100 * np.array([(s.double_fault, getattr(s, metric)) for s in subsets])
    front = pareto_front(points, ["min", "max"])
    front = front[np.argsort(points[front, 0], kind="stable")]
    members = list(dict.fromkeys(name for subset in subsets for name in subset.members))

    figure, above, below = _new_figure(len(members))
    above.set_title(title, loc="left", parse_math=False)
    above.set_xlabel("double fault: samples that two members both misclassify, mean over pairs, %")
    above.set_ylabel(f"{metric_name(metric)}, %")
    above.plot(*points.T, ".", color=_GREY, markersize=4)
    steps = canvas.step_line(points[front])
    above.plot(*steps.T, color=_FRONT, linewidth=1)
    above.plot(*points[front].T, "o", color=_FRONT, markersize=5)
    names = {position: str(number) for number, position in enumerate(front, start=1)}
    complete = [i for i, subset in enumerate(subsets) if len(subset.members) == len(members)]
    if complete:
        above.plot(*points[complete].T, "D", color=_ALL, markersize=6)
        number = names.get(complete[0])
        names[complete[0]] = f"{number}, all" if number else "all"
    _draw_membership(below, members, [subsets[position].members for position in front])
    _write_names(figure, above, points, names, steps)
    return figure


def _new_figure(n_members: int) -> tuple[Figure, Axes, Axes]:
    """Create axes for the dots and, below, for one line per member."""
    heights = (4.0, 0.3 + 0.18 * n_members)
    figure = canvas.new_figure(6.4, sum(heights) + 0.4)
    above, below = figure.subplots(2, height_ratios=heights)
    canvas.style_axes(above)
    above.margins(0.06)
    return figure, above, below


def _draw_membership(axes: Axes, members: Sequence[str], front: Sequence[Sequence[str]]) -> None:
    """Plot a column for each subset of the front, with a large dot for each of its members."""
    numbers = range(1, len(front) + 1)
    lines = range(len(members))
    absent = [(n, line) for n in numbers for line in lines if members[line] not in front[n - 1]]
    present = [(n, line) for n in numbers for line in lines if members[line] in front[n - 1]]
    for dots, color, size in ((absent, LIGHT_GRAY, 3), (present, _FRONT, 6)):
        if dots:
            axes.plot(*zip(*dots, strict=True), "o", color=color, markersize=size)
    axes.set_xticks(numbers)
    axes.set_xlim(0.5, max(len(front), 12) + 0.5)
    axes.set_ylim(len(members) - 0.5, -0.5)
    axes.set_yticks(lines, labels=members, parse_math=False)
    axes.set_xlabel("members of the numbered subsets", loc="left")
    axes.tick_params(length=0, labelsize=FONT_SIZE)
    axes.spines[:].set_visible(False)


def _write_names(
    figure: Figure, axes: Axes, points: Floats, names: Mapping[int, str], steps: Floats
) -> None:
    """Label some of the points, without covering dots or lines."""
    frame, scale = canvas.measure_axes(figure, axes)
    at = axes.transData.transform(points)
    corners = axes.transData.transform(steps)
    obstacles = [
        *canvas.bounding_boxes(corners[:-1], corners[1:], scale),
        *canvas.bounding_boxes(at, at, scale),
    ]
    texts = {
        position: axes.annotate(
            name,
            points[position],
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=FONT_SIZE,
            color=_ALL if "all" in name else _FRONT,
        )
        for position, name in names.items()
    }
    sizes = [text.get_window_extent() for text in texts.values()]
    boxes = place_labels(
        [tuple(at[position]) for position in texts],
        [(size.width, size.height) for size in sizes],
        frame,
        6 * scale,
        obstacles,
    )
    for (position, text), box in zip(texts.items(), boxes, strict=True):
        text.xyann = tuple((np.array(box[:2]) - at[position]) / scale)
