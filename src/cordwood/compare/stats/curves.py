"""Learning curves: scores by training set size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

By = Literal["train_fraction", "max_positives"]
"""Sizes of training sets: fractions of the samples, or numbers of those of the category."""


@dataclass(frozen=True)
class CurvePoint:
    """Mean and standard deviation of scores for one training set size; NaN with too few folds."""

    train_size: float
    mean: float
    sd: float
    n: int  # folds with a score


@dataclass(frozen=True)
class LearningCurve:
    """Scores of a learner by training set size, in ascending order."""

    points: tuple[CurvePoint, ...]
    by: By = "train_fraction"


def learning_curve(
    train_sizes: Sequence[float], scores: ArrayLike, by: By = "train_fraction"
) -> LearningCurve:
    """Compute a curve from scores of shape (n_sizes, n_folds), in which NaN is missing.

    >>> curve = learning_curve([0.5, 1.0], [[0.7, 0.8], [0.8, 0.9]])
    >>> [(point.train_size, round(point.mean, 2)) for point in curve.points]
    [(0.5, 0.75), (1.0, 0.85)]
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(train_sizes):
        raise ValueError(
            f"scores must have one row for each of {len(train_sizes)} train_sizes; got shape "
            f"{table.shape}."
        )
    if len(set(train_sizes)) != len(train_sizes):
        raise ValueError(f"train_sizes must be distinct; got {list(train_sizes)}.")
    points = []
    for row in np.argsort(train_sizes):
        present = table[row][~np.isnan(table[row])]
        mean = float(present.mean()) if present.size else float("nan")
        sd = float(present.std(ddof=1)) if present.size > 1 else float("nan")
        points.append(CurvePoint(float(train_sizes[row]), mean, sd, present.size))
    return LearningCurve(tuple(points), by)
