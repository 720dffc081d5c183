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
    """Return the logarithm of the sum of exponentials over the last axis."""
    # The function of scipy takes thirty times as long for a few scores.
    largest = scores.max(axis=-1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    return np.asarray(np.log(np.exp(scores - largest).sum(axis=-1)) + largest[..., 0])


def softmax(scores: Floats) -> Floats:
    """Return the softmax function over the last axis."""
    exp = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exp / exp.sum(axis=-1, keepdims=True))


def log_odds(scores: Floats) -> Floats:
    """Return the log-odds of each class against all others, from unnormalized log-probabilities."""
    # Not by the probability, which rounds to one where the log-odds are still finite.
    rest = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores)
    return np.asarray(scores - logsumexp(rest))


def log_odds_weights(start: Floats, end: Floats) -> Floats:
    """Return the mean gradient of `log_odds` between two vectors of scores, one row per class."""
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
    """Return the mean gradient of the log-softmax function between two vectors of scores."""
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
    """Return the mean gradient on the line between two points; its product with it is `change`.

    `gradient` maps points of shape (n_points, n_scores) to gradients of shape
    (n_points, n_outputs, n_scores).
    """
    delta = end - start
    # Gauss-Legendre quadrature on equal panels, which are halved until the error is negligible.
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
    # The remaining error is distributed in proportion to the squared changes of the scores.
    norm = delta @ delta
    return np.asarray(mean + np.outer(error, delta) / norm if norm else mean)


def rescale_multipliers(
    start: Floats, end: Floats, values: tuple[Floats, Floats], derivative: Floats
) -> Floats:
    """Return the multipliers of the rescale rule of a function with these values, by element.

    Where both arguments are equal, it is the derivative.
    """
    delta = end - start
    is_equal = np.abs(delta) <= _MIN_DIFFERENCE * np.maximum(np.abs(start), np.abs(end))
    multiplier = (values[1] - values[0]) / np.where(is_equal, 1.0, delta)
    return np.asarray(np.where(is_equal, derivative, multiplier))
