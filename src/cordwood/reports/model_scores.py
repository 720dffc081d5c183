"""Scores of predicted probabilities."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import precision_recall_fscore_support

from cordwood.confidence.conformal import calibrate_sets
from cordwood.confidence.selective import choose_confidence
from cordwood.exceptions import DataError
from cordwood.metrics.baselines import MAJORITY, predict_majority
from cordwood.metrics.evaluation import evaluate_oof, score_proba
from cordwood.metrics.scores import Evaluation, Score
from cordwood.oof.records import OOFPredictions
from cordwood.reports.charts import Estimate, ReliabilityBin
from cordwood.reports.model_records import (
    Abstention,
    AbstentionPoint,
    AbstentionThreshold,
    ClassSummary,
    ScoreEstimates,
    ScoreSummary,
    SetSizes,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_N_BINS = 10
_N_CURVE_POINTS = 50
_MAX_ERRORS = (0.1, 0.05, 0.02, 0.01)
_COVERAGES = (0.9, 0.95, 0.99)
_MIN_PROBABILITY = 1e-15


def evaluate(
    oof: OOFPredictions, predicted: Codes, evaluation: Evaluation | None = None
) -> ScoreSummary:
    """Return scores beside those of baselines: of the majority class if `evaluation` has none."""
    found = summarize_evaluation(evaluate_oof(oof, predicted) if evaluation is None else evaluation)
    if not found.baselines:
        majority = score_proba(oof, predict_majority(oof))
        found = replace(found, baselines={MAJORITY: summarize_scores(majority)})
    return found


def summarize_evaluation(evaluation: Evaluation) -> ScoreSummary:
    """Return the scores of an evaluation."""
    return ScoreSummary(
        n_samples=evaluation.n_samples,
        n_groups=evaluation.n_groups,
        confidence_level=evaluation.confidence_level,
        scores=summarize_scores(evaluation.scores),
        baselines={name: summarize_scores(each) for name, each in evaluation.baselines.items()},
        class_f1={str(each.label): to_estimate(each.f1) for each in evaluation.classes},
    )


def summarize_scores(scores: Mapping[str, Score]) -> ScoreEstimates:
    """Return the scores of a report."""
    return ScoreEstimates(**{name: to_estimate(each) for name, each in scores.items()})


def to_estimate(score: Score) -> Estimate:
    """Return a score as it is stored in a report."""
    assert score.low is not None and score.high is not None
    return Estimate(float(score), score.low, score.high)


def summarize_classes(
    proba: Floats, y: Codes, predicted: Codes, labels: list[str]
) -> list[ClassSummary]:
    """Return precision, recall, F1 and errors of each class, most errors first."""
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
            ClassSummary(
                label=label,
                n_samples=int(support[code]),
                precision=float(precision[code]),
                recall=float(recall[code]),
                f1=float(f1[code]),
                n_missed=int(wrong.size),
                n_false=int(((predicted == code) & is_wrong).sum()),
                log_loss=float(losses[members].mean()) if members.any() else None,
                confused_with=None if most is None else labels[most],
                n_confused=0 if most is None else int((wrong == most).sum()),
            )
        )
    return sorted(rows, key=lambda row: (-row.n_missed, row.f1))


def summarize_reliability(proba: Floats, y: Codes, predicted: Codes) -> list[ReliabilityBin]:
    """Return bins with equal numbers of samples, in ascending order of the probability."""
    confidence = proba[np.arange(len(y)), predicted]
    is_correct = predicted == y
    order = np.argsort(confidence, kind="stable")
    bins = []
    for part in np.array_split(order, min(_N_BINS, len(order))):
        n, n_correct = len(part), int(is_correct[part].sum())
        interval = stats.binomtest(n_correct, n).proportion_ci(0.95, method="wilson")
        bins.append(
            ReliabilityBin(
                float(confidence[part].mean()),
                n_correct / n,
                float(interval.low),
                float(interval.high),
                n,
            )
        )
    return bins


def summarize_abstention(proba: Floats, y: Codes, predicted: Codes) -> Abstention:
    """Return the accuracy if the least confident predictions are left undecided.

    The thresholds bound the error of the decided samples with a probability of 90 %.
    """
    confidence = proba[np.arange(len(y)), predicted]
    is_correct = predicted == y
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
            found = choose_confidence(proba, y, max_error, predicted=predicted)
            thresholds.append(
                AbstentionThreshold(max_error, found.confidence, found.decided, found.error)
            )
    return Abstention(
        [AbstentionPoint((int(i) + 1) / len(order), float(accuracy[i])) for i in shown], thresholds
    )


def summarize_sets(proba: Floats, y: Codes) -> list[SetSizes]:
    """Return the sizes of conformal prediction sets by the coverage that they guarantee."""
    calibration = calibrate_sets(proba, y)
    found = []
    for coverage in _COVERAGES:
        if not np.isfinite(calibration.thresholds(coverage)).all():
            continue  # too few samples: all classes would be in every set
        sizes = calibration.predict_set(proba, coverage).sum(axis=1)
        found.append(
            SetSizes(coverage, float(sizes.mean()), float((sizes == 1).mean()), int(sizes.max()))
        )
    return found
