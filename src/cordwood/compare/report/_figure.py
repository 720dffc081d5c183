"""The canvas of all pictures: figures, axes and the pixels on them, and how they become files.

Needs matplotlib, which the extra ``plots`` installs.
"""

import os

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from cordwood import _atomic as atomic
from cordwood.compare.report._label_placement import Box
from cordwood.exceptions import CordwoodError

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow that is
# lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PALE = "#dddddd"
FONT = 9.0

_POINTS_PER_INCH = 72.0


def new_figure(width: float, height: float) -> Figure:
    """Make a figure, in inches, on which labels can be measured before it is written."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # measures the labels
    return figure


def dress(axes: Axes) -> None:
    """Draw a pale grid behind the data, and no box around it."""
    axes.grid(color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def measure(figure: Figure, axes: Axes) -> tuple[Box, float]:
    """Give the frame of the axes in pixels, and how many of these make a point."""
    figure.draw_without_rendering()
    return Box(*axes.get_window_extent().extents), figure.dpi / _POINTS_PER_INCH


def steps(front: ArrayLike) -> NDArray[np.float64]:
    """List the corners of the line that says what can be had at so much cost.

    Parameters
    ----------
    front : array-like of shape (n, 2)
        Cost and worth of what nothing else beats in both, the cheapest first.

    Returns
    -------
    ndarray of shape (2 * n - 1, 2)

    Examples
    --------
    >>> steps([(1, 70), (10, 90)])
    array([[ 1., 70.],
           [10., 70.],
           [10., 90.]])
    """
    corners = np.repeat(np.asarray(front, dtype=np.float64), 2, axis=0)
    return np.column_stack([corners[1:, 0], corners[:-1, 1]])


def enclose(starts: ArrayLike, ends: ArrayLike, room: float) -> list[Box]:
    """Give the boxes around straight lines, or around dots that start where they end.

    Parameters
    ----------
    starts, ends : array-like of shape (n, 2)
    room : float
        How far the boxes reach beyond the lines.

    Examples
    --------
    >>> box, = enclose([(10, 5)], [(3, 5)], room=1)
    >>> box == (2, 4, 11, 6)
    True
    """
    low, high = np.minimum(starts, ends) - room, np.maximum(starts, ends) + room
    return [Box(*corners) for corners in np.hstack([low, high])]


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG, whole or not at all; equal figures make equal files.

    Parameters
    ----------
    figure : Figure
    path : path
        Its name must end in ``.svg``.
    """
    if not os.fspath(path).lower().endswith(".svg"):
        raise CordwoodError(f"{os.fspath(path)}: plots are SVG; end the name in .svg")
    with mpl.rc_context({"svg.hashsalt": "cordwood"}), atomic.write(path, "wb") as file:
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
