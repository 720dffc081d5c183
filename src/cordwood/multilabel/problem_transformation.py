"""Problem transformations: multilabel classification by single-label classifiers."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cordwood._base.param_validation import N_JOBS
from cordwood._base.sklearn_private import check_sample_weight, num_samples
from cordwood._base.threads import map_parallel
from cordwood.multilabel._base import BaseMultiLabelClassifier
from cordwood.multilabel.indicators import BoolArray
from cordwood.oof.engine import fit_estimator
from cordwood.oof.proba import predict_proba
from cordwood.oof.sources import oob_or_loo_proba

Float64Array = NDArray[np.float64]


class _ProblemTransformation(BaseMultiLabelClassifier, ABC):
    """Base of the problem transformations: `predict` by a probability of one half."""

    classes_: NDArray[np.intp]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict the labels whose probability is above one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Label indicators.
        """
        return (self.predict_proba(X) > 0.5).astype(np.int64)

    def predict_proba(self, X: Any) -> Float64Array:
        """Compute the probability of each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities, which do not sum to one.
        """
        check_is_fitted(self)
        (X,) = indexable(X)
        return self._predict_proba(X)

    @abstractmethod
    def _predict_proba(self, X: Any) -> Float64Array:
        """Compute the probability of each label of samples that are valid."""

    def _check_data(self, X: Any, y: Any) -> tuple[Any, BoolArray]:
        """Validate parameters and arguments of `fit`; set `classes_`."""
        self._validate_params()
        X, Y = super()._check_data(X, y)
        self.classes_ = np.arange(Y.shape[1])
        return X, Y


class BinaryRelevance(_ProblemTransformation):
    """One binary classifier per label, independent of the other labels.

    Also known as one-vs-rest. All classifiers are fitted on the same samples, which are neither
    copied nor transformed again.

    Parameters
    ----------
    estimator : classifier
        Clones of it are fitted to whether a sample has the label.
    n_jobs : int or None, default=None
        Number of threads over the labels. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column indices of the labels.
    estimators_ : list of classifiers
        Classifiers of the labels in `fitted_labels_`.
    fitted_labels_ : ndarray
        Labels that some but not all training samples have.
    constant_proba_ : ndarray of shape (n_labels,)
        Probability of the other labels, 0 or 1; NaN for those in `fitted_labels_`.
    n_features_in_ : int
        Number of features seen during `fit`. Defined only if `X` is two-dimensional.

    See Also
    --------
    LabelPowerset : One multiclass classifier of label sets.
    sklearn.multiclass.OneVsRestClassifier : The same in scikit-learn.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> BinaryRelevance(LogisticRegression()).fit(X, Y).predict([[-1.0], [4.0]])
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints = {"n_jobs": N_JOBS}

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit one classifier for each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : indicator matrix of shape (n_samples, n_labels)
            Label indicators.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, which the estimator must accept.

        Returns
        -------
        self : BinaryRelevance
        """
        X, Y = self._check_data(X, y)
        params = _list_fit_params(self.estimator, X, sample_weight, None)
        shares = Y.mean(axis=0)
        is_constant = (shares == 0) | (shares == 1)
        self.constant_proba_ = np.where(is_constant, shares, np.nan)
        self.fitted_labels_ = np.flatnonzero(~is_constant)

        def fit(label: int) -> Any:
            return clone(self.estimator).fit(X, Y[:, label].astype(np.int64), **params)

        self.estimators_ = list(map_parallel(fit, self.fitted_labels_.tolist(), self.n_jobs))
        return self

    def _predict_proba(self, X: Any) -> Float64Array:
        proba = np.tile(self.constant_proba_, (num_samples(X), 1))
        binary = np.array([0, 1])
        columns = map_parallel(
            lambda estimator: predict_proba(estimator, X, binary), self.estimators_, self.n_jobs
        )
        for label, column in zip(self.fitted_labels_, columns, strict=True):
            proba[:, label] = column[:, 1]
        return proba


class LabelPowerset(_ProblemTransformation):
    """One multiclass classifier, whose classes are the label sets of the training samples.

    The probability of a label is the sum of the probabilities of all label sets that contain it.
    Leaves of trees and nearest neighbors vote by the share of their training samples that have a
    label, so that a forest or a nearest-neighbors classifier predicts all labels at once, and its
    out-of-bag or leave-one-out predictions are those of the labels.

    Parameters
    ----------
    estimator : classifier
        A clone of it is fitted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column indices of the labels.
    estimator_ : classifier
        The fitted classifier, whose classes are the rows of `label_sets_`. None if all training
        samples have the same labels.
    label_sets_ : ndarray of shape (n_label_sets, n_labels)
        Distinct rows of `y`.
    n_features_in_ : int
        Number of features seen during `fit`. Defined only if `X` is two-dimensional.

    See Also
    --------
    BinaryRelevance : One binary classifier per label.

    Examples
    --------
    >>> from cordwood import NeighborsClassifier
    >>> X, Y = [[1, 0], [1, 1], [0, 1]], [[1, 0], [1, 1], [0, 1]]
    >>> model = LabelPowerset(NeighborsClassifier(2, weights="uniform")).fit(X, Y)
    >>> model.label_sets_.astype(int).tolist()
    [[0, 1], [1, 0], [1, 1]]
    >>> model.predict_proba([[3, 1]])
    array([[1. , 0.5]])
    """

    _parameter_constraints = {}

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier of label sets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : indicator matrix of shape (n_samples, n_labels)
            Label indicators.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, which the estimator must accept.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples, for an estimator that accepts them.

        Returns
        -------
        self : LabelPowerset
        """
        X, Y = self._check_data(X, y)
        self.label_sets_, codes = np.unique(Y, axis=0, return_inverse=True)
        self.estimator_ = None
        if len(self.label_sets_) > 1:
            params = _list_fit_params(self.estimator, X, sample_weight, groups)
            self.estimator_ = fit_estimator(self.estimator, X, codes.ravel(), params)
        return self

    def _predict_proba(self, X: Any) -> Float64Array:
        if self.estimator_ is None:
            return np.tile(self.label_sets_[0].astype(np.float64), (num_samples(X), 1))
        return self._sum_label_sets(predict_proba(self.estimator_, X, self._set_codes))

    def oof_proba(self, source: str, groups: ArrayLike | None = None) -> Float64Array:
        """Return out-of-bag or leave-one-out probabilities of the training samples.

        Parameters
        ----------
        source : {"oob", "loo"}
            Which of them.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples for leave-one-out predictions.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities; NaN for samples that were in every bootstrap sample.
        """
        check_is_fitted(self)
        return self._sum_label_sets(
            oob_or_loo_proba(self.estimator_, source, groups, self._set_codes)
        )

    @property
    def _set_codes(self) -> NDArray[np.intp]:
        return np.arange(len(self.label_sets_))

    def _sum_label_sets(self, proba: Float64Array) -> Float64Array:
        # Sums of rounded probabilities may exceed one by a rounding error.
        return np.minimum(proba @ self.label_sets_.astype(np.float64), 1.0)


def _list_fit_params(
    estimator: Any, X: Any, sample_weight: ArrayLike | None, groups: ArrayLike | None
) -> dict[str, Any]:
    """Return the parameters of `fit`: the weights, and the groups if the estimator accepts them."""
    params: dict[str, Any] = {}
    if sample_weight is not None:
        params["sample_weight"] = check_sample_weight(sample_weight, X)
    if groups is not None and has_fit_parameter(estimator, "groups"):
        params["groups"] = groups
    return params
