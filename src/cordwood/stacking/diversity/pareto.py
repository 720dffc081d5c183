"""The Pareto front: what cannot be bettered in one respect without losing in another."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError

Direction = Literal["min", "max"]
_SIGNS = {"min": 1.0, "max": -1.0}


def pareto_front(points: ArrayLike, directions: Sequence[Direction]) -> NDArray[np.intp]:
    """Find the points that no other dominates: at least as good in all objectives, better in one.

    Two objectives take O(n log n) steps, others O(n f) for a front of f distinct points.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Numbers; infinite ones are welcome, NaN is not.
    directions : sequence of {"min", "max"}
        For each objective, whether less or more of it is better.

    Returns
    -------
    ndarray of shape (n_front,)
        Their positions, in rising order. Of equal points all are in it, or none.

    Examples
    --------
    Seconds, of which few are good, and scores, of which many are.

    >>> pareto_front([(1, 70), (10, 80), (10, 60), (100, 90)], ["min", "max"])
    array([0, 1, 3])
    """
    table = np.asarray(points, dtype=np.float64)
    if table.ndim != 2 or not table.shape[1]:
        raise CordwoodError(
            f"points is of shape {table.shape}; give a row for each point and a column for each "
            "objective"
        )
    if isinstance(directions, str) or len(directions) != table.shape[1]:
        raise CordwoodError(
            f"directions is {directions!r}, and points have {table.shape[1]} objectives; give "
            "'min' or 'max' for each"
        )
    if unknown := [direction for direction in directions if direction not in _SIGNS]:
        raise CordwoodError(f"directions has {unknown[0]!r}; give 'min' or 'max'")
    if (missing := np.isnan(table).any(axis=1)).any():
        raise CordwoodError(
            f"points[{missing.argmax()}] has a NaN, which is neither good nor bad; leave it out"
        )
    costs = table * [_SIGNS[direction] for direction in directions]
    front = _scan(costs) if costs.shape[1] == 2 else _peel(costs)
    return np.sort(front)


def _scan(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Find the front of two objectives, by one walk along the first."""
    order = np.lexsort((costs[:, 1], costs[:, 0]))
    first, second = costs[order].T
    is_new = np.append(True, first[1:] != first[:-1])[: order.size]
    # Of those that are equal in the first, only the best in the second can be on the front, and
    # only if it is better in the second than all that are better in the first.
    lowest = second[is_new]
    stays = lowest < np.append(np.inf, np.minimum.accumulate(lowest))[: lowest.size]
    stays[:1] = True
    group = np.cumsum(is_new) - 1
    front: NDArray[np.intp] = order[stays[group] & (second == lowest[group])]
    return front


def _peel(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Find the front of any number of objectives, one distinct point of it after another."""
    front = []
    left = np.lexsort(costs.T[::-1])
    while left.size:
        # The first in this order is dominated by none of those left, nor by what it outlived.
        rest = costs[left]
        front.append(left[(rest == rest[0]).all(axis=1)])
        left = left[(rest < rest[0]).any(axis=1)]
    return np.concatenate(front) if front else left
