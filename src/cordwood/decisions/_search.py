"""Search of thresholds and class weights that are optimal for given probabilities."""

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]

_MAX_SWEEPS = 10
# Loss of macro F1 for a class weight that is e times as large, so that the weight of a rare class
# does not deviate from one for the sake of a few samples.
_PENALTY = 1e-3
_MAX_LOG_WEIGHT = 7.0
# Precision is estimated as if there were so many more predicted samples, of which the share of the
# positive class is correct: three correct ones out of three do not show a precision of one.
_PRIOR_SAMPLES = 2.0
# In place of a denominator of zero.
_TINY = 1e-300


def find_f1_threshold(
    proba: Float64Array, is_positive: NDArray[np.bool_], weights: Float64Array
) -> tuple[float, float]:
    """Return the threshold of highest F1, and that F1.

    Parameters
    ----------
    proba : ndarray of shape (n_samples,)
        Probabilities of the positive class.
    is_positive : ndarray of shape (n_samples,)
        Whether samples are of the positive class.
    weights : ndarray of shape (n_samples,)
        Sample weights.

    Examples
    --------
    >>> find_f1_threshold(np.array([0.1, 0.2, 0.6]), np.array([False, True, True]), np.ones(3))
    (0.15000000000000002, 1.0)
    """
    thresholds, true_positives, predicted = _list_thresholds(proba, is_positive, weights)
    f1 = 2 * true_positives / np.maximum(predicted + weights @ is_positive, _TINY)
    best = int(f1.argmax())
    return float(thresholds[best]), float(f1[best])


def find_precision_threshold(
    proba: Float64Array, is_positive: NDArray[np.bool_], weights: Float64Array, precision: float
) -> tuple[float, float]:
    """Return the threshold of highest recall among those of sufficient precision, and that recall.

    Raises
    ------
    ValueError
        If no threshold has this precision.

    Examples
    --------
    >>> proba, is_positive = np.array([0.1, 0.3, 0.4, 0.6]), np.array([True, False, True, True])
    >>> find_precision_threshold(proba, is_positive, np.ones(4), precision=0.8)
    (0.35, 0.6666666666666666)
    """
    thresholds, true_positives, predicted = _list_thresholds(proba, is_positive, weights)
    n_positive = weights @ is_positive
    prior = n_positive / weights.sum()
    found = (true_positives + _PRIOR_SAMPLES * prior) / (predicted + _PRIOR_SAMPLES)
    sufficient = np.flatnonzero(found >= precision)
    if not len(sufficient):
        raise ValueError(
            f"no threshold has an out-of-fold precision of {precision:g}; the highest is "
            f"{found.max():.3f}, so require a lower precision"
        )
    best = int(sufficient[-1])  # the lowest threshold
    return float(thresholds[best]), float(true_positives[best] / max(n_positive, _TINY))


def _list_thresholds(
    proba: Float64Array, is_positive: NDArray[np.bool_], weights: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return all distinct thresholds, from high to low, with weighted true and predicted positives.

    A threshold is the middle between two successive probabilities.
    """
    order = np.argsort(-proba, kind="stable")
    ranked = proba[order]
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    following = np.append(ranked, 0.0)[last + 1]
    predicted = np.cumsum(weights[order])[last]
    true_positives = np.cumsum((weights * is_positive)[order])[last]
    return (ranked[last] + following) / 2, true_positives, predicted


def find_class_weights(
    proba: Float64Array, codes: NDArray[np.intp], sample_weight: Float64Array
) -> tuple[Float64Array, float]:
    """Search the weights of classes for which the argmax of weighted probabilities is best.

    Coordinate ascent of macro F1: for one class after another, all weights that change a prediction
    are tried, until a sweep over the classes brings no improvement.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Class probabilities.
    codes : ndarray of shape (n_samples,)
        True classes, from 0.
    sample_weight : ndarray of shape (n_samples,)
        Sample weights.

    Returns
    -------
    weights : ndarray of shape (n_classes,)
        Positive weights with a geometric mean of one.
    macro_f1 : float
        Macro F1 with these weights.

    Examples
    --------
    The second class is never the most probable one:

    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]])
    >>> weights, macro_f1 = find_class_weights(proba, np.array([0, 0, 1, 1]), np.ones(4))
    >>> (proba * weights).argmax(axis=1).tolist(), macro_f1
    ([0, 0, 1, 1], 1.0)
    """
    n_classes = proba.shape[1]
    logs = np.log(np.maximum(proba, 1e-12))
    log_weights = np.zeros(n_classes)
    best = -np.inf
    for _ in range(_MAX_SWEEPS):
        before = best
        for code in range(n_classes):
            log_weights[code], best = _search_weight(logs, codes, sample_weight, log_weights, code)
        if best <= before + 1e-9:
            break
    log_weights -= log_weights.mean()
    predicted = (logs + log_weights).argmax(axis=1)
    return np.exp(log_weights), _macro_f1(codes, predicted, sample_weight, n_classes)


def _search_weight(
    logs: Float64Array,
    codes: NDArray[np.intp],
    sample_weight: Float64Array,
    log_weights: Float64Array,
    code: int,
) -> tuple[float, float]:
    """Return the best logarithm of one weight, given the others, and the penalized macro F1."""
    n_samples, n_classes = logs.shape
    others = logs + log_weights
    others[:, code] = -np.inf
    runner_up = others.argmax(axis=1)
    # The class is predicted if its logarithmic weight is above this value.
    needed = others[np.arange(n_samples), runner_up] - logs[:, code]
    order = np.argsort(needed, kind="stable")
    ranked = needed[order]
    # Entry i: the first i samples are predicted as the class, all others as their runner-up.
    ordered = sample_weight[order]
    gained = np.eye(n_classes)[runner_up[order]] * ordered[:, None]
    correct = gained * (runner_up == codes)[order][:, None]
    predicted = _sums_after(gained)
    true_positives = _sums_after(correct)
    predicted[:, code] = np.append(0, np.cumsum(ordered))
    true_positives[:, code] = np.append(0, np.cumsum(ordered * (codes[order] == code)))
    support = np.bincount(codes, sample_weight, n_classes)
    macro_f1 = (2 * true_positives / np.maximum(predicted + support, _TINY)).mean(axis=1)
    edges = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    # The current weight is a candidate of its own: it is not among the middles.
    position = int(np.searchsorted(ranked, log_weights[code], side="left"))
    candidates = np.append(edges, log_weights[code])
    scores = np.append(macro_f1, macro_f1[position])
    is_distinct = np.append(True, np.append(np.diff(ranked) > 1e-12, [True, True]))
    center = np.delete(log_weights, code).mean() if n_classes > 1 else 0.0
    scores = scores - _PENALTY * np.abs(candidates - center)
    scores[~is_distinct | (np.abs(candidates - center) > _MAX_LOG_WEIGHT)] = -np.inf
    scores[-1] = macro_f1[position] - _PENALTY * abs(log_weights[code] - center)
    best = int(scores.argmax())
    return float(candidates[best]), float(scores[best])


def _sums_after(values: Float64Array) -> Float64Array:
    """Return the column sums of the rows from each row on, and zeros at the end."""
    sums = values[::-1].cumsum(axis=0)[::-1]
    return np.vstack([sums, np.zeros((1, values.shape[1]))])


def _macro_f1(
    codes: NDArray[np.intp],
    predicted: NDArray[np.intp],
    sample_weight: Float64Array,
    n_classes: int,
) -> float:
    correct = np.bincount(codes, sample_weight * (codes == predicted), n_classes)
    sizes = sum(np.bincount(each, sample_weight, n_classes) for each in (codes, predicted))
    return float((2 * correct / np.maximum(sizes, _TINY)).mean())
