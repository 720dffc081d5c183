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
    """Decision values of samples that were held out in training.

    Parameters
    ----------
    margins : float64 array of shape (n_samples, n_classes)
        Decision values; folds may have different classes.
    columns : int array of shape (n_samples,)
        Column of each sample's class.
    weights : float64 array of shape (n_samples,)
        Sample weights.
    """

    margins: NDArray[np.float64]
    columns: NDArray[np.intp]
    weights: NDArray[np.float64]


def fit_temperature(folds: Sequence[HeldOutMargins], n_samples: float | None = None) -> float:
    """Return the temperature that minimizes the smoothed log loss of held-out samples.

    Parameters
    ----------
    folds : sequence of HeldOutMargins
        Decision values of the held-out samples, fold by fold.
    n_samples : float, optional
        Number of samples n that the labels are smoothed by; by default the number of held-out
        samples. Set it to the sum of the weights if weights count duplicates.

    Returns
    -------
    float
        The temperature; 1.0 if there are no samples or all decision values are zero.

    Notes
    -----
    The target of a sample's own class is (n + 1) / (n + n_classes), that of each other class
    1 / (n + n_classes), which generalizes the targets of Platt [1]_. Without smoothing, the
    temperature of separable samples would be zero, and the log loss of the first misclassified
    sample infinite.

    References
    ----------
    .. [1] Platt (1999). Probabilistic outputs for support vector machines. Section 2.2.
    .. [2] Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> margins, columns = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, -1.0]]), np.array([1, 0, 1])
    >>> round(fit_temperature([HeldOutMargins(margins, columns, np.ones(3))]), 1)
    4.9
    """
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
    """Return the temperature that minimizes `loss`, a function of the inverse temperature.

    Parameters
    ----------
    loss : callable
        Loss for an inverse temperature, with one minimum.
    scale : float
        Typical size of the decision values, which the search starts from.
    """
    result = minimize_scalar(
        lambda log: loss(np.exp(log) / scale), bounds=_LOG_BOUNDS, method="bounded"
    )
    return float(scale / np.exp(result.x))
