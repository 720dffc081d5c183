"""Fits, predictions and scores of a trial, with one label per sample or with several.

With several labels per sample, the classifier of a learner is wrapped in a `MultiLabelClassifier`,
as in `TextClassifier`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import has_fit_parameter

from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.evaluation import evaluate_predictions
from cordwood.metrics.predictions import Predictions, rank_labels
from cordwood.multilabel.indicators import to_indicators
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier


def make_target(data: Corpus | FeatureMatrix) -> NDArray[Any]:
    """Return the labels of the samples, or the label indicators if there are several per sample."""
    if data.multilabel:
        return to_indicators(cast(Any, data.labels))[1]
    return np.asarray(data.labels)


def fit_classifier(
    classifier: Any, X: Any, data: Corpus | FeatureMatrix, groups: Sequence[str] | None
) -> Any:
    """Fit a classifier to labels and sample weights of data, and to groups if it accepts them."""
    params: dict[str, Any] = {}
    if groups is not None and has_fit_parameter(classifier, "groups"):
        params["groups"] = groups
    if data.weights is not None:
        params["sample_weight"] = np.asarray(data.weights, float)
    if data.multilabel:
        classifier.set_params(classes=to_indicators(cast(Any, data.labels))[0])
    return classifier.fit(X, make_target(data), **params)


def make_predictions(classifier: Any, proba: NDArray[Any]) -> Predictions:
    """Return the labels that a fitted classifier predicts for given probabilities."""
    classes = np.asarray(classifier.classes_)
    if isinstance(classifier, MultiLabelClassifier):
        indicators = classifier.apply_thresholds(proba).astype(bool)
        labels = rank_labels(indicators, proba, classes)
        return Predictions(labels=labels, proba=proba, classes=classes, indicators=indicators)
    return Predictions(labels=classes[proba.argmax(axis=1)], proba=proba, classes=classes)


def compute_scores(
    data: Corpus | FeatureMatrix, predictions: Predictions, category: str | None = None
) -> dict[str, float]:
    """Compute the scores of predictions, weighted by the sample weights of the data.

    With a category they include its binary `f1`, `precision` and `recall`.
    """
    labels: Any = data.labels or ()
    found = evaluate_predictions(labels, predictions, data.weights, n_resamples=0).scores
    # Names of the scores in ledgers: the accuracy of one label per sample is its micro F1.
    names = {"micro_f1": "accuracy", "macro_f1": "macro_f1"}
    if predictions.indicators is not None:
        names = {
            "micro_f1": "micro_f1",
            "macro_f1": "macro_f1",
            "samples_f1": "samples_f1",
            "subset_accuracy": "accuracy",
            "ranking_precision": "ranking_precision",
        }
    scores = {name: float(found[own]) for name, own in names.items()}
    if category is None:
        return scores
    binary = category_scores(
        np.asarray(labels) == category, predictions.labels == category, data.weights
    )
    return {**scores, **binary._asdict()}


class CategoryScores(NamedTuple):
    """Binary scores of a category; a score whose denominator is zero is 0.0."""

    f1: float
    precision: float
    recall: float


def category_scores(
    y_true: NDArray[np.bool_], y_pred: NDArray[np.bool_], sample_weight: ArrayLike | None = None
) -> CategoryScores:
    """Compute F1, precision and recall of a category.

    >>> category_scores(np.array([True, True, False, False]), np.array([True, False, True, True]))
    CategoryScores(f1=0.4, precision=0.3333333333333333, recall=0.5)
    """
    weights = np.ones(len(y_true)) if sample_weight is None else np.asarray(sample_weight, float)
    n_true, n_pred = float(weights @ y_true), float(weights @ y_pred)
    n_correct = float(weights @ (y_true & y_pred))
    return CategoryScores(
        f1=2 * n_correct / (n_true + n_pred) if n_true + n_pred else 0.0,
        precision=n_correct / n_pred if n_pred else 0.0,
        recall=n_correct / n_true if n_true else 0.0,
    )


def category_proba(predictions: Predictions, category: str | None) -> NDArray[np.float64]:
    """Return the probabilities of a category; zeros if no training sample belongs to it."""
    proba = predictions.proba
    column = np.flatnonzero(predictions.classes == category)
    return proba[:, column[0]].astype(np.float64) if len(column) else np.zeros(len(proba))
