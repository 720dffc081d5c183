"""Places for labels in a picture, such that they hide nothing: pure geometry, in any unit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import isotonic_regression

# Directions from a marker, the likeliest first: right, left, above, below, and between them.
_DIRECTIONS = (
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.0, 1.0),
    (0.0, -1.0),
    (0.7, 0.7),
    (0.7, -0.7),
    (-0.7, 0.7),
    (-0.7, -0.7),
)
_REACHES = (1.0, 2.0, 3.0, 4.5, 6.0)


class Box(NamedTuple):
    """A rectangle."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.right - self.left) * (self.top - self.bottom)

    def shared_area(self, other: "Box") -> float:
        """Area that lies in both."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


def spread(heights: ArrayLike, gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Move heights apart, no farther than they must go.

    Parameters
    ----------
    heights : array-like of shape (n,)
        In rising order.
    gap : float
        Least distance between neighbours.
    low, high : float
        Where all should stay; too many for that go beyond `high`.

    Returns
    -------
    ndarray of shape (n,)
        Those with the least sum of squared moves.

    Examples
    --------
    >>> spread([1.0, 1.0, 8.0], gap=2.0, low=-5.0, high=10.0).tolist()
    [0.0, 2.0, 8.0]
    """
    # With the gaps taken out, keeping the distance is keeping the order.
    wanted = np.asarray(heights, dtype=np.float64)
    gaps = gap * np.arange(wanted.size)
    room = max(high - gap * (wanted.size - 1), low)
    return np.asarray(isotonic_regression(wanted - gaps, y_min=low, y_max=room) + gaps)


def place(
    markers: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    reach: float,
    obstacles: Sequence[Box] = (),
) -> list[Box]:
    """Find a place for each marker's label, where it hides no marker and no other label.

    Parameters
    ----------
    markers : sequence of (x, y)
        What the labels belong to.
    sizes : sequence of (width, height)
        Of the labels.
    frame : Box
        What they should stay in.
    reach : float
        Distance of the nearest places from a marker, which itself reaches half as far.
    obstacles : sequence of Box
        What else should not be hidden.

    Returns
    -------
    list of Box
        Where no place is free, the one that hides least.

    Examples
    --------
    >>> place([(0, 0)], [(4, 2)], Box(-9, -9, 9, 9), reach=1)
    [Box(left=1.0, bottom=-1.0, right=5.0, top=1.0)]
    """
    half = reach / 2
    taken = [*obstacles, *(Box(x - half, y - half, x + half, y + half) for x, y in markers)]
    found: list[Box] = []
    for marker, size in zip(markers, sizes, strict=True):
        places = [_beside(marker, size, d, r * reach) for r in _REACHES for d in _DIRECTIONS]
        chosen = min(places, key=lambda box: _hidden(box, taken, frame))
        taken.append(chosen)
        found.append(chosen)
    return found


def _beside(
    marker: tuple[float, float],
    size: tuple[float, float],
    direction: tuple[float, float],
    reach: float,
) -> Box:
    x, y = (at + reach * towards for at, towards in zip(marker, direction, strict=True))
    # The side that faces the marker is the one that keeps the distance.
    left = x - size[0] * (1 - np.sign(direction[0])) / 2
    bottom = y - size[1] * (1 - np.sign(direction[1])) / 2
    return Box(float(left), float(bottom), float(left + size[0]), float(bottom + size[1]))


def _hidden(box: Box, taken: Sequence[Box], frame: Box) -> float:
    outside = box.area - box.shared_area(frame)
    return outside + sum(box.shared_area(other) for other in taken)
