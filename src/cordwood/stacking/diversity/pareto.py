"""Pareto front."""

from __future__ import annotations  # `help` shows the short names

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError

Direction = Literal["min", "max"]
_SIGNS = {"min": 1.0, "max": -1.0}


def pareto_front(points: ArrayLike, directions: Sequence[Direction]) -> NDArray[np.intp]:
    """Return the points that no other point dominates.

    A point dominates another if it is at least as good in all objectives and better in one. The
    time is O(n log n) for two objectives, else O(n f) for a front of f distinct points.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Values of the objectives; may be infinite, but not NaN.
    directions : sequence of {"min", "max"}
        For each objective, whether it is minimized or maximized.

    Returns
    -------
    ndarray of shape (n_front,)
        Indices of the points on the front, in ascending order. Equal points are all on the front
        or all off it.

    Examples
    --------
    Minimize seconds and maximize scores:

    >>> pareto_front([(1, 70), (10, 80), (10, 60), (100, 90)], ["min", "max"])
    array([0, 1, 3])
    """
    table = np.asarray(points, dtype=np.float64)
    if table.ndim != 2 or not table.shape[1]:
        raise CordwoodError(
            f"points must have shape (n_points, n_objectives); got shape {table.shape}."
        )
    if isinstance(directions, str) or len(directions) != table.shape[1]:
        raise CordwoodError(
            f"directions must contain 'min' or 'max' for each of the {table.shape[1]} objectives; "
            f"got {directions!r}."
        )
    if unknown := [direction for direction in directions if direction not in _SIGNS]:
        raise CordwoodError(f"directions must contain only 'min' and 'max'; got {unknown[0]!r}.")
    if (missing := np.isnan(table).any(axis=1)).any():
        raise CordwoodError(f"points must not contain NaN; remove points[{missing.argmax()}].")
    costs = table * [_SIGNS[direction] for direction in directions]
    front = _front_of_two(costs) if costs.shape[1] == 2 else _front_of_many(costs)
    return np.sort(front)


def _front_of_two(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the front of two objectives by one pass in the order of the first."""
    order = np.lexsort((costs[:, 1], costs[:, 0]))
    first, second = costs[order].T
    is_new = np.append(True, first[1:] != first[:-1])[: order.size]
    # Among points that are equal in the first objective, only those with the lowest second one can
    # be on the front, and only if it is lower than that of all points with a lower first one.
    lowest = second[is_new]
    on_front = lowest < np.append(np.inf, np.minimum.accumulate(lowest))[: lowest.size]
    on_front[:1] = True
    group = np.cumsum(is_new) - 1
    front: NDArray[np.intp] = order[on_front[group] & (second == lowest[group])]
    return front


def _front_of_many(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the front of any number of objectives, one distinct point after another."""
    front = []
    remaining = np.lexsort(costs.T[::-1])
    while remaining.size:
        # The first point in lexicographic order is dominated neither by the remaining points nor by
        # the points that were removed.
        rest = costs[remaining]
        front.append(remaining[(rest == rest[0]).all(axis=1)])
        remaining = remaining[(rest < rest[0]).any(axis=1)]
    return np.concatenate(front) if front else remaining
