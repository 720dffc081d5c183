"""Base class of the combiners and validation of their features."""

from __future__ import annotations  # `help` shows the short names

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from cordwood._base.param_validation import ParamValidationMixin
from cordwood._base.samples import validate_samples
from cordwood._base.sklearn_private import check_sample_weight
from cordwood._base.voting_classifier import check_classification_labels

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_TOLERANCE = 1e-3  # rounding error of sums of single-precision probabilities


class BaseCombiner(ParamValidationMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base class of classifiers on the probabilities of base estimators.

    Subclasses implement `_fit` and `_class_scores`, and declare `_parameter_constraints`.
    """

    classes_: NDArray[Any]
    class_prior_: Floats

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the combiner on out-of-fold probabilities of the base estimators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_estimators * n_classes)
            Probabilities: one block of `n_classes` columns per base estimator, with classes in
            sorted order. The base estimators must not have been trained on these samples, else the
            combiner prefers the one that overfits most.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Samples with weight zero are ignored, but their labels are in
            `classes_`, with probability zero.

        Returns
        -------
        self : estimator
        """
        self._validate_params()
        check_classification_labels(y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = check_sample_weight(sample_weight, X)
        used = weights > 0
        if not used.any():
            raise ValueError("sample_weight must be positive for at least one sample; all are 0.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        class_weights = np.bincount(codes, weights, minlength=len(self.classes_))
        self.class_prior_ = class_weights / class_weights.sum()
        if not used.all():
            X, codes, weights = X[used], codes[used], weights[used]
        self._fit(X, codes, weights)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_estimators * n_classes)
            Probabilities of the base estimators.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with classes in the order of `classes_`.
        """
        X = validate_samples(self, X, np.float64)
        scores = np.where(self.class_prior_ > 0, self._class_scores(X), 0.0)
        totals = scores.sum(axis=1, keepdims=True)
        positive = totals > 0
        return np.where(positive, scores / np.where(positive, totals, 1.0), self.class_prior_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class; the first one in `classes_` wins ties.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_estimators * n_classes)
            Probabilities of the base estimators.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        probabilities = self.predict_proba(X)  # first, because it raises NotFittedError
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    @abstractmethod
    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        """Fit on features, class codes and positive sample weights."""

    @abstractmethod
    def _class_scores(self, X: Floats) -> Floats:
        """Return non-negative scores that are normalized to probabilities by `predict_proba`."""


def split_by_estimator(X: Floats, n_classes: int) -> Floats:
    """Validate probabilities and reshape them to (n_samples, n_estimators, n_classes).

    >>> split_by_estimator(np.array([[0.9, 0.1, 0.4, 0.6]]), n_classes=2)
    array([[[0.9, 0.1],
            [0.4, 0.6]]])
    """
    n_features = X.shape[1]
    if n_features % n_classes:
        raise ValueError(
            f"X must have n_estimators * n_classes columns; got {n_features} columns, which is not "
            f"a multiple of the {n_classes} classes in y. With two classes, pass the probabilities "
            "of both."
        )
    check_probabilities(X)
    probas = X.reshape(len(X), -1, n_classes)
    sums = probas.sum(axis=2)
    if sums.max() > 1 + _TOLERANCE:
        sample, estimator = np.unravel_index(sums.argmax(), sums.shape)
        raise ValueError(
            f"X must have one block of {n_classes} probabilities per base estimator; in row "
            f"{sample}, the block of base estimator {estimator} sums to "
            f"{sums[sample, estimator]:.3g}. With two classes, pass the probabilities of both."
        )
    return probas


def check_probabilities(X: Floats) -> None:
    """Raise an error if a value is not in [0, 1]."""
    for extreme in (X.argmin(), X.argmax()):
        row, column = np.unravel_index(extreme, X.shape)
        value = X[row, column]
        if not -_TOLERANCE <= value <= 1 + _TOLERANCE:
            raise ValueError(
                f"X must contain probabilities; got {value:.3g} in row {row}, column {column}. "
                "Pass predict_proba of the base estimators, not decision values or features."
            )


def hard_votes(probas: Floats) -> Floats:
    """Return the votes of each base estimator; tied classes get equal fractions of a vote.

    If the first of the tied classes got the vote, predictions would depend on the class order.

    >>> hard_votes(np.array([[[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]]]))
    array([[[1. , 0. , 0. ],
            [0.5, 0.5, 0. ]]])
    """
    best = probas == probas.max(axis=2, keepdims=True)
    votes: Floats = best / best.sum(axis=2, keepdims=True)
    return votes
