"""Scores of predicted probabilities: from arrays to plain values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import precision_recall_fscore_support

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_N_BINS = 10
_N_RESAMPLES = 1000
_N_CURVE_POINTS = 50
_TARGETS = (0.9, 0.95, 0.98, 0.99)
_MIN_PROBABILITY = 1e-15


def score_probabilities(proba: Floats, y: Codes, groups: Codes | None = None) -> dict[str, Any]:
    """Return scores with 95 % intervals, beside those of always predicting the largest class.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Predicted probabilities.
    y : int ndarray of shape (n_samples,)
        Codes of the true classes.
    groups : int ndarray of shape (n_samples,), optional
        Groups of related samples, which are resampled together.

    Returns
    -------
    dict
        Intervals are percentiles of 1,000 bootstrap samples.
    """
    n_samples, n_classes = proba.shape
    predicted = proba.argmax(axis=1)
    losses = -np.log(np.clip(proba[np.arange(n_samples), y], _MIN_PROBABILITY, 1))
    pairs = y * n_classes + predicted
    units = np.arange(n_samples) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(units.max()) + 1
    rng = np.random.default_rng(0)
    draws = np.empty((_N_RESAMPLES, 3))
    for i in range(_N_RESAMPLES):
        counts = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)
        weights = counts[units].astype(np.float64)
        total = weights.sum()
        confusion = np.bincount(pairs, weights, n_classes**2).reshape(n_classes, n_classes)
        draws[i] = (
            np.trace(confusion) / total,
            _macro_f1(confusion),
            weights @ losses / total,
        )
    confusion = np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)
    values = (np.trace(confusion) / n_samples, _macro_f1(confusion), losses.mean())
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    names = ("accuracy", "macro_f1", "log_loss")
    prior = np.bincount(y, minlength=n_classes) / n_samples
    largest = np.zeros((n_classes, n_classes))
    largest[:, prior.argmax()] = prior
    return {
        "n_samples": n_samples,
        "n_groups": None if groups is None else n_units,
        "scores": {
            name: {"value": float(values[i]), "low": float(low[i]), "high": float(high[i])}
            for i, name in enumerate(names)
        },
        "calibration_error": _calibration_error(proba, y),
        "baselines": {
            "largest class": {
                "accuracy": float(prior.max()),
                "macro_f1": _macro_f1(largest),
                "log_loss": float(-(prior[prior > 0] * np.log(prior[prior > 0])).sum()),
            }
        },
    }


def _macro_f1(confusion: NDArray[Any]) -> float:
    """Return the mean F1 of the classes that occur, from a confusion matrix."""
    total = confusion.sum(axis=0) + confusion.sum(axis=1)
    occurs = total > 0
    return float((2 * np.diag(confusion)[occurs] / total[occurs]).mean())


def _calibration_error(proba: Floats, y: Codes) -> float:
    """Return the mean difference of probability and accuracy over bins of equal size."""
    confidence = proba.max(axis=1)
    is_correct = proba.argmax(axis=1) == y
    parts = np.array_split(np.argsort(confidence, kind="stable"), min(15, len(y)))
    gaps = [abs(confidence[part].sum() - is_correct[part].sum()) for part in parts]
    return float(sum(gaps) / len(y))


def summarize_classes(proba: Floats, y: Codes, labels: list[str]) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and errors of each class, most errors first.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Predicted probabilities.
    y : int ndarray of shape (n_samples,)
        Codes of the true classes.
    labels : list of str
        Names of the classes.

    Returns
    -------
    list of dict
    """
    predicted = proba.argmax(axis=1)
    codes = np.arange(len(labels))
    precision, recall, f1, support = precision_recall_fscore_support(
        y, predicted, labels=codes, zero_division=0.0
    )
    is_wrong = predicted != y
    losses = -np.log(np.clip(proba[np.arange(len(y)), y], _MIN_PROBABILITY, 1))
    rows = []
    for code, label in enumerate(labels):
        members = y == code
        wrong = predicted[members & is_wrong]
        most = int(np.bincount(wrong).argmax()) if wrong.size else None
        rows.append(
            {
                "label": label,
                "n_samples": int(support[code]),
                "precision": float(precision[code]),
                "recall": float(recall[code]),
                "f1": float(f1[code]),
                "n_missed": int(wrong.size),
                "n_false": int(((predicted == code) & is_wrong).sum()),
                "log_loss": float(losses[members].mean()) if members.any() else None,
                "confused_with": None if most is None else labels[most],
                "n_confused": 0 if most is None else int((wrong == most).sum()),
            }
        )
    return sorted(rows, key=lambda row: (-row["n_missed"], row["f1"]))


def summarize_reliability(proba: Floats, y: Codes) -> list[dict[str, float]]:
    """Return mean probability and accuracy of bins with equal numbers of samples.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Predicted probabilities.
    y : int ndarray of shape (n_samples,)
        Codes of the true classes.

    Returns
    -------
    list of dict
        In ascending order of the probability; the interval of the accuracy is Wilson's.
    """
    confidence = proba.max(axis=1)
    is_correct = proba.argmax(axis=1) == y
    order = np.argsort(confidence, kind="stable")
    bins = []
    for part in np.array_split(order, min(_N_BINS, len(order))):
        n, n_correct = len(part), int(is_correct[part].sum())
        interval = stats.binomtest(n_correct, n).proportion_ci(0.95, method="wilson")
        bins.append(
            {
                "confidence": float(confidence[part].mean()),
                "accuracy": n_correct / n,
                "low": float(interval.low),
                "high": float(interval.high),
                "n": n,
            }
        )
    return bins


def summarize_abstention(proba: Floats, y: Codes) -> dict[str, Any]:
    """Return the accuracy if the least confident predictions are left undecided.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Predicted probabilities.
    y : int ndarray of shape (n_samples,)
        Codes of the true classes.

    Returns
    -------
    dict
        "curve": accuracy by share of decided samples; "targets": thresholds of the probability
        from which on an accuracy is reached, with the share of decided samples.
    """
    confidence = proba.max(axis=1)
    is_correct = proba.argmax(axis=1) == y
    order = np.argsort(-confidence, kind="stable")
    accuracy = np.cumsum(is_correct[order]) / np.arange(1, len(order) + 1)
    # Samples of equal confidence are decided together.
    is_last = np.append(np.diff(confidence[order]) != 0, True)
    ends = np.flatnonzero(is_last)
    shown = ends[np.unique(np.linspace(0, len(ends) - 1, _N_CURVE_POINTS).astype(int))]
    targets = []
    for target in _TARGETS:
        reached = ends[accuracy[ends] >= target]
        if accuracy[-1] < target and reached.size:
            last = int(reached[-1])
            targets.append(
                {
                    "accuracy": target,
                    "threshold": float(confidence[order][last]),
                    "coverage": (last + 1) / len(order),
                }
            )
    return {
        "curve": [
            {"coverage": (int(i) + 1) / len(order), "accuracy": float(accuracy[i])} for i in shown
        ],
        "targets": targets,
    }
