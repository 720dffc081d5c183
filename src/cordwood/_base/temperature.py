"""Temperature scaling: fit the scale of decision values on held-out samples.

Probabilities are the softmax of decision values divided by a temperature, which is positive: it
changes how confident a classifier is, never the class that it predicts.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

# Bounds of log(scale / temperature): from nearly uniform to nearly certain probabilities.
_LOG_BOUNDS = (-7.0, 7.0)


class HeldOutMargins(NamedTuple):
    """Decision values of samples that were held out in training."""

    # (n_samples, n_classes): decision values; folds may have different classes.
    margins: NDArray[np.float64]
    columns: NDArray[np.intp]  # (n_samples,): column of each sample's class
    weights: NDArray[np.float64]  # (n_samples,): sample weights


def fit_temperature(folds: Sequence[HeldOutMargins], n_samples: float | None = None) -> float:
    """Return the temperature that minimizes the smoothed log loss of held-out samples."""
    # The target of a sample's own class is (n + 1) / (n + n_classes), that of each other class 1 /
    # (n + n_classes), which generalizes the targets of Platt (1999), section 2.2. Without
    # smoothing, the temperature of separable samples would be zero, and the log loss of the first
    # misclassified sample infinite. `n_samples` is the sum of the weights if these count
    # duplicates.
    n_held_out = sum(len(fold.columns) for fold in folds)
    n = n_held_out if n_samples is None else n_samples
    scale = np.sqrt(sum(np.square(fold.margins).sum() for fold in folds) / max(n_held_out, 1))
    if not scale:
        return 1.0

    def loss(inverse_temperature: float) -> float:
        total = 0.0
        for margins, columns, weights in folds:
            logs = log_softmax(inverse_temperature * margins, axis=1)
            n_classes = logs.shape[1]
            smoothed = n * logs[np.arange(len(logs)), columns] + logs.sum(axis=1)
            total -= float(weights @ smoothed) / (n + n_classes)
        return total

    return minimize_over_temperature(loss, float(scale))


def minimize_over_temperature(loss: Callable[[float], float], scale: float) -> float:
    """Return the temperature that minimizes `loss`, a function of the inverse temperature."""
    # The loss has one minimum; the search starts from the typical size of decision values.
    result = minimize_scalar(
        lambda log: loss(np.exp(log) / scale), bounds=_LOG_BOUNDS, method="bounded"
    )
    return float(scale / np.exp(result.x))
