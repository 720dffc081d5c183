"""Place labels in a plot so that they overlap neither markers nor each other.

Pure geometry, in any unit. Not adjustText: that moves labels iteratively from random positions,
while these placements are deterministic, which reproducible SVG files need.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import isotonic_regression

# Directions from a marker in order of preference: right, left, above, below, then diagonals.
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
_DISTANCES = (1.0, 2.0, 3.0, 4.5, 6.0)  # multiples of the smallest distance


class Box(NamedTuple):
    """A rectangle, by the coordinates of its sides."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.right - self.left) * (self.top - self.bottom)

    def overlap(self, other: "Box") -> float:
        """Return the area of the intersection with another box."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)


def spread_labels(heights: ArrayLike, gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Move labels of ascending heights apart, with the least sum of squared displacements.

    Too many labels for the range exceed it beyond `high`.

    >>> spread_labels([1.0, 1.0, 8.0], gap=2.0, low=-5.0, high=10.0).tolist()
    [0.0, 2.0, 8.0]
    """
    # Without the gaps, minimum distances become an order constraint: isotonic regression.
    preferred = np.asarray(heights, dtype=np.float64)
    gaps = gap * np.arange(preferred.size)
    y_max = max(high - gap * (preferred.size - 1), low)
    return np.asarray(isotonic_regression(preferred - gaps, y_min=low, y_max=y_max) + gaps)


def place_labels(
    markers: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    distance: float,
    obstacles: Sequence[Box] = (),
) -> list[Box]:
    """Choose a position for the label of each marker, greedily by the least overlap.

    Labels should stay in the frame, beside the obstacles, and at least `distance` from their
    marker, whose radius is half of that.

    >>> place_labels([(0, 0)], [(4, 2)], Box(-9, -9, 9, 9), distance=1)
    [Box(left=1.0, bottom=-1.0, right=5.0, top=1.0)]
    """
    radius = distance / 2
    occupied = [
        *obstacles,
        *(Box(x - radius, y - radius, x + radius, y + radius) for x, y in markers),
    ]
    placed: list[Box] = []
    for marker, size in zip(markers, sizes, strict=True):
        candidates = [
            _place_beside(marker, size, direction, factor * distance)
            for factor in _DISTANCES
            for direction in _DIRECTIONS
        ]
        chosen = min(candidates, key=lambda box: _total_overlap(box, occupied, frame))
        occupied.append(chosen)
        placed.append(chosen)
    return placed


def _place_beside(
    marker: tuple[float, float],
    size: tuple[float, float],
    direction: tuple[float, float],
    distance: float,
) -> Box:
    x, y = (at + distance * towards for at, towards in zip(marker, direction, strict=True))
    # (x, y) is on the side of the label that faces the marker.
    left = x - size[0] * (1 - np.sign(direction[0])) / 2
    bottom = y - size[1] * (1 - np.sign(direction[1])) / 2
    return Box(float(left), float(bottom), float(left + size[0]), float(bottom + size[1]))


def _total_overlap(box: Box, occupied: Sequence[Box], frame: Box) -> float:
    outside = box.area - box.overlap(frame)
    return outside + sum(box.overlap(other) for other in occupied)
