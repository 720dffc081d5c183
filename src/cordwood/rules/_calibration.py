"""From decisions to probabilities: slopes fitted on documents that a model has not learnt from.

Slopes are positive, and zero stays one half, so that the most probable label is the one decided
for. Documents that stand for the unseen keep slopes finite where few or none were misjudged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

from cordwood.rules._records import Floats

_LOG_SLOPES = (-7.0, 7.0)  # of decisions of unit size: from nearly uniform to nearly certain


def fit_sides(decisions: Floats, is_plus: NDArray[np.bool_], weights: Floats) -> Floats:
    """Fit one slope for decisions below zero and one for those above.

    Two, because rules that are to miss no document of a rare class are surer of a no than of a yes.
    Each side is smoothed by an unseen document of either class with a decision of usual size.

    Parameters
    ----------
    decisions : float64 array of shape (n_docs,)
        Of a model that had not seen the documents.
    is_plus : bool array of shape (n_docs,)
    weights : float64 array of shape (n_docs,)

    Returns
    -------
    ndarray of shape (2,)
        The slope below zero and the slope above.

    Examples
    --------
    >>> noes, yeses = np.full(90, -1.0), np.full(10, 1.0)
    >>> is_plus = np.arange(100) >= 95
    >>> slopes = fit_sides(np.concatenate([noes, yeses]), is_plus, np.ones(100))
    >>> expit(slopes * [-1, 1]).round(3)  # of 92 noes one is wrong; of 12 yeses, six
    array([0.011, 0.5  ])
    """
    agreement = np.where(is_plus, decisions, -decisions)
    sides = (decisions < 0, decisions > 0)
    usual = _usual_size(decisions)
    return np.array([_fit_side(agreement[side], weights[side], usual) for side in sides])


def apply_sides(decisions: Floats, slopes: Floats) -> Floats:
    """Give probabilities, for decisions (n_docs, n_machines) and slopes (n_machines, 2)."""
    probabilities: Floats = expit(decisions * np.where(decisions < 0, slopes[:, 0], slopes[:, 1]))
    return probabilities


def fit_common(decisions: Floats, codes: NDArray[Any], weights: Floats) -> float:
    """Fit the one slope for decisions of many classes, whose order it must not change.

    Parameters
    ----------
    decisions : float64 array of shape (n_docs, n_classes)
        Of a model that had not seen the documents.
    codes : int array of shape (n_docs,)
        Their classes.
    weights : float64 array of shape (n_docs,)
    """
    if not len(codes):
        return 1.0
    size = _usual_size(decisions)
    n, n_classes = float(weights.sum()), decisions.shape[1]

    def loss(slope: float) -> float:
        logs: Floats = log_softmax(slope / size * decisions, axis=1)
        smoothed = n * logs[np.arange(len(codes)), codes] + logs.sum(axis=1)
        return float(-(weights @ smoothed) / (n + n_classes))

    return _minimize(loss) / size


def apply_common(decisions: Floats, slope: float) -> Floats:
    """Give probabilities that sum to one, for decisions (n_docs, n_classes)."""
    probabilities: Floats = softmax(slope * decisions, axis=1)
    return probabilities


def _fit_side(agreement: Floats, weights: Floats, usual: float) -> float:
    """Fit the slope of decisions that all point one way; `agreement` is negative where wrongly."""
    size = float(np.abs(agreement).mean()) if len(agreement) else usual
    sizes = np.append(agreement, [size, -size]) / size
    counts = np.append(weights, [1.0, 1.0])
    return _minimize(lambda slope: -float(counts @ log_expit(slope * sizes))) / size


def _usual_size(decisions: Floats) -> float:
    size = float(np.sqrt(np.square(decisions).mean())) if decisions.size else 0.0
    return size or 1.0


def _minimize(loss: Callable[[float], float]) -> float:
    found = minimize_scalar(lambda log: loss(float(np.exp(log))), bounds=_LOG_SLOPES)
    return float(np.exp(found.x))
