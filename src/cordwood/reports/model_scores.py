"""Scores of predicted probabilities: from arrays to plain values."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import precision_recall_fscore_support

from cordwood.confidence.conformal import calibrate_sets
from cordwood.confidence.selective import choose_confidence
from cordwood.exceptions import DataError
from cordwood.metrics.baselines import MAJORITY, predict_majority
from cordwood.metrics.evaluation import evaluate_oof, score_proba
from cordwood.metrics.scores import Evaluation
from cordwood.oof.records import OOFPredictions

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_N_BINS = 10
_N_CURVE_POINTS = 50
_MAX_ERRORS = (0.1, 0.05, 0.02, 0.01)
_COVERAGES = (0.9, 0.95, 0.99)
_MIN_PROBABILITY = 1e-15


def evaluate(oof: OOFPredictions, evaluation: Evaluation | None = None) -> dict[str, Any]:
    """Return scores with intervals, beside those of baselines.

    Parameters
    ----------
    oof : OOFPredictions
        Predictions of samples that the model was not trained on.
    evaluation : Evaluation, optional
        Their scores, if they are known.

    Returns
    -------
    dict
        The only baseline is the majority class if `evaluation` has none.
    """
    found = summarize_evaluation(evaluate_oof(oof) if evaluation is None else evaluation)
    if not found["baselines"]:
        majority = score_proba(oof, predict_majority(oof))
        found["baselines"] = {MAJORITY: {k: v.to_dict() for k, v in majority.items()}}
    return found


def summarize_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain values.

    Parameters
    ----------
    evaluation : Evaluation

    Returns
    -------
    dict
    """
    return {
        "n_samples": evaluation.n_samples,
        "n_groups": evaluation.n_groups,
        "confidence_level": evaluation.confidence_level,
        "scores": {k: v.to_dict() for k, v in evaluation.scores.items()},
        "baselines": {
            name: {k: v.to_dict() for k, v in each.items()}
            for name, each in evaluation.baselines.items()
        },
        "expected": None,
        "class_f1": {str(each.label): each.f1.to_dict() for each in evaluation.classes},
    }


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
        "curve": accuracy by share of decided samples; "thresholds" of the probability that bound
        the error of the decided samples with a probability of 90 %, by `choose_confidence`.
    """
    confidence = proba.max(axis=1)
    is_correct = proba.argmax(axis=1) == y
    order = np.argsort(-confidence, kind="stable")
    accuracy = np.cumsum(is_correct[order]) / np.arange(1, len(order) + 1)
    # Samples of equal confidence are decided together.
    is_last = np.append(np.diff(confidence[order]) != 0, True)
    ends = np.flatnonzero(is_last)
    shown = ends[np.unique(np.linspace(0, len(ends) - 1, _N_CURVE_POINTS).astype(int))]
    thresholds = []
    for max_error in _MAX_ERRORS:
        if accuracy[-1] >= 1 - max_error:
            continue  # no sample need be left undecided
        with suppress(DataError):  # no threshold has this error, or there are too few samples
            found = choose_confidence(proba, y, max_error)
            thresholds.append(
                {
                    "max_error": max_error,
                    "confidence": found.confidence,
                    "decided": found.decided,
                    "error": found.error,
                }
            )
    return {
        "curve": [
            {"coverage": (int(i) + 1) / len(order), "accuracy": float(accuracy[i])} for i in shown
        ],
        "thresholds": thresholds,
    }


def summarize_sets(proba: Floats, y: Codes) -> list[dict[str, float]]:
    """Return the sizes of conformal prediction sets by the coverage that they guarantee.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Predicted probabilities.
    y : int ndarray of shape (n_samples,)
        Codes of the true classes.

    Returns
    -------
    list of dict
    """
    calibration = calibrate_sets(proba, y)
    found = []
    for coverage in _COVERAGES:
        if not np.isfinite(calibration.thresholds(coverage)).all():
            continue  # too few samples: all classes would be in every set
        sizes = calibration.predict_set(proba, coverage).sum(axis=1)
        found.append(
            {
                "coverage": coverage,
                "mean_size": float(sizes.mean()),
                "share_single": float((sizes == 1).mean()),
                "max_size": int(sizes.max()),
            }
        )
    return found
