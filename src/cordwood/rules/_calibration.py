"""Calibration of rule ensembles: temperatures fitted on held-out decision values.

Temperatures are positive and a decision value of zero is mapped to probability 0.5, so that
probabilities agree with the predicted labels.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from cordwood._temperature import minimize_over_temperature
from cordwood.rules._records import Float64Array


def fit_signed_temperatures(
    decisions: Float64Array, is_positive: NDArray[np.bool_], weights: Float64Array
) -> Float64Array:
    """Fit one temperature for negative and one for positive decision values.

    Two are needed because with a high cost of missing the rare class, negative decisions are more
    reliable than positive ones. Both are smoothed by one sample of each class at the mean absolute
    decision value, which keeps them positive if no sample is misclassified.

    Parameters
    ----------
    decisions : float64 array of shape (n_samples,)
        Decision values of held-out samples.
    is_positive : bool array of shape (n_samples,)
        Whether a sample is of the positive class.
    weights : float64 array of shape (n_samples,)
        Sample weights.

    Returns
    -------
    ndarray of shape (2,)
        Temperatures of negative and of positive decision values.

    Examples
    --------
    >>> decisions = np.repeat([-1.0, 1.0], [90, 10])
    >>> is_positive = np.arange(100) >= 95
    >>> temperatures = fit_signed_temperatures(decisions, is_positive, np.ones(100))
    >>> expit([-1, 1] / temperatures).round(3)  # smoothed: 1 of 92, and 6 of 12
    array([0.011, 0.5  ])
    """
    margins = np.where(is_positive, decisions, -decisions)
    default_scale = float(np.sqrt(np.square(decisions).mean())) if decisions.size else 0.0
    return np.array(
        [
            _fit_one_sign(margins[mask], weights[mask], default_scale or 1.0)
            for mask in (decisions < 0, decisions > 0)
        ]
    )


def apply_signed_temperatures(decisions: Float64Array, temperatures: Float64Array) -> Float64Array:
    """Return the probabilities of binary classifiers.

    Parameters
    ----------
    decisions : float64 array of shape (n_samples, n_classifiers)
        Decision values.
    temperatures : float64 array of shape (n_classifiers, 2)
        Temperatures of negative and of positive decision values.

    Returns
    -------
    ndarray of shape (n_samples, n_classifiers)
    """
    divisors = np.where(decisions < 0, temperatures[:, 0], temperatures[:, 1])
    probabilities: Float64Array = expit(decisions / divisors)
    return probabilities


def _fit_one_sign(margins: Float64Array, weights: Float64Array, default_scale: float) -> float:
    """Fit the temperature of decision values of one sign, given their margins."""
    scale = float(np.abs(margins).mean()) if len(margins) else default_scale
    smoothed_margins = np.append(margins, [scale, -scale])
    smoothed_weights = np.append(weights, [1.0, 1.0])

    def loss(inverse_temperature: float) -> float:
        return -float(smoothed_weights @ log_expit(inverse_temperature * smoothed_margins))

    return minimize_over_temperature(loss, scale)
