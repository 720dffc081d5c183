"""Hyperparameter tuning: find the best parameters of a grid within the training set.

Selects the same parameters as scikit-learn's `GridSearchCV`, the first of equally good ones in the
order of `ParameterGrid`, but transforms the data once for all candidates that differ only in the
classifier, and uses out-of-bag (OOB) or leave-one-out (LOO) predictions instead of cross-validation
for classifiers that provide them.

The F1 of one category is computed from the pooled predictions of all folds. The mean of the folds'
F1 would be biased for rare categories, which are absent from some folds [1]_.

References
----------
.. [1] Forman, Scholz (2010). Apples-to-apples in cross-validation studies: pitfalls in classifier
   performance measurement. SIGKDD Explorations 12.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import Split, split, subsample_train
from cordwood.compare.runner.transform_cache import fit_transform
from cordwood.compare.runner.trial_scores import (
    category_proba,
    category_scores,
    compute_scores,
    fit_classifier,
    make_predictions,
)
from cordwood.compare.runner.trials import Trial
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.predictions import Predictions
from cordwood.oof.sources import supports_oob

MakePipeline = Callable[[Mapping[str, Any]], Pipeline]
"""Makes an unfitted pipeline with the given parameters."""

Grid = Mapping[str, Sequence[Any]]
"""Candidate values by full parameter name, such as ``classifier__C``."""


class TunedParams(NamedTuple):
    """The best candidate of a grid."""

    params: dict[str, Any]
    score: float | None  # None if nothing was tuned
    kind: str | None  # what it was scored on: "cv", "oob" or "loo"; None if nothing was tuned
    extra: Mapping[str, Any] = {}  # further fields of the record, see `Procedure.tune`


class Objective(NamedTuple):
    """The score that tuning maximizes; the metric "f1" is that of a category."""

    metric: str
    category: str | None = None


class PooledFolds(NamedTuple):
    """Cross-validated probabilities of a category, pooled over the folds."""

    is_category: NDArray[np.bool_]  # (n_samples,)
    proba: NDArray[np.float64]  # (n_candidates, n_samples)
    weights: NDArray[np.float64]  # (n_samples,)


def tune(trial: Trial, make_pipeline: MakePipeline, train: Corpus | FeatureMatrix) -> TunedParams:
    """Choose the parameters of a trial from its grid, on the training set."""
    if not trial.tuning:
        return TunedParams({}, None, None)
    objective = Objective(trial.tuning["metric"], trial.category)
    grouped = is_grouped(trial)
    kind: Literal["cv", "oob", "loo"] = "cv"
    # Out-of-bag and leave-one-out predictions are made by models of later samples.
    if trial.evaluation["kind"] != "time":
        kind = resolve_tuning_kind(trial.tuning["kind"], make_pipeline, trial.grid, grouped=grouped)
    if kind != "cv":
        max_samples = trial.tuning.get("sample") if kind == "loo" else None
        indices = sample_for_loo(train, max_samples, trial.seed)
        return tune_by_oob_or_loo(
            kind, make_pipeline, trial.grid, train, objective, indices, grouped=grouped
        )
    splits = make_inner_splits(trial, train)
    return tune_by_cv(make_pipeline, trial.grid, train, splits, objective, grouped=grouped)


def is_grouped(trial: Trial) -> bool:
    """Return whether the samples of a group must not be divided."""
    return bool(trial.evaluation["kind"] == "grouped")


def make_inner_splits(trial: Trial, train: Corpus | FeatureMatrix) -> list[Split]:
    """Split a training set for tuning, in the way that the data set was split."""
    kind = trial.evaluation["kind"] if trial.evaluation["kind"] in ("time", "grouped") else None
    inner = EvaluationConfig(kind=kind or "stratified", folds=trial.tuning["folds"])
    return split(train, inner, trial.seed)


def tune_by_cv(
    make_pipeline: MakePipeline,
    grid: Grid,
    data: Corpus | FeatureMatrix,
    splits: Sequence[Split],
    objective: Objective,
    *,
    grouped: bool = False,
) -> TunedParams:
    """Find the parameters with the best cross-validation score."""
    candidates = list(ParameterGrid(dict(grid)))
    if objective.metric == "f1":
        pooled = pool_folds(
            make_pipeline, candidates, data, splits, objective.category, grouped=grouped
        )
        f1 = [
            category_scores(pooled.is_category, proba > 0.5, pooled.weights).f1
            for proba in pooled.proba
        ]
        return select_best(candidates, f1, "cv")
    scores = np.empty((len(candidates), len(splits)))
    for fold, (train, test) in enumerate(splits):
        test_data = data.select(test)
        for i, found in fit_predict(
            make_pipeline, candidates, data.select(train), test_data, grouped=grouped
        ):
            scores[i, fold] = compute_scores(test_data, found)[objective.metric]
    return select_best(candidates, scores.mean(axis=1), "cv")


def pool_folds(
    make_pipeline: MakePipeline,
    candidates: Sequence[Mapping[str, Any]],
    data: Corpus | FeatureMatrix,
    splits: Sequence[Split],
    category: str | None,
    *,
    grouped: bool = False,
) -> PooledFolds:
    """Predict the probabilities of a category by cross-validation, for each candidate."""
    proba = np.empty((len(candidates), len(data)))
    for train, test in splits:
        for i, found in fit_predict(
            make_pipeline, candidates, data.select(train), data.select(test), grouped=grouped
        ):
            proba[i, test] = category_proba(found, category)
    # All samples, except in splits by time, which never test the first samples.
    tested = np.unique(np.concatenate([test for _, test in splits]))
    weights = np.ones(len(data)) if data.weights is None else np.asarray(data.weights, float)
    is_category = np.asarray(data.labels)[tested] == category
    return PooledFolds(is_category, proba[:, tested], weights[tested])


def resolve_tuning_kind(
    kind: Literal["cv", "oob", "loo", "auto"],
    make_pipeline: MakePipeline,
    grid: Grid,
    *,
    grouped: bool = False,
) -> Literal["cv", "oob", "loo"]:
    """Choose what the candidates of a learner are scored on.

    >>> from cordwood import recipes
    >>> forest = lambda params: recipes.make("rf", **params)
    >>> resolve_tuning_kind("auto", forest, {"classifier__max_depth": [3, None]})
    'oob'
    >>> resolve_tuning_kind("auto", forest, {"classifier__bootstrap": [True, False]})
    'cv'
    """
    if kind == "cv":
        return "cv"
    # Every candidate must have such predictions: scores of different kinds are not comparable.
    classifiers = [make_pipeline(candidate)[-1] for candidate in ParameterGrid(dict(grid))]
    # OOB predictions come from trees trained on other samples of the same group; LOO predictions
    # exclude the whole group.
    use_oob = kind == "oob" or (kind == "auto" and not grouped)
    if use_oob and all(map(supports_oob, classifiers)):
        return "oob"
    if kind in ("loo", "auto") and all(map(_supports_loo, classifiers)):
        return "loo"
    return "cv"


def sample_for_loo(
    data: Corpus | FeatureMatrix, max_samples: int | None, seed: int
) -> NDArray[np.intp] | None:
    """Draw a stratified sample whose LOO predictions are used for tuning; None for all samples.

    Indices are in ascending order; larger samples contain the smaller ones.
    """
    if max_samples is None or max_samples >= len(data):
        return None
    all_samples = Split(np.arange(len(data)), np.arange(0))
    return subsample_train(data, all_samples, max_samples / len(data), seed).train


def tune_by_oob_or_loo(
    kind: Literal["oob", "loo"],
    make_pipeline: MakePipeline,
    grid: Grid,
    data: Corpus | FeatureMatrix,
    objective: Objective,
    indices: NDArray[np.intp] | None = None,
    *,
    grouped: bool = False,
) -> TunedParams:
    """Find the parameters with the best score of OOB or LOO predictions of some or all samples."""
    candidates = list(ParameterGrid(dict(grid)))
    indices = np.arange(len(data)) if indices is None else indices
    groups = data.groups if grouped else None
    scores = np.zeros(len(candidates))
    for same_transform in _group_by_transform(candidates):
        X = fit_transform(make_pipeline(candidates[same_transform[0]]), data).X_train
        for i in same_transform:
            classifier = make_pipeline(candidates[i])[-1]
            if kind == "oob":
                fit_classifier(classifier.set_params(oob_score=True), X, data, groups)
                proba = np.asarray(classifier.oob_decision_function_)[indices]
            else:
                # Fitting a lazy classifier is cheap: it only stores the samples.
                fit_classifier(classifier, X, data, groups)
                proba = np.asarray(classifier.loo_decision_function(groups, indices))
            # Samples without a prediction: NaN in cordwood, zeros in scikit-learn.
            has_prediction = proba.sum(axis=1) > 0
            if has_prediction.any():
                found = make_predictions(classifier, proba[has_prediction])
                known = data.select(indices[has_prediction])
                scores[i] = compute_scores(known, found, objective.category)[objective.metric]
    return select_best(candidates, scores, kind)


def _supports_loo(classifier: Any) -> bool:
    return hasattr(classifier, "loo_decision_function")


def fit_predict(
    make_pipeline: MakePipeline,
    candidates: Sequence[Mapping[str, Any]],
    train: Corpus | FeatureMatrix,
    test: Corpus | FeatureMatrix,
    *,
    grouped: bool,
) -> Iterator[tuple[int, Predictions]]:
    """Yield the index of each candidate and its predictions of the test samples."""
    # Many classifiers require two classes. Training samples of one class, such as those of the fold
    # that has the only sample of a category, are not fitted: this class has probability one.
    classes = np.array([]) if train.multilabel else np.unique(np.asarray(train.labels))
    if len(classes) == 1:
        constant = Predictions(
            labels=np.repeat(classes, len(test)),
            proba=np.ones((len(test), 1)),
            classes=classes,
        )
        yield from ((i, constant) for i in range(len(candidates)))
        return
    groups = train.groups if grouped else None
    for same_transform in _group_by_transform(candidates):
        data = fit_transform(make_pipeline(candidates[same_transform[0]]), train, test)
        for i in same_transform:
            classifier = make_pipeline(candidates[i])[-1]
            fit_classifier(classifier, data.X_train, train, groups)
            yield i, make_predictions(classifier, classifier.predict_proba(data.X_test))


def _group_by_transform(candidates: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Group the indices of candidates that differ only in parameters of the classifier."""
    groups: dict[str, list[int]] = {}
    for i, candidate in enumerate(candidates):
        params = {
            name: value for name, value in candidate.items() if not name.startswith("classifier__")
        }
        groups.setdefault(json.dumps(params, sort_keys=True), []).append(i)
    yield from groups.values()


def select_best(
    candidates: Sequence[dict[str, Any]], scores: Sequence[float] | NDArray[np.float64], kind: str
) -> TunedParams:
    """Return the first candidate with the highest score."""
    best = int(np.argmax(scores))
    return TunedParams(candidates[best], float(scores[best]), kind)
