"""Fits, predictions and scores of a trial, with one label per sample or with several.

With several labels per sample, the classifier of a learner is wrapped in a `MultiLabelClassifier`,
as in `cordwood.train`.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from cordwood.compare.runner.thresholds import category_scores
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.predictions import MultiLabelPredictions, Predictions
from cordwood.metrics.scoring import score, score_multilabel
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
    """Fit a classifier to the labels of a training set, with its sample weights.

    Parameters
    ----------
    classifier : classifier
        Unfitted; a `MultiLabelClassifier` if there are several labels per sample.
    X : array or sparse matrix of shape (n_samples, n_features)
        The training samples, transformed.
    data : Corpus or FeatureMatrix
        The training set.
    groups : sequence of str or None
        Groups of the samples, for a classifier that accepts them.

    Returns
    -------
    classifier
        The same object, fitted.
    """
    params: dict[str, Any] = {}
    if groups is not None and has_fit_parameter(classifier, "groups"):
        params["groups"] = groups
    if data.weights is not None:
        params["sample_weight"] = np.asarray(data.weights, float)
    if data.multilabel:
        classifier.set_params(classes=to_indicators(cast(Any, data.labels))[0])
    return classifier.fit(X, make_target(data), **params)


def make_predictions(classifier: Any, proba: NDArray[Any]) -> Predictions | MultiLabelPredictions:
    """Return the labels that a fitted classifier predicts for given probabilities."""
    classes = np.asarray(classifier.classes_)
    if isinstance(classifier, MultiLabelClassifier):
        indicators = classifier.apply_thresholds(proba)
        return MultiLabelPredictions(indicators=indicators, probabilities=proba, classes=classes)
    labels = classes[np.argmax(proba, axis=1)]
    return Predictions(labels=labels, probabilities=proba, classes=classes)


def compute_scores(
    data: Corpus | FeatureMatrix,
    predictions: Predictions | MultiLabelPredictions,
    category: str | None = None,
) -> dict[str, float]:
    """Compute the scores of predictions, weighted by the sample weights of the data.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        The samples with their true labels.
    predictions : Predictions or MultiLabelPredictions
        Their predictions.
    category : str, optional
        The positive class, for its binary scores.

    Returns
    -------
    dict of str to float
        `micro_f1` and `macro_f1`; with a category also `f1`, `precision` and `recall`; with
        several labels per sample also `samples_f1`, `subset_accuracy` and `ranking_precision`.
    """
    labels: Any = data.labels or ()
    if isinstance(predictions, MultiLabelPredictions):
        several = score_multilabel(labels, predictions, data.weights)
        return {
            "micro_f1": several.micro_f1,
            "macro_f1": several.macro_f1,
            "samples_f1": several.samples_f1,
            "subset_accuracy": several.subset_accuracy,
            "ranking_precision": several.ranking_precision,
        }
    found = score(labels, predictions.labels.tolist(), predictions.classes.tolist(), data.weights)
    scores = {"micro_f1": found.micro_f1, "macro_f1": found.macro_f1}
    if category is None:
        return scores
    binary = category_scores(
        np.asarray(labels) == category, predictions.labels == category, data.weights
    )
    return {**scores, **binary._asdict()}
