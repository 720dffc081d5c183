"""Members of a multilabel model: fits, and out-of-fold probabilities of the training samples."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from cordwood._base.sklearn_private import take_rows
from cordwood._base.voting_classifier import BaseVotingClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.multilabel.indicators import BoolArray
from cordwood.multilabel.problem_transformation import BinaryRelevance, LabelPowerset
from cordwood.oof.engine import choose_oof_source
from cordwood.oof.tasks import Task, run_tasks
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.oob_stacking import OOBStackingClassifier

Float64Array = NDArray[np.float64]

# The pool calibrates the margins of an SVM, so that its temperature need not be fitted.
_TEMPERATURE = 0.25


class FittedMembers(NamedTuple):
    """Members fitted on all samples, with their out-of-fold probabilities.

    Parameters
    ----------
    estimators : list of estimators
        Multilabel classifiers.
    sources : list of {"loo", "oob", "cv"}
        How the out-of-fold probabilities were computed.
    oof_proba : ndarray of shape (n_members, n_samples, n_labels)
        Out-of-fold probabilities.
    """

    estimators: list[Any]
    sources: list[str]
    oof_proba: Float64Array


def make_multilabel(estimator: Any, n_labels: int, n_jobs: int | None = None) -> Any:
    """Return an unfitted multilabel classifier based on any classifier.

    Classifiers that support label indicators are returned as they are, voting classifiers such as
    forests predict label sets, and for all others there is one classifier per label.

    Examples
    --------
    >>> from cordwood import LinearSVMClassifier, RandomForestClassifier
    >>> make_multilabel(LinearSVMClassifier(C=2.0), 3)
    LinearSVMClassifier(C=2.0, temperature=0.25)
    >>> make_multilabel(RandomForestClassifier(), 3)
    LabelPowerset(estimator=RandomForestClassifier())
    """
    if isinstance(estimator, OneVsRestClassifier):
        return BinaryRelevance(clone(estimator.estimator), n_jobs=n_jobs)
    if isinstance(estimator, LinearSVMClassifier) and estimator.temperature is None:
        estimator = clone(estimator).set_params(temperature=_TEMPERATURE)
    # scikit-learn takes an indicator matrix with one column for labels of a binary problem.
    if get_tags(estimator).classifier_tags.multi_label and n_labels > 1:
        return clone(estimator)
    if isinstance(estimator, BaseVotingClassifier):
        return LabelPowerset(clone(estimator))
    return BinaryRelevance(clone(estimator), n_jobs=n_jobs)


def list_members(estimator: Any) -> tuple[list[tuple[str, Any]], bool]:
    """Return the members of a stack, or the estimator itself, by name, and whether to use OOB.

    Parameters
    ----------
    estimator : classifier or Pipeline
        A stack must be the only step of its pipeline.

    Returns
    -------
    members : list of (str, estimator)
        Unfitted.
    use_oob : bool
        Whether to use out-of-bag and leave-one-out predictions.

    Raises
    ------
    ValueError
        If the estimator is not a classifier, or a stack that cannot have several labels.
    """
    if not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise ValueError(f"estimator must be a classifier; got {estimator!r}")
    last = estimator
    if isinstance(last, Pipeline):
        last = last.steps[-1][1]
        if not isinstance(last, OOBStackingClassifier):
            return [(estimator.steps[-1][0], estimator)], True
    if not isinstance(last, OOBStackingClassifier):
        return [("classifier", last)], True
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        raise ValueError("a stack must be the only step of its pipeline")
    if last.passthrough or not isinstance(last.final_estimator, LogarithmicPool | None):
        raise ValueError(
            "the labels of a stack are combined by logistic regressions, so that its "
            "final_estimator and passthrough must have their defaults"
        )
    if not isinstance(last.use_oob, bool | np.bool_):
        raise ValueError("use_oob of a stack must be True or False for several labels")
    members = [(name, member) for name, member in last.estimators if member != "drop"]
    if not members:
        raise ValueError("all estimators of the stack are dropped; at least one is required")
    return members, bool(last.use_oob)


def fit_members(
    names: list[str],
    estimators: list[Any],
    inputs: list[Any],
    Y: BoolArray,
    folds: NDArray[np.intp],
    *,
    sample_weight: Float64Array | None,
    groups: NDArray[Any] | None,
    use_oob: bool,
    n_jobs: int | None,
) -> FittedMembers:
    """Fit each member on all samples and compute its out-of-fold probabilities.

    Parameters
    ----------
    names : list of str
        Names of the members.
    estimators : list of estimators
        Unfitted single-label or multilabel classifiers.
    inputs : list
        Training samples of each member.
    Y : ndarray of shape (n_samples, n_labels)
        Label indicators.
    folds : ndarray of shape (n_samples,)
        Fold of each sample, for members that are cross-validated.
    sample_weight : ndarray of shape (n_samples,) or None
        Sample weights, which all members must accept.
    groups : ndarray of shape (n_samples,) or None
        Groups of related samples, which leave-one-out and out-of-bag predictions exclude as a
        whole.
    use_oob : bool
        Whether to use out-of-bag and leave-one-out predictions if they are unbiased.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    FittedMembers
    """
    members = [make_multilabel(estimator, Y.shape[1], n_jobs) for estimator in estimators]
    sources = [_choose_source(member, use_oob, has_groups=groups is not None) for member in members]
    data = _TrainingSet(Y.astype(np.int64), sample_weight, groups)
    full_fits = [
        Task(name, _inner(member), partial(_fit, member, X, data))
        for name, member, X in zip(names, members, inputs, strict=True)
    ]
    refits = [
        (i, folds == fold)
        for i, source in enumerate(sources)
        if source == "cv"
        for fold in np.unique(folds)
    ]
    fold_fits = [
        Task(
            names[i],
            _inner(members[i]),
            partial(_predict_fold, members[i], inputs[i], data, test),
        )
        for i, test in refits
    ]
    results = run_tasks([*full_fits, *fold_fits], n_jobs)
    fitted = results[: len(full_fits)]
    oof_proba = np.full((len(members), *Y.shape), np.nan)
    for i, (member, source) in enumerate(zip(fitted, sources, strict=True)):
        if source != "cv" and member.estimator_ is not None:
            oof_proba[i] = member.oof_proba(source, groups)
    for (i, test), proba in zip(refits, results[len(full_fits) :], strict=True):
        oof_proba[i, test] = proba
    # Samples that were in every bootstrap sample have no out-of-bag prediction. If all samples have
    # the same labels, there is none at all.
    prior = np.average(Y, axis=0, weights=sample_weight)
    oof_proba = np.where(np.isnan(oof_proba), prior, oof_proba)
    return FittedMembers(fitted, sources, oof_proba)


def predict_label_proba(estimator: Any, X: Any) -> Float64Array:
    """Return the probabilities of the labels, of shape (n_samples, n_labels)."""
    proba = estimator.predict_proba(X)
    if isinstance(proba, list):
        # As in scikit-learn's forests: one array of shape (n_samples, n_classes) for each label.
        return np.column_stack(
            [
                each[:, -1] if len(classes) == 2 else np.full(len(each), float(classes[0]))
                for each, classes in zip(proba, estimator.classes_, strict=True)
            ]
        )
    return np.asarray(proba, np.float64)


class _TrainingSet(NamedTuple):
    """Label indicators, weights and groups of the training samples."""

    indicators: NDArray[np.int64]
    sample_weight: Float64Array | None
    groups: NDArray[Any] | None

    def select(self, indices: NDArray[np.intp]) -> "_TrainingSet":
        """Select samples by their indices."""
        return _TrainingSet(
            self.indicators[indices],
            None if self.sample_weight is None else self.sample_weight[indices],
            None if self.groups is None else self.groups[indices],
        )


def _choose_source(member: Any, use_oob: bool, *, has_groups: bool) -> str:
    if not isinstance(member, LabelPowerset) or not use_oob:
        return "cv"
    return choose_oof_source(
        member.estimator,
        "unbiased",
        has_groups=has_groups,
        receives_groups=has_fit_parameter(member.estimator, "groups"),
    )


def _inner(member: Any) -> Any:
    """Return the classifier whose `n_jobs` counts."""
    return member.estimator if isinstance(member, LabelPowerset) else member


def _fit(member: Any, X: Any, data: _TrainingSet) -> Any:
    params: dict[str, Any] = {}
    if data.sample_weight is not None:
        params["sample_weight"] = data.sample_weight
    if data.groups is not None and isinstance(member, LabelPowerset):
        params["groups"] = data.groups
    return clone(member).fit(X, data.indicators, **params)


def _predict_fold(member: Any, X: Any, data: _TrainingSet, test: BoolArray) -> Float64Array:
    """Fit a clone on the other folds and predict the samples of one fold."""
    train = np.flatnonzero(~test)
    fitted = _fit(member, take_rows(X, train), data.select(train))
    return predict_label_proba(fitted, take_rows(X, np.flatnonzero(test)))
