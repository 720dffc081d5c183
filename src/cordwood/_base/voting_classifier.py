"""Base class of the classifiers whose probabilities are votes, and validation of labels.

Out-of-fold predictions
-----------------------
Estimators that can predict their own training samples without having been fitted on them follow
one protocol, which `cordwood.stacking` reads:

`oob_decision_function_` : ndarray of shape (n_samples, n_classes)
    Out-of-bag probabilities of the training samples, with columns in the order of `classes_`.
    Rows sum to one; a row is NaN (in other libraries, zero) if the sample was in every bootstrap
    sample. Either a property of the class, or set by `fit` if the estimator has the parameters
    ``oob_score=True`` and, if any, ``bootstrap=True``.
`loo_decision_function(groups=None)` : ndarray of shape (n_samples, n_classes)
    Leave-one-out probabilities of the training samples, with columns in the order of `classes_`.
    Rows sum to one. With `groups`, the whole group of a sample is left out with it. It needs no
    refitting; estimators that store their training set have it.
`oob_is_unbiased_` : bool
    Whether `oob_decision_function_` estimates the predictions for new samples without a known
    bias, unlike that of a single boosting run. It depends on constructor parameters only, so it
    can be read before `fit`. An estimator without the attribute counts as unbiased.
`fit(..., groups=None)`
    Optional parameter. An estimator that accepts it excludes whole groups from its out-of-bag
    probabilities.
"""

from __future__ import annotations  # `help` shows the short names

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from cordwood._base.csr import check_sparse, to_csr, to_training_matrix
from cordwood._base.labels import is_missing
from cordwood._base.param_validation import ParamValidationMixin
from cordwood._base.samples import validate_samples
from cordwood._base.sklearn_private import check_sample_weight

# Above this number of classes, fitting a classifier for each of them takes minutes.
_MAX_FAST_CLASSES = 1000


def check_classification_labels(y: Any) -> None:
    """Raise ValueError if `y` has missing labels, collections as labels, or labels of mixed types.

    >>> check_classification_labels(["spam", None, "ham"])
    Traceback (most recent call last):
    ValueError: y[1] is None; every sample needs a label, so remove the sample or label it
    >>> check_classification_labels([["spam"], ["ham", "offer"]])
    Traceback (most recent call last):
    ValueError: y[0] is a list, ['spam']; y must have one label per sample, a string or a number
    >>> check_classification_labels(["spam", 1])
    Traceback (most recent call last):
    ValueError: y has labels of the types int and str; convert all labels to one type
    """
    # These are the common mistakes for which scikit-learn has no error message, or one that does
    # not point to the sample. Call it before `validate_data`, which checks everything else: the
    # shape of `y`, its length, and that it is not a regression target.
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuUS":
        return  # Neither missing labels nor collections can occur.
    if not hasattr(y, "__iter__") or isinstance(y, str) or len(getattr(y, "shape", (0,))) != 1:
        return
    labels = list(y)
    if set(map(type, labels)) == {str}:
        return
    for position, label in enumerate(labels):
        if isinstance(label, list | tuple | set | dict | np.ndarray):
            raise ValueError(
                f"y[{position}] is a {type(label).__name__}, {label!r}; y must have one label per "
                "sample, a string or a number"
            )
        if is_missing(label):
            raise ValueError(
                f"y[{position}] is {label!r}; every sample needs a label, so remove the sample or "
                "label it"
            )
    if len({isinstance(label, str) for label in labels}) > 1:
        names = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"y has labels of the types {' and '.join(names)}; convert all labels to one type"
        )


def check_at_least_two_classes(classes: NDArray[Any]) -> None:
    """Raise ValueError if there is a single class, for estimators that cannot be fitted to one."""
    if len(classes) == 1:
        raise ValueError(
            f"y must contain at least two classes; got one class, {classes.tolist()[0]!r}"
        )


def warn_many_classes(n_classes: int, n_fits: int, advice: str) -> None:
    """Warn if very many one-vs-rest classifiers are fitted; `advice` is what would be faster."""
    if n_classes > _MAX_FAST_CLASSES:
        warnings.warn(
            f"y has {n_classes} classes, so {n_classes * n_fits} binary classifiers are fitted, "
            f"which may take long; {advice}, or use a classifier that fits all classes at once, "
            "such as RandomForestClassifier, NeighborsClassifier or NaiveBayesClassifier.",
            stacklevel=3,
        )


class BaseVotingClassifier(ParamValidationMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers that predict the class with the most votes.

    Subclasses implement `_fit` and `_predict_proba`, and declare `_parameter_constraints`.
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to the training set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. Values are converted to float32.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A sample of weight zero is ignored. If None, all weights are one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        self._fit(*self._validate_training_set(X, y, sample_weight))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. Values are converted to float32.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, with columns in the order of `classes_`.
        """
        return self._predict_proba(to_csr(validate_samples(self, X, np.float32)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class; of tied classes the first in `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. Values are converted to float32.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        proba = self.predict_proba(X)  # Raises NotFittedError before `classes_` is accessed.
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _is_warm_start(self) -> bool:
        """Return whether `fit` continues the previous fit."""
        return False

    def _validate_training_set(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[sp.csc_matrix | sp.csr_matrix, NDArray[np.uint32], NDArray[np.float64]]:
        """Validate the arguments of `fit`; return the samples, class codes and weights."""
        warm_start = self._is_warm_start()
        check_classification_labels(y)
        X, y = validate_data(
            self,
            check_sparse(X),
            y,
            accept_sparse=["csr", "csc"],
            dtype=np.float32,
            reset=not warm_start,
        )
        check_classification_targets(y)
        weights = check_sample_weight(sample_weight, X)
        classes, codes = np.unique(y, return_inverse=True)
        if warm_start and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "y has other classes than in the previous fit, which warm_start continues; pass "
                "the same classes, or set warm_start=False"
            )
        self.classes_ = classes
        return to_training_matrix(X), codes.astype(np.uint32), weights

    @abstractmethod
    def _fit(
        self, X: sp.csc_matrix | sp.csr_matrix, y: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        """Fit to validated samples, class codes and sample weights."""

    @abstractmethod
    def _predict_proba(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        """Return probabilities of shape (n_samples, n_classes) for validated samples."""
