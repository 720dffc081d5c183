"""Learning curves: how a learner's score grows with the share of the training rows it gets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cordwood.experiment.statistics import PairedTest, paired_t_test


@dataclass(frozen=True)
class CurvePoint:
    """The scores at one training share.

    Parameters
    ----------
    share : float
        Share of the training rows, above 0 and up to 1.
    mean, sd : float
        Over the folds; NaN where there are too few of them.
    n : int
        Number of folds with a score.
    """

    share: float
    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class LearningCurve:
    """A learner's scores by training share.

    Parameters
    ----------
    points : tuple of CurvePoint
        From the smallest share to the largest.
    last_gain : PairedTest
        The largest share against the one before it, on the folds that have both: whether the
        curve still rises. NaN with fewer than two shares.
    """

    points: tuple[CurvePoint, ...]
    last_gain: PairedTest


def learning_curve(shares: Sequence[float], scores: ArrayLike) -> LearningCurve:
    """Sum up scores by training share.

    Parameters
    ----------
    shares : sequence of float
        In any order, each once.
    scores : array-like of shape (n_shares, n_folds)
        Row by row for the shares; NaN where a score is missing.

    Returns
    -------
    LearningCurve

    Examples
    --------
    >>> curve = learning_curve([0.5, 1.0], [[0.7, 0.8], [0.8, 0.9]])
    >>> [(point.share, round(point.mean, 2)) for point in curve.points]
    [(0.5, 0.75), (1.0, 0.85)]
    >>> round(curve.last_gain.difference, 2)
    0.1
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(shares):
        raise ValueError(f"scores must have {len(shares)} rows of folds, not shape {table.shape}")
    if len(set(shares)) != len(shares):
        raise ValueError(f"each share must be there once, not {list(shares)}")
    order = np.argsort(shares)
    points = []
    for row in order:
        present = table[row][~np.isnan(table[row])]
        mean = float(present.mean()) if present.size else float("nan")
        sd = float(present.std(ddof=1)) if present.size > 1 else float("nan")
        points.append(CurvePoint(float(shares[row]), mean, sd, present.size))
    pair = table[order[-2:]] if len(order) > 1 else np.empty((2, 0))
    return LearningCurve(tuple(points), paired_t_test(pair[1], pair[0]))
