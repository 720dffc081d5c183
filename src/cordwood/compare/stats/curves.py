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
    points = []
    for size, row in zip(train_sizes, np.asarray(scores, dtype=np.float64), strict=True):
        present = row[~np.isnan(row)]
        mean = float(present.mean()) if present.size else float("nan")
        sd = float(present.std(ddof=1)) if present.size > 1 else float("nan")
        points.append(CurvePoint(size, mean, sd, present.size))
    return LearningCurve(tuple(points), by)
