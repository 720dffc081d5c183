"""Helpers for matplotlib figures: style, measurements in pixels, reproducible SVG files.

Requires matplotlib, which the dependency group ``bench`` installs.
"""

import os

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from cordwood._base import atomic
from cordwood.exceptions import CordwoodError
from cordwood.reports.label_placement import Box

# The Okabe-Ito palette for color-blind readers, without yellow, which is hard to see on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LIGHT_GRAY = "#dddddd"
FONT_SIZE = 9.0

_POINTS_PER_INCH = 72.0


def new_figure(width: float, height: float) -> Figure:
    """Create a figure with a canvas on which text can be measured.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    Figure
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # attaches itself; its renderer measures text
    return figure


def style_axes(axes: Axes) -> None:
    """Draw a light grid behind the data, and hide the top and right spines."""
    axes.grid(color=LIGHT_GRAY, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def measure_axes(figure: Figure, axes: Axes) -> tuple[Box, float]:
    """Lay out a figure and measure its axes.

    Parameters
    ----------
    figure : Figure
        The figure.
    axes : Axes
        One of its axes.

    Returns
    -------
    Box
        Extent of the axes in pixels.
    float
        Pixels per point.
    """
    figure.draw_without_rendering()
    return Box(*axes.get_window_extent().extents), figure.dpi / _POINTS_PER_INCH


def step_line(front: ArrayLike) -> NDArray[np.float64]:
    """Return the corners of the step function through the points of a Pareto front.

    Parameters
    ----------
    front : array-like of shape (n, 2)
        Points in ascending order of the first coordinate.

    Returns
    -------
    ndarray of shape (2 * n - 1, 2)

    Examples
    --------
    >>> step_line([(1, 70), (10, 90)])
    array([[ 1., 70.],
           [10., 70.],
           [10., 90.]])
    """
    corners = np.repeat(np.asarray(front, dtype=np.float64), 2, axis=0)
    return np.column_stack([corners[1:, 0], corners[:-1, 1]])


def bounding_boxes(starts: ArrayLike, ends: ArrayLike, padding: float) -> list[Box]:
    """Return the bounding boxes of line segments.

    Parameters
    ----------
    starts, ends : array-like of shape (n, 2)
        End points of the segments; equal for dots.
    padding : float
        Distance between a segment and the sides of its box.

    Returns
    -------
    list of Box

    Examples
    --------
    >>> box, = bounding_boxes([(10, 5)], [(3, 5)], padding=1)
    >>> box == (2, 4, 11, 6)
    True
    """
    low, high = np.minimum(starts, ends) - padding, np.maximum(starts, ends) + padding
    return [Box(*corners) for corners in np.hstack([low, high])]


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure atomically as SVG; equal figures give equal files.

    Parameters
    ----------
    figure : Figure
        The figure.
    path : path
        File name that ends in ``.svg``.
    """
    if not os.fspath(path).lower().endswith(".svg"):
        raise CordwoodError(f"{os.fspath(path)}: plots are written as SVG; use the suffix .svg")
    with mpl.rc_context({"svg.hashsalt": "cordwood"}), atomic.write(path, "wb") as file:
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
