"""Classifier whose decision maximizes a score of out-of-fold predictions."""

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, check_random_state, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cordwood._base.csr import check_sparse
from cordwood._base.param_validation import (
    N_JOBS,
    RANDOM_STATE,
    ParamValidationMixin,
    integer,
    options,
    real,
)
from cordwood._base.sklearn_private import check_sample_weight
from cordwood._base.voting_classifier import check_at_least_two_classes, check_classification_labels
from cordwood.decisions._search import (
    find_class_weights,
    find_f1_threshold,
    find_precision_threshold,
)
from cordwood.oof.engine import (
    choose_oof_source,
    fit_estimator,
    impute_prior,
    make_folds,
    oob_or_loo_proba,
    predict_fold,
    predict_proba,
)
from cordwood.oof.routing import select_fit_params
from cordwood.oof.tasks import Task, run_tasks

Float64Array = NDArray[np.float64]

OBJECTIVES = ("f1", "macro_f1", "cost", "precision")


class TunedDecisionClassifier(
    MetaEstimatorMixin, ParamValidationMixin, ClassifierMixin, BaseEstimator
):
    """Classifier whose decision maximizes a score of out-of-fold predictions.

    The probabilities are those of the estimator. Which class is predicted is decided by a threshold
    (two classes), by class weights, or by the expected cost. Like scikit-learn's
    `TunedThresholdClassifierCV` for two classes, with three differences: there may be more classes,
    estimators with out-of-bag, leave-one-out or stacked out-of-fold predictions are not fitted
    again, and all thresholds are tried instead of a grid.

    Parameters
    ----------
    estimator : classifier
        Classifier with probabilities.
    optimize : {"f1", "macro_f1", "cost", "precision"}, default="macro_f1"
        What the decision optimizes:

        - "f1": F1 of the positive class; requires two classes.
        - "macro_f1": mean F1 of all classes.
        - "cost": the expected cost of `cost_matrix`, which needs no tuning.
        - "precision": recall of the positive class with a precision of at least `min_precision`;
          requires two classes.
    min_precision : float, default=0.95
        Precision of the positive class that "precision" requires, in (0, 1). It is estimated with
        two more predicted samples of the frequency of the class, so that a threshold that only a
        few samples reach is not chosen.
    cost_matrix : array-like of shape (n_classes, n_classes), default=None
        Cost of each predicted class (columns) by true class (rows), in sorted order of the classes.
    pos_label : object, default=None
        The positive class; by default the one with fewer samples.
    cv : int, default=5
        Number of folds for estimators without out-of-bag or leave-one-out predictions.
    n_jobs : int or None, default=None
        Number of threads over the folds.
    random_state : int, RandomState or None, default=None
        Seed of the folds.

    Attributes
    ----------
    estimator_ : classifier
        The estimator, fitted on all samples.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    decision_matrix_ : ndarray of shape (n_classes, n_classes)
        The class with the largest entry of ``proba @ decision_matrix_`` is predicted.
    positive_class_ : object
        The positive class.
    best_threshold_ : float
        Probability of the positive class above which it is predicted. Defined only with two classes
        and unless `optimize` is "cost".
    best_score_ : float
        Optimized score of the out-of-fold predictions: F1, macro F1, recall, or the negative mean
        cost.
    n_features_in_ : int
        Number of features seen during `fit`. Defined only if the estimator has it.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : Thresholds of binary classifiers.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.metrics import f1_score
    >>> from cordwood import RandomForestClassifier
    >>> X, y = make_classification(800, weights=[0.93], flip_y=0.05, random_state=0)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> tuned = TunedDecisionClassifier(forest, optimize="f1").fit(X[:400], y[:400])
    >>> plain = forest.fit(X[:400], y[:400])
    >>> f1_score(y[400:], tuned.predict(X[400:])) > f1_score(y[400:], plain.predict(X[400:]))
    True
    """

    classes_: NDArray[Any]

    _parameter_constraints = {
        "optimize": options(*OBJECTIVES),
        "min_precision": real("()", 0, 1),
        "cv": integer(2),
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        optimize: str = "macro_f1",
        min_precision: float = 0.95,
        cost_matrix: ArrayLike | None = None,
        pos_label: Any = None,
        cv: int = 5,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.optimize = optimize
        self.min_precision = min_precision
        self.cost_matrix = cost_matrix
        self.pos_label = pos_label
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def positive_class_(self) -> Any:
        """The positive class."""
        check_is_fitted(self)
        return self.classes_.tolist()[self._positive_code]

    @property
    def best_threshold_(self) -> float:
        """Probability of the positive class above which it is predicted."""
        check_is_fitted(self)
        if len(self.classes_) != 2 or self.optimize == "cost":
            raise AttributeError("best_threshold_ is defined only for two classes, without costs.")
        weights = np.diag(self.decision_matrix_)
        negative = 1 - self._positive_code
        return float(weights[negative] / weights.sum())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and choose the decision on out-of-fold predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or sequence of texts of length n_samples
            Training samples, of any type that the estimator accepts.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights of the fits and of the score. The estimator must accept them.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples, such as duplicates. No sample is predicted out of fold by a
            model that was fitted on samples of its group.

        Returns
        -------
        self : TunedDecisionClassifier
        """
        self._validate_params()
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None")
        check_classification_labels(y)
        X, labels = indexable(check_sparse(X), np.asarray(y))  # Folds are selected by position.
        self.classes_, codes = np.unique(labels, return_inverse=True)
        codes = codes.ravel()
        check_at_least_two_classes(self.classes_)
        costs = self._check_costs()
        self._positive_code = self._find_positive(codes)
        weights = check_sample_weight(sample_weight, labels)
        params = self._list_fit_params(None if sample_weight is None else weights, groups)
        self.estimator_ = fit_estimator(self.estimator, X, labels, params)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        proba = self._compute_oof(X, labels, codes, weights, groups, params)
        if costs is not None:
            self.decision_matrix_ = -costs
            predicted = (proba @ self.decision_matrix_).argmax(axis=1)
            self.best_score_ = -float(np.average(costs[codes, predicted], weights=weights))
        elif self.optimize == "macro_f1":
            class_weights, self.best_score_ = find_class_weights(proba, codes, weights)
            self.decision_matrix_ = np.diag(class_weights)
        else:
            is_positive = codes == self._positive_code
            self._tune_threshold(proba[:, self._positive_code], is_positive, weights)
        return self

    def predict_proba(self, X: Any) -> Float64Array:
        """Compute the probability of each class, as the estimator does.

        Parameters
        ----------
        X : array-like, sparse matrix or sequence of texts of length n_samples
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`.
        """
        check_is_fitted(self)
        return predict_proba(self.estimator_, X, self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample by the tuned decision.

        Parameters
        ----------
        X : array-like, sparse matrix or sequence of texts of length n_samples
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        return self.decide(self.predict_proba(X))

    def decide(self, proba: ArrayLike) -> NDArray[Any]:
        """Return the labels that `predict` predicts for given probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Probabilities, as returned by `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        check_is_fitted(self)
        scores = np.asarray(proba, np.float64) @ self.decision_matrix_
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _tune_threshold(
        self, proba: Float64Array, is_positive: NDArray[np.bool_], weights: Float64Array
    ) -> None:
        if self.optimize == "f1":
            threshold, self.best_score_ = find_f1_threshold(proba, is_positive, weights)
        else:
            threshold, self.best_score_ = find_precision_threshold(
                proba, is_positive, weights, float(self.min_precision)
            )
        # p (1 - t) > (1 - p) t if and only if p > t.
        class_weights = np.full(2, threshold)
        class_weights[self._positive_code] = 1 - threshold
        self.decision_matrix_ = np.diag(class_weights)

    def _list_fit_params(
        self, sample_weight: Float64Array | None, groups: ArrayLike | None
    ) -> dict[str, Any]:
        """Return the parameters of the estimator's `fit`."""
        params: dict[str, Any] = {}
        if sample_weight is not None:
            params = select_fit_params(self.estimator, {"sample_weight": sample_weight})
            if not params:
                raise ValueError(
                    f"sample_weight is not supported by {type(self.estimator).__name__}; use "
                    "another estimator, or omit the weights"
                )
        if groups is not None:
            params |= select_fit_params(self.estimator, {"groups": groups})
        return params

    def _compute_oof(
        self,
        X: Any,
        y: NDArray[Any],
        codes: NDArray[np.intp],
        weights: Float64Array,
        groups: ArrayLike | None,
        params: dict[str, Any],
    ) -> Float64Array:
        """Return out-of-fold probabilities of the training samples."""
        if hasattr(self.estimator_, "oof_proba_"):  # a stack
            return np.asarray(self.estimator_.oof_proba_, np.float64)
        source = choose_oof_source(
            self.estimator,
            "unbiased",
            has_groups=groups is not None,
            receives_groups=has_fit_parameter(self.estimator, "groups"),
        )
        if source == "cv":
            proba = np.full((len(y), len(self.classes_)), np.nan)
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            folds = make_folds(self.cv, codes, groups, int(seed))
            tasks = [
                Task(
                    "fold",
                    self.estimator,
                    partial(predict_fold, self.estimator, X, y, params, fold, self.classes_),
                )
                for fold in folds
            ]
            for (_, test), found in zip(folds, run_tasks(tasks, self.n_jobs), strict=True):
                proba[test] = found
        else:
            proba = oob_or_loo_proba(self.estimator_, source, groups, self.classes_)
        return impute_prior(proba, np.bincount(codes, weights) / weights.sum())[0]

    def _check_costs(self) -> Float64Array | None:
        if self.optimize != "cost":
            if self.cost_matrix is not None:
                raise ValueError("cost_matrix requires optimize='cost'")
            return None
        if self.cost_matrix is None:
            raise ValueError("optimize='cost' requires cost_matrix")
        costs = np.asarray(self.cost_matrix, np.float64)
        n_classes = len(self.classes_)
        if costs.shape != (n_classes, n_classes) or not np.isfinite(costs).all():
            raise ValueError(
                f"cost_matrix must be a matrix of {n_classes} x {n_classes} finite numbers, one "
                f"row and one column for each class; got an array of shape {costs.shape}"
            )
        return costs

    def _find_positive(self, codes: NDArray[np.intp]) -> int:
        """Return the code of the positive class, if there is one."""
        if self.optimize in ("f1", "precision") and len(self.classes_) > 2:
            raise ValueError(
                f"optimize={self.optimize!r} requires two classes; got {len(self.classes_)}, so "
                "use 'macro_f1' or 'cost'"
            )
        if self.pos_label is None:
            counts = np.bincount(codes)
            return int(len(counts) - 1 - counts[::-1].argmin())  # of equal classes, the second
        matches = np.flatnonzero(self.classes_ == self.pos_label)
        if not len(matches):
            known = ", ".join(map(repr, self.classes_.tolist()))
            raise ValueError(f"pos_label {self.pos_label!r} is not a class of y; classes: {known}")
        return int(matches[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        return tags
