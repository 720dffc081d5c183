"""Naive Bayes classifier whose event model is a parameter."""

from __future__ import annotations  # `help` shows the short names

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from cordwood._base.csr import check_dense_size, check_sparse
from cordwood._base.param_validation import Constraint, ParamValidationMixin, options, real
from cordwood._base.samples import validate_samples
from cordwood._base.sklearn_private import check_sample_weight
from cordwood._base.voting_classifier import check_classification_labels


class NaiveBayesClassifier(ParamValidationMixin, ClassifierMixin, BaseEstimator):
    """Naive Bayes with the event model as a parameter, so that a grid search can choose it.

    Parameters
    ----------
    variant : {"multinomial", "complement", "gaussian"}, default="multinomial"
        Event model: scikit-learn's `MultinomialNB` or `ComplementNB`, which require nonnegative
        features, or its `GaussianNB`.
    alpha : float, default=1.0
        Nonnegative smoothing parameter: added to each count, or, with "gaussian", added to each
        variance as a fraction of the largest variance of all features (`var_smoothing`).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    model_ : MultinomialNB, ComplementNB or GaussianNB
        Fitted scikit-learn estimator.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are
        all strings.

    See Also
    --------
    sklearn.naive_bayes.MultinomialNB : Multinomial naive Bayes.
    sklearn.naive_bayes.ComplementNB : Complement naive Bayes, for imbalanced classes.
    sklearn.naive_bayes.GaussianNB : Gaussian naive Bayes.

    Notes
    -----
    `GaussianNB` requires dense samples; with "gaussian", sparse samples are converted to dense
    arrays, which takes 8 bytes per sample and feature.

    Examples
    --------
    >>> from cordwood.naive_bayes import NaiveBayesClassifier
    >>> X, y = [[3, 0], [2, 1], [0, 2], [1, 4]], ["ham", "ham", "spam", "spam"]
    >>> model = NaiveBayesClassifier(variant="complement", alpha=0.5).fit(X, y)
    >>> model.predict([[1, 0], [0, 1]])
    array(['ham', 'spam'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "variant": options("multinomial", "complement", "gaussian"),
        "alpha": real("[)", 0, np.inf),
    }

    def __init__(self, *, variant: str = "multinomial", alpha: float = 1.0) -> None:
        self.variant = variant
        self.alpha = alpha

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to the training set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights: a sample of weight two counts like two samples, and one of weight zero
            is ignored. If None, all weights are one.

        Returns
        -------
        self : NaiveBayesClassifier
            Fitted estimator.
        """
        self._validate_params()
        check_classification_labels(y)
        n_min = 2 if self.variant == "gaussian" else 1  # one sample has no variance
        X, y = validate_data(
            self, check_sparse(X), y, accept_sparse="csr", ensure_min_samples=n_min
        )
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X)
            # Weighted sums may round differently, and weights of one must not change anything.
            weights = None if (weights == 1).all() else weights
        if self.variant == "gaussian":
            check_dense_size(X.shape[0], X.shape[1], "a dense copy of X")
            X = _to_dense(X)
            smoothing = self.alpha * _variance_ratio(X, weights)
            self.model_ = GaussianNB(var_smoothing=smoothing).fit(X, y, weights)
            if not self.model_.var_.all():
                raise ValueError(
                    "X has features of zero variance within a class, which variant='gaussian' "
                    "does not support without smoothing; set alpha > 0 or remove these features."
                )
        else:
            check_dense_size(len(np.unique(y)), X.shape[1], "feature_log_prob_")
            model = MultinomialNB if self.variant == "multinomial" else ComplementNB
            self.model_ = model(alpha=self.alpha).fit(X, y, weights)
            if sp.issparse(X):
                # The transpose of a matrix in C order is copied in each product with a sparse
                # matrix. The order of the counts, from which files are read, is the same.
                for name in ("feature_count_", "feature_log_prob_"):
                    setattr(self.model_, name, np.asfortranarray(getattr(self.model_, name)))
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`.
        """
        X = validate_samples(self, X)
        if isinstance(self.model_, GaussianNB):
            with np.errstate(divide="ignore"):  # the logarithm of a class without weight
                return np.asarray(self.model_.predict_proba(_to_dense(X)))
        # What `predict_proba` of scikit-learn computes, whose checks take longer than a short text.
        logs = X @ self.model_.feature_log_prob_.T
        if isinstance(self.model_, MultinomialNB) or len(self.classes_) == 1:
            logs += self.model_.class_log_prior_
        return _normalize(logs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.variant != "gaussian"
        # As in scikit-learn: the data of its checks are not counts.
        tags.classifier_tags.poor_score = self.variant != "gaussian"
        return tags


def _normalize(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities that are proportional to the exponentials, in the steps of scipy."""
    largest = logs.max(axis=1, keepdims=True)
    is_largest = logs == largest
    n_largest = is_largest.sum(axis=1, keepdims=True, dtype=np.float64)
    shift = np.where(np.isfinite(largest), largest, 0)
    rest = np.where(is_largest, 0.0, np.exp(logs - shift)).sum(axis=1, keepdims=True)
    total = np.log1p(rest / n_largest) + np.log(n_largest) + largest
    return np.asarray(np.exp(logs - total))


def _to_dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float64)


def _variance_ratio(X: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Return the largest weighted variance of a feature relative to the largest unweighted one."""
    # GaussianNB smooths by a fraction of the latter even if it is fitted with weights.
    if weights is None or not (largest := X.var(axis=0).max()):
        return 1.0
    mean = np.average(X, axis=0, weights=weights)
    variance = np.average((X - mean) ** 2, axis=0, weights=weights)
    return float(variance.max() / largest)
