"""Multilabel classifier: any recipe, a calibrated pool and tuned thresholds."""

from __future__ import annotations  # `help` shows the short names

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, column_or_1d, indexable
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from cordwood._base.csr import check_sparse
from cordwood._base.param_validation import (
    N_JOBS,
    RANDOM_STATE,
    integer,
    options,
    real,
)
from cordwood._base.sklearn_private import check_sample_weight
from cordwood.metrics.thresholds import apply_label_thresholds, choose_label_thresholds
from cordwood.multilabel._base import BaseMultiLabelClassifier
from cordwood.multilabel._label_pool import LabelPool, fit_label_pool
from cordwood.multilabel.indicators import BoolArray, assign_label_folds
from cordwood.multilabel.members import fit_members, list_members, predict_label_proba
from cordwood.stacking.shared_steps import fit_shared_steps, transform_steps

Float64Array = NDArray[np.float64]


class MultiLabelClassifier(BaseMultiLabelClassifier):
    """Multilabel classifier based on a single-label classifier, pipeline or stack.

    Samples are transformed once, for all labels. Forests and nearest neighbors predict all labels
    at once (see `LabelPowerset`), linear SVMs and boosted rules support label indicators, and of
    all other classifiers one is fitted for each label (see `BinaryRelevance`). Out-of-fold
    probabilities of the training samples then serve twice: for each label, a logistic regression
    calibrates and combines the members, and a threshold is chosen.

    Parameters
    ----------
    estimator : classifier or Pipeline
        Such as a recipe of `cordwood.recipes.make`. Of an `OOBStackingClassifier`, the members and
        `use_oob` are used; their probabilities are combined by logistic regressions instead of its
        final estimator.
    classes : array-like of shape (n_labels,), default=None
        Names of the labels, sorted; by default the column indices.
    threshold : "f1" or float, default="f1"
        Probability from which on a label is predicted. "f1" chooses it for each label to maximize
        the F1 of out-of-fold predictions; rare labels are smoothed by labels of similar frequency.
    min_labels : int or "auto", default="auto"
        Number of labels that are predicted at least: if fewer probabilities reach their threshold,
        the most probable labels. "auto" is 1 if every training sample has a label, else 0.
    cv : int, default=3
        Number of folds for members without out-of-bag or leave-one-out predictions, and for the
        out-of-fold predictions of the logistic regressions.
    n_jobs : int or None, default=None
        Number of threads over members, folds and labels. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names of the labels.
    thresholds_ : ndarray of shape (n_labels,)
        Probability from which on each label is predicted.
    min_labels_ : int
        Number of labels that are predicted at least.
    estimators_ : list of estimators
        Members fitted on all samples: multilabel classifiers without preprocessing.
    estimator_weights_ : dict of str to float
        Weight of the log-odds of each member, averaged over the labels.
    coef_ : ndarray of shape (n_members, n_labels)
        Weights of the log-odds of the members.
    intercept_ : ndarray of shape (n_labels,)
        Intercepts.
    oof_source_ : dict of str to {"oob", "loo", "cv"}
        How the out-of-fold probabilities of each member were computed.
    oof_proba_ : ndarray of shape (n_samples, n_labels)
        Out-of-fold probabilities of the training samples, on which `thresholds_` were chosen. Not
        stored in model files.
    n_features_in_ : int
        Number of features seen during `fit`. Defined only if `X` is two-dimensional.

    See Also
    --------
    cordwood.TextClassifier : The model of a recipe, which takes lists of labels as well.
    sklearn.multioutput.MultiOutputClassifier : Independent classifiers without thresholds.

    Notes
    -----
    The weights of a label deviate from weights that all labels share only as far as its samples
    require it. Thresholds of rare labels are chosen together with those of labels of similar
    frequency. See docs/multilabel.md for the evidence.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.metrics import f1_score
    >>> from cordwood import LinearSVMClassifier
    >>> X, Y = make_multilabel_classification(400, n_classes=4, random_state=0)
    >>> model = MultiLabelClassifier(LinearSVMClassifier(), random_state=0).fit(X[:300], Y[:300])
    >>> model.predict(X[300:302])
    array([[1, 1, 1, 1],
           [0, 0, 1, 0]])
    >>> f1_score(Y[300:], model.predict(X[300:]), average="micro") > 0.75
    True
    """

    _parameter_constraints = {
        "threshold": options("f1") | real("()", 0, 1),
        "min_labels": options("auto") | integer(0),
        "cv": integer(2),
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        classes: ArrayLike | None = None,
        threshold: float | str = "f1",
        min_labels: int | str = "auto",
        cv: int = 3,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.threshold = threshold
        self.min_labels = min_labels
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def oof_proba_(self) -> Float64Array:
        """Out-of-fold probabilities of the training samples."""
        check_is_fitted(self)
        return self._oof_proba  # raises AttributeError if loaded from a model file

    @property
    def estimator_weights_(self) -> dict[str, float]:
        """Weight of the log-odds of each member, averaged over the labels."""
        check_is_fitted(self)
        return dict(zip(self._names, self.coef_.mean(axis=1).tolist(), strict=True))

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the members, the logistic regressions and the thresholds.

        Parameters
        ----------
        X : array-like, sparse matrix or sequence of texts of length n_samples
            Training samples, of any type that the estimator accepts.
        y : indicator matrix of shape (n_samples, n_labels)
            Label indicators: zeros and ones.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights of the members, the logistic regressions and the F1 of the thresholds.
            All members must accept them.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples, such as duplicates. No sample is predicted out of fold by a
            model that was fitted on samples of its group.

        Returns
        -------
        self : MultiLabelClassifier
        """
        self._validate_params()
        members, use_oob = list_members(self.estimator)
        X, Y = self._check_data(check_sparse(X), y)
        n_samples = len(Y)
        if n_samples < 2:
            raise ValueError("fit needs at least two samples; got one sample")
        self.classes_ = self._check_classes(Y.shape[1])
        fold_seed, pool_fold_seed, pool_seed = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=3
        )
        self._names = [name for name, _ in members]
        shared = fit_shared_steps([member for _, member in members], X)
        weights = np.ones(n_samples)
        if sample_weight is not None:
            _check_weights_accepted(dict(zip(self._names, shared.estimators, strict=True)))
            weights = check_sample_weight(sample_weight, Y)
        group_labels = None if groups is None else _check_groups(groups, n_samples)
        fitted = fit_members(
            self._names,
            shared.estimators,
            [shared.inputs[position] for position in shared.step_index],
            Y,
            assign_label_folds(Y, self.cv, int(fold_seed), group_labels),
            sample_weight=None if sample_weight is None else weights,
            groups=group_labels,
            use_oob=use_oob,
            n_jobs=self.n_jobs,
        )
        self.estimators_ = fitted.estimators
        self._shared_steps, self._step_index = shared.steps, shared.step_index
        self.oof_source_ = dict(zip(self._names, fitted.sources, strict=True))
        self.coef_, self.intercept_ = fit_label_pool(fitted.oof_proba, Y, int(pool_seed), weights)
        pool_folds = assign_label_folds(Y, self.cv, int(pool_fold_seed), group_labels)
        self._oof_proba = _cross_fit(fitted.oof_proba, Y, pool_folds, int(pool_seed), weights)
        if isinstance(self.threshold, str):
            self.thresholds_ = choose_label_thresholds(self._oof_proba, Y, weights)
        else:
            self.thresholds_ = np.full(Y.shape[1], float(self.threshold))
        self.min_labels_ = (
            int(Y.any(axis=1).all())
            if isinstance(self.min_labels, str)
            else min(int(self.min_labels), Y.shape[1])
        )
        return self

    def predict_proba(self, X: Any) -> Float64Array:
        """Compute the probability of each label.

        Parameters
        ----------
        X : array-like, sparse matrix or sequence of texts of length n_samples
            Samples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities, with columns in the order of `classes_`. They do not sum to one.
        """
        check_is_fitted(self)
        (X,) = indexable(check_sparse(X))
        inputs = [transform_steps(steps, X) if steps else X for steps in self._shared_steps]
        probas = [
            predict_label_proba(member, inputs[position])
            for member, position in zip(self.estimators_, self._step_index, strict=True)
        ]
        return LabelPool(self.coef_, self.intercept_).predict_proba(np.stack(probas))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict the labels whose probability reaches its threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or sequence of texts of length n_samples
            Samples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Label indicators.
        """
        return self.apply_thresholds(self.predict_proba(X))

    def apply_thresholds(self, proba: ArrayLike) -> NDArray[np.int64]:
        """Return the labels that `predict` predicts for given probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_labels)
            Probabilities, as returned by `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Label indicators.
        """
        check_is_fitted(self)
        array = np.asarray(proba, np.float64)
        predicted = apply_label_thresholds(array, self.thresholds_, self.min_labels_)
        return predicted.astype(np.int64)

    def iter_members(self) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
        """Yield the name of each member, the transformers before it, and the fitted member."""
        for name, position, member in zip(
            self._names, self._step_index, self.estimators_, strict=True
        ):
            yield name, tuple(step for _, step in self._shared_steps[position]), member

    def _check_classes(self, n_labels: int) -> NDArray[Any]:
        if self.classes is None:
            return np.arange(n_labels)
        classes = np.asarray(self.classes)
        if classes.shape != (n_labels,):
            raise ValueError(
                f"classes must have one name for each of the {n_labels} columns of y; got an array "
                f"of shape {classes.shape}"
            )
        if len(np.unique(classes)) < n_labels or (np.sort(classes) != classes).any():
            raise ValueError("classes must be sorted and without duplicates")
        return classes


def _check_weights_accepted(members: dict[str, Any]) -> None:
    """Raise an error that names the members whose `fit` has no `sample_weight`."""
    unable = [
        name for name, each in members.items() if not has_fit_parameter(each, "sample_weight")
    ]
    if unable:
        raise ValueError(
            f"sample_weight is not supported by {', '.join(map(repr, unable))}; use other "
            "estimators, or omit the weights"
        )


def _check_groups(groups: ArrayLike, n_samples: int) -> NDArray[Any]:
    labels = column_or_1d(groups)
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but groups has {len(labels)} entries")
    return np.asarray(labels)


def _cross_fit(
    probas: Float64Array,
    Y: BoolArray,
    folds: NDArray[np.intp],
    seed: int,
    weights: Float64Array,
) -> Float64Array:
    """Predict each fold by logistic regressions that were fitted on the other folds."""
    found = np.empty(Y.shape)
    for fold in np.unique(folds):
        test = folds == fold
        pool = fit_label_pool(probas[:, ~test], Y[~test], seed, weights[~test])
        found[test] = pool.predict_proba(probas[:, test])
    return found
