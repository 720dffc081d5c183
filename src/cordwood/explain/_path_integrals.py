"""Additive attributions of the nonlinear functions between scores and predictions.

A function of several scores is attributed by integrated gradients, the Aumann-Shapley values, on
the line from the scores of the empty text to those of the text. A function of one score is
attributed by the rescale rule: a contribution is multiplied by the change of the function, divided
by the change of its argument. Both are exactly additive.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_TOLERANCE = 1e-9
_MAX_PANELS = 64

# Below this difference of its limits, the mean of a function is its value in the middle.
_MIN_INTERVAL = 1e-5

# Below this relative difference of the two arguments, the multiplier is the derivative.
_MIN_DIFFERENCE = 1e-12


def logsumexp(scores: Floats) -> Floats:
    """Return the logarithm of the sum of exponentials over the last axis.

    The function of scipy takes thirty times as long for a few scores.

    Examples
    --------
    >>> logsumexp(np.array([[1000.0, 1000.0]])).round(3)
    array([1000.693])
    """
    largest = scores.max(axis=-1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    return np.asarray(np.log(np.exp(scores - largest).sum(axis=-1)) + largest[..., 0])


def softmax(scores: Floats) -> Floats:
    """Return the softmax function over the last axis.

    Examples
    --------
    >>> softmax(np.array([0.0, np.log(3)]))
    array([0.25, 0.75])
    """
    exp = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exp / exp.sum(axis=-1, keepdims=True))


def log_odds(scores: Floats) -> Floats:
    """Return the log-odds of each class against all others, given unnormalized log-probabilities.

    They are finite where the probability of a class rounds to one.

    Examples
    --------
    >>> log_odds(np.log([0.2, 0.2, 0.6])).round(3)
    array([-1.386, -1.386,  0.405])
    """
    rest = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores)
    return np.asarray(scores - logsumexp(rest))


def log_odds_weights(start: Floats, end: Floats) -> Floats:
    """Return the mean gradient of `log_odds` between two vectors of scores.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Row c has the weights of the scores in the log-odds of class c.
    """
    if len(start) == 2:
        return np.array([[1.0, -1.0], [-1.0, 1.0]])
    eye = np.eye(len(start))

    def gradient(scores: Floats) -> Floats:
        rest = np.where(eye.astype(bool), -np.inf, scores[:, None, :])
        return np.asarray(eye - softmax(rest))

    return mean_gradient(gradient, start, end, log_odds(end) - log_odds(start))


def softmax_weights(start: Floats, end: Floats) -> Floats:
    """Return the mean gradient of the softmax function between two vectors of scores."""
    eye = np.eye(len(start))

    def gradient(scores: Floats) -> Floats:
        proba = softmax(scores)
        return np.asarray(proba[:, :, None] * (eye - proba[:, None, :]))

    return mean_gradient(gradient, start, end, softmax(end) - softmax(start))


def log_softmax_weights(start: Floats, end: Floats) -> Floats:
    """Return the mean gradient of the log-softmax function between two vectors of scores.

    Examples
    --------
    >>> log_softmax_weights(np.array([0.0, 0.0]), np.array([0.0, np.log(3)])).round(3)
    array([[ 0.631, -0.631],
           [-0.369,  0.369]])
    """
    if len(start) == 2:
        share = _mean_sigmoid(start[1] - start[0], end[1] - end[0])
        return np.array([[share, -share], [share - 1, 1 - share]])
    change = np.array([logsumexp(end) - logsumexp(start)])
    mean_proba = mean_gradient(lambda s: softmax(s)[:, None, :], start, end, change)
    return np.asarray(np.eye(len(start)) - mean_proba)


def _mean_sigmoid(start: float, end: float) -> float:
    """Return the mean of the logistic function between two arguments, in closed form."""
    if abs(end - start) < _MIN_INTERVAL:
        return float(expit((start + end) / 2))
    return float((np.logaddexp(0.0, end) - np.logaddexp(0.0, start)) / (end - start))


def normalization_weights(start: Floats, end: Floats) -> Floats:
    """Return the mean gradient of ``scores / scores.sum()`` between two vectors of scores."""
    eye = np.eye(len(start))

    def gradient(scores: Floats) -> Floats:
        total = scores.sum(axis=1)[:, None, None]
        return np.asarray((eye - scores[:, :, None] / total) / total)

    return mean_gradient(gradient, start, end, end / end.sum() - start / start.sum())


def mean_gradient(
    gradient: Callable[[Floats], Floats], start: Floats, end: Floats, change: Floats
) -> Floats:
    """Return the mean gradient on the line between two points, so that it explains the change.

    Parameters
    ----------
    gradient : callable
        Maps points of shape (n_points, n_scores) to gradients of shape
        (n_points, n_outputs, n_scores).
    start, end : float64 arrays of shape (n_scores,)
    change : float64 array of shape (n_outputs,)
        Difference of the function's values at `end` and `start`.

    Returns
    -------
    ndarray of shape (n_outputs, n_scores)
        Its product with ``end - start`` is `change`, up to rounding.

    Notes
    -----
    Gauss-Legendre quadrature on equal panels, which are halved until the product differs from
    `change` by less than 1e-9. The remaining difference is distributed in proportion to the squared
    changes of the scores.

    Examples
    --------
    >>> square = lambda x: 2 * x[:, None, :]
    >>> mean_gradient(square, np.array([1.0]), np.array([3.0]), np.array([8.0]))
    array([[4.]])
    """
    delta = end - start
    panels = 1
    while True:
        edges = np.arange(panels)[:, None] / panels
        position = (edges + (_NODES + 1) / (2 * panels)).ravel()
        weight = np.tile(_NODE_WEIGHTS / (2 * panels), panels)
        values = gradient(start + position[:, None] * delta)
        mean = np.tensordot(weight, values, axes=1)
        error = change - mean @ delta
        if np.abs(error).max(initial=0.0) < _TOLERANCE or panels >= _MAX_PANELS:
            break
        panels *= 2
    norm = delta @ delta
    return np.asarray(mean + np.outer(error, delta) / norm if norm else mean)


def rescale_multipliers(
    start: Floats, end: Floats, values: tuple[Floats, Floats], derivative: Floats
) -> Floats:
    """Return the multipliers of the rescale rule of a function of one variable, element by element.

    Parameters
    ----------
    start, end : float64 arrays
        Arguments.
    values : tuple of two float64 arrays
        Values of the function at `start` and `end`.
    derivative : float64 array
        Derivative at `end`, used if both arguments are equal.

    Examples
    --------
    >>> start, end = np.array([1.0, 2.0]), np.array([1.0, 4.0])
    >>> rescale_multipliers(start, end, (start**2, end**2), 2 * end)
    array([2., 6.])
    """
    delta = end - start
    is_equal = np.abs(delta) <= _MIN_DIFFERENCE * np.maximum(np.abs(start), np.abs(end))
    multiplier = (values[1] - values[0]) / np.where(is_equal, 1.0, delta)
    return np.asarray(np.where(is_equal, derivative, multiplier))
