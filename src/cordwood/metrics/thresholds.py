"""Thresholds and class weights that maximize F1, recall or macro F1 of given probabilities."""

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import DataError

Float64Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Candidates that several labels share, with most of them where rare labels have their
# probabilities.
_GRID = np.unique(np.r_[np.geomspace(1e-3, 0.05, 40), np.linspace(0.05, 0.95, 91)])
# Number of positive pseudo-samples of a label, which are distributed as those of labels of similar
# frequency, and the bandwidth of similarity on the logarithmic scale of frequencies. Chosen by
# cross-validation; see docs/multilabel.md.
_PRIOR_STRENGTH = 10.0
_BANDWIDTH = 0.5

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
    proba: Float64Array, is_positive: BoolArray, weights: Float64Array
) -> tuple[float, float]:
    """Return the threshold of highest F1 of all possible ones, and that F1.

    Examples
    --------
    >>> find_f1_threshold(np.array([0.1, 0.2, 0.6]), np.array([False, True, True]), np.ones(3))
    (0.15000000000000002, 1.0)
    """
    candidates = _list_midpoints(proba)
    f1 = _f1(*_count(proba[:, None], is_positive[:, None], weights, candidates))
    best = len(f1) - 1 - int(f1[::-1, 0].argmax())  # of equal ones, the highest threshold
    return float(candidates[best]), float(f1[best, 0])


def find_precision_threshold(
    proba: Float64Array, is_positive: BoolArray, weights: Float64Array, precision: float
) -> tuple[float, float]:
    """Return the threshold of highest recall among those of sufficient precision, and that recall.

    Examples
    --------
    >>> proba, is_positive = np.array([0.1, 0.3, 0.4, 0.6]), np.array([True, False, True, True])
    >>> find_precision_threshold(proba, is_positive, np.ones(4), precision=0.8)
    (0.35, 0.6666666666666666)
    """
    candidates = _list_midpoints(proba)
    counts = _count(proba[:, None], is_positive[:, None], weights, candidates)
    true_positives, predicted = counts[0][:, 0], counts[1][:, 0]
    n_positive = float(weights @ is_positive)
    prior = n_positive / weights.sum()
    found = (true_positives + _PRIOR_SAMPLES * prior) / (predicted + _PRIOR_SAMPLES)
    sufficient = np.flatnonzero(found >= precision)
    if not len(sufficient):
        raise DataError(
            f"no threshold has an out-of-fold precision of {precision:g}; the highest is "
            f"{found.max():.3f}, so require a lower precision"
        )
    best = int(sufficient[0])  # the lowest threshold
    return float(candidates[best]), float(true_positives[best] / max(n_positive, _TINY))


def choose_label_thresholds(
    proba: Float64Array,
    Y: BoolArray,
    sample_weight: Float64Array | None = None,
    prior_strength: float = _PRIOR_STRENGTH,
) -> Float64Array:
    """Choose the threshold of each label that maximizes its smoothed F1.

    Labels without positive samples have the threshold 1. With a `prior_strength` of 0, the F1 of
    each label alone is maximized (SCut; Yang 2001, SIGIR).

    Examples
    --------
    >>> proba = np.array([[0.1], [0.2], [0.6], [0.7]])
    >>> Y = np.array([[False], [True], [True], [True]])
    >>> bool(0.1 < choose_label_thresholds(proba, Y)[0] <= 0.2)
    True
    """
    weights = np.ones(len(Y)) if sample_weight is None else sample_weight
    n_positive = weights @ Y
    true_positives, predicted, _ = _count(proba, Y, weights, _GRID)
    # The best threshold of a label with two positive samples is a poor one for new samples. So the
    # counts at each candidate are increased by those of labels of similar frequency, scaled to
    # `prior_strength` positive pseudo-samples: a label of frequency n_j takes part for label k with
    # the weight exp(-(log n_j - log n_k)^2 / (2 h^2)).
    logs = np.log(n_positive + 1)
    similarity = np.exp(-0.5 * np.square((logs[:, None] - logs) / _BANDWIDTH))
    factors = prior_strength * similarity / np.maximum(similarity @ n_positive, 1.0)[:, None]
    f1 = _f1(
        true_positives + true_positives @ factors.T,
        predicted + predicted @ factors.T,
        n_positive + prior_strength,
    )
    return np.asarray(np.where(n_positive > 0, _GRID[_middle_of_best(f1)], 1.0))


def apply_label_thresholds(
    proba: Float64Array, thresholds: Float64Array, min_labels: int
) -> BoolArray:
    """Return which labels reach their threshold; the most probable ones if these are too few."""
    predicted = proba >= thresholds
    if min_labels:
        most_probable = np.argsort(-proba, axis=1, kind="stable")[:, :min_labels]
        too_few = np.flatnonzero(predicted.sum(axis=1) < min_labels)
        predicted[too_few[:, None], most_probable[too_few]] = True
    return np.asarray(predicted)


def _list_midpoints(proba: Float64Array) -> Float64Array:
    """Return all distinct thresholds in ascending order: middles of successive probabilities."""
    ranked = np.unique(proba)
    return np.asarray((ranked + np.append(0.0, ranked[:-1])) / 2)


def _count(
    proba: Float64Array, Y: BoolArray, sample_weight: Float64Array, candidates: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return weighted true and predicted positives, of shape (n_candidates, n_labels), and all.

    A label is predicted if its probability is at least the candidate.
    """
    n_labels = Y.shape[1]
    # Number of candidates that each probability reaches.
    reached = np.searchsorted(candidates, proba, side="right")
    shape = (n_labels, len(candidates) + 1)
    codes = np.arange(n_labels) * shape[1] + reached
    weights = np.broadcast_to(sample_weight[:, None], Y.shape)
    counts = [
        np.bincount(codes[each], weights[each], shape[0] * shape[1]).reshape(shape)
        for each in (Y, np.ones_like(Y))
    ]
    # A probability that reaches i candidates is predicted at the first i of them.
    true_positives, predicted = (each[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].T for each in counts)
    return true_positives, predicted, sample_weight @ Y


def _f1(
    true_positives: Float64Array, predicted: Float64Array, n_positive: Float64Array
) -> Float64Array:
    return np.asarray(2 * true_positives / np.maximum(predicted + n_positive, _TINY))


def _middle_of_best(f1: Float64Array) -> NDArray[np.intp]:
    """Return the middle of the first range of candidates with the highest F1, for each label."""
    is_best = f1 >= f1.max(axis=0) - 1e-12
    first = is_best.argmax(axis=0)
    # The range ends before the first candidate after it that is not best.
    after = ~is_best & (np.arange(len(f1))[:, None] > first)
    last = np.where(after.any(axis=0), after.argmax(axis=0), len(f1)) - 1
    return np.asarray((first + last) // 2)


def find_class_weights(
    proba: Float64Array, codes: NDArray[np.intp], sample_weight: Float64Array
) -> tuple[Float64Array, float]:
    """Search the weights of classes for which the argmax of weighted probabilities is best.

    Coordinate ascent of macro F1: for one class after another, all weights that change a prediction
    are tried, until a sweep over the classes brings no improvement. The weights have a geometric
    mean of one; the macro F1 with them is returned as well.

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
