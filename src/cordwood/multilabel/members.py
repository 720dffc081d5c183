"""Members of a multilabel model: fits, and out-of-fold probabilities of the training samples."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from cordwood._base.voting_classifier import BaseVotingClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.multilabel.indicators import BoolArray
from cordwood.multilabel.problem_transformation import BinaryRelevance, LabelPowerset
from cordwood.oof.engine import Target, TrainingSet, fit_all_with_oof
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.oob_stacking import OOBStackingClassifier

Float64Array = NDArray[np.float64]

# The pool calibrates the margins of an SVM, so that its temperature need not be fitted.
_TEMPERATURE = 0.25


class FittedMembers(NamedTuple):
    """Members fitted on all samples, with their out-of-fold probabilities."""

    estimators: list[Any]
    sources: list[str]
    oof_proba: Float64Array  # of shape (n_members, n_samples, n_labels)


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
    """Return the members of a stack, or the estimator itself, by name, and whether to use OOB."""
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
    if not isinstance(last.use_oob, bool | np.bool_) and last.use_oob != "auto":
        raise ValueError("use_oob of a stack must be True, False or 'auto' for several labels")
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

    `folds` has the fold of each sample, for members that are cross-validated.
    """
    members = [make_multilabel(estimator, Y.shape[1], n_jobs) for estimator in estimators]
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]
    fit_params: list[dict[str, Any]] = []
    for member in members:
        params: dict[str, Any] = {} if sample_weight is None else {"sample_weight": sample_weight}
        if groups is not None and has_fit_parameter(_inner(member), "groups"):
            params["groups"] = groups
        fit_params.append(params)
    fitted = fit_all_with_oof(
        list(zip(names, members, strict=True)),
        inputs,
        fit_params,
        TrainingSet(Y.astype(np.int64), groups, np.arange(Y.shape[1]), splits),
        # Only label sets have out-of-bag predictions that are those of the labels.
        oob_policy=[
            "unbiased" if use_oob and isinstance(member, LabelPowerset) else "never"
            for member in members
        ],
        n_jobs=n_jobs,
        target=SEVERAL_LABELS,
    )
    # Samples that were in every bootstrap sample have no out-of-bag prediction. If all samples have
    # the same labels, there is none at all.
    prior = np.average(Y, axis=0, weights=sample_weight)
    oof_proba = np.stack(fitted.oof_probas)
    oof_proba = np.where(np.isnan(oof_proba), prior, oof_proba)
    return FittedMembers(fitted.estimators, fitted.sources, oof_proba)


def predict_label_proba(estimator: Any, X: Any, labels: Any = None) -> Float64Array:
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


def _own_label_oof(member: LabelPowerset, source: str, groups: Any, labels: Any) -> Float64Array:
    if member.estimator_ is None:
        return np.full((1, len(labels)), np.nan)
    return member.oof_proba(source, groups)


def _inner(member: Any) -> Any:
    return member.estimator if isinstance(member, LabelPowerset) else member


SEVERAL_LABELS = Target(predict_label_proba, _own_label_oof, _inner)
