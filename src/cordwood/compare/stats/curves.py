"""Learning curves: how a learner's score grows with what it learns from, and with its rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cordwood.compare.stats.statistics import PairedTest, paired_t_test

By = Literal["train_fraction", "max_positives"]


@dataclass(frozen=True)
class CurvePoint:
    """The scores with so much to learn from.

    Parameters
    ----------
    amount : float
        Share of the training rows, above 0 and up to 1; or the number of those of the category.
    mean, sd : float
        Over the folds; NaN where there are too few of them.
    n : int
        Number of folds with a score.
    """

    amount: float
    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class LearningCurve:
    """A learner's scores by what it learns from.

    Parameters
    ----------
    points : tuple of CurvePoint
        From the smallest amount to the largest.
    last_gain : PairedTest
        The largest amount against the one before it, on the folds that have both: whether the
        curve still rises. NaN with fewer than two amounts.
    by : {"share", "positives"}
        What amounts are.
    """

    points: tuple[CurvePoint, ...]
    last_gain: PairedTest
    by: By = "train_fraction"


@dataclass(frozen=True)
class RoundCurve:
    """A learner's scores after some of its rounds, each the mean over the divisions of the rows.

    Parameters
    ----------
    rounds : tuple of int
        In rising order.
    train, test : tuple of float
        Scores of the rows that were learnt from, and of those that were asked about.
    """

    rounds: tuple[int, ...]
    train: tuple[float, ...]
    test: tuple[float, ...]


def learning_curve(
    amounts: Sequence[float], scores: ArrayLike, by: By = "train_fraction"
) -> LearningCurve:
    """Sum up scores by what was learnt from.

    Parameters
    ----------
    amounts : sequence of float
        In any order, each once.
    scores : array-like of shape (n_amounts, n_folds)
        Row by row for the amounts; NaN where a score is missing.
    by : {"share", "positives"}
        What amounts are.

    Returns
    -------
    LearningCurve

    Examples
    --------
    >>> curve = learning_curve([0.5, 1.0], [[0.7, 0.8], [0.8, 0.9]])
    >>> [(point.amount, round(point.mean, 2)) for point in curve.points]
    [(0.5, 0.75), (1.0, 0.85)]
    >>> round(curve.last_gain.difference, 2)
    0.1
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(amounts):
        raise ValueError(f"scores must have {len(amounts)} rows of folds, not shape {table.shape}")
    if len(set(amounts)) != len(amounts):
        raise ValueError(f"each amount must be there once, not {list(amounts)}")
    order = np.argsort(amounts)
    points = []
    for row in order:
        present = table[row][~np.isnan(table[row])]
        mean = float(present.mean()) if present.size else float("nan")
        sd = float(present.std(ddof=1)) if present.size > 1 else float("nan")
        points.append(CurvePoint(float(amounts[row]), mean, sd, present.size))
    pair = table[order[-2:]] if len(order) > 1 else np.empty((2, 0))
    return LearningCurve(tuple(points), paired_t_test(pair[1], pair[0]), by)
