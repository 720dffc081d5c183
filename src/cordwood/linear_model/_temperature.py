"""The slope that makes probabilities of margins."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

_LOG_SLOPES = (-7.0, 7.0)  # of margins scaled to unit size: from nearly uniform to nearly certain


class HeldOut(NamedTuple):
    """Documents judged by a machine that was trained without them."""

    margins: NDArray[np.float64]
    columns: NDArray[np.intp]
    weights: NDArray[np.float64]


def fit_slope(parts: list[HeldOut]) -> float:
    """Maximise the likelihood of the held-out labels, each smoothed by one unseen document a class.

    Without that smoothing (Platt 1999, section 2.2) separable documents would ask for an infinite
    slope, and the first error after them would cost an infinite log-loss.
    """
    n_documents = sum(len(part.columns) for part in parts)
    size = np.sqrt(sum(np.square(part.margins).sum() for part in parts) / max(n_documents, 1))
    if not size:
        return 1.0

    def loss(log_slope: float) -> float:
        total = 0.0
        for margins, columns, weights in parts:
            logs = log_softmax(np.exp(log_slope) / size * margins, axis=1)
            n_columns = logs.shape[1]
            smoothed = n_documents * logs[np.arange(len(logs)), columns] + logs.sum(axis=1)
            total -= float(weights @ smoothed) / (n_documents + n_columns)
        return total

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded").x) / size)
