"""Hyperparameter tuning: find the best parameters of a grid within the training set.

Selects the same parameters as scikit-learn's `GridSearchCV`, but transforms the data once for all
candidates that differ only in the classifier, and uses out-of-bag (OOB) or leave-one-out (LOO)
predictions instead of cross-validation for classifiers that provide them.

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

from cordwood.compare.runner.cv_splits import Split, subsample_train
from cordwood.compare.runner.thresholds import (
    DEFAULT_THRESHOLD,
    category_proba,
    category_scores,
    find_best_threshold,
)
from cordwood.compare.runner.transform_cache import fit_transform
from cordwood.compare.runner.trial_scores import (
    compute_scores,
    fit_classifier,
    make_predictions,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.predictions import MultiLabelPredictions, Predictions
from cordwood.oof.sources import supports_oob

MakePipeline = Callable[[Mapping[str, Any]], Pipeline]
"""Makes an unfitted pipeline with the given parameters."""

Grid = Mapping[str, Sequence[Any]]
"""Candidate values by full parameter name, such as ``classifier__C``."""

TuningKind = Literal["cv", "oob", "loo", "test"]
"""What candidates are scored on: folds, OOB or LOO predictions, or the test samples."""


class TunedParams(NamedTuple):
    """The best candidate of a grid.

    Parameters
    ----------
    params : dict
        Its parameters.
    score : float or None
        Its tuning score; None if nothing was tuned.
    kind : {"cv", "oob", "loo", "test"} or None
        What it was scored on; None if nothing was tuned.
    threshold : float or None, default=None
        Its decision threshold, if that was tuned as well.
    """

    params: dict[str, Any]
    score: float | None
    kind: TuningKind | None
    threshold: float | None = None


class Objective(NamedTuple):
    """The score that tuning maximizes.

    Parameters
    ----------
    metric : str
        Name of the score, see `cordwood.compare.runner.trial_scores.compute_scores`.
    category : str or None, default=None
        The positive class of "f1".
    threshold : bool, default=False
        Whether the decision threshold of each candidate is tuned as well.
    """

    metric: str
    category: str | None = None
    threshold: bool = False


def tune_by_cv(
    make_pipeline: MakePipeline,
    grid: Grid,
    data: Corpus | FeatureMatrix,
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    objective: Objective,
    *,
    grouped: bool = False,
) -> TunedParams:
    """Find the parameters with the best cross-validation score.

    Parameters
    ----------
    make_pipeline : callable
        Makes an unfitted pipeline with the given parameters.
    grid : mapping of str to sequence
        Candidate values by full parameter name.
    data : Corpus or FeatureMatrix
        The training set.
    splits : sequence of (ndarray, ndarray)
        Training and validation indices of each fold.
    objective : Objective
        The score to maximize.
    grouped : bool, default=False
        Whether classifiers that accept groups are fitted with those of the samples.

    Returns
    -------
    TunedParams
        The first of equally good candidates, in the order of scikit-learn's `ParameterGrid`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    scores = np.empty((len(candidates), len(splits)))
    pooled = np.empty((len(candidates), len(data)))  # category probabilities, for metric "f1"
    for fold, (train, test) in enumerate(splits):
        train_data, test_data = data.select(train), data.select(test)
        for i, found in _fit_predict(
            make_pipeline, candidates, train_data, test_data, grouped=grouped
        ):
            if objective.metric == "f1":
                pooled[i, test] = category_proba(
                    found.probabilities, found.classes, objective.category
                )
            else:
                scores[i, fold] = compute_scores(test_data, found)[objective.metric]
    if objective.metric != "f1":
        return _select_best(candidates, scores.mean(axis=1), "cv")
    # All samples, except in splits by time, which never test the first samples.
    tested = np.unique(np.concatenate([test for _, test in splits]))
    is_category = np.asarray(data.labels)[tested] == objective.category
    weights = _get_weights(data)[tested]
    return _tune_by_pooled_f1(candidates, is_category, pooled[:, tested], weights, objective)


def _tune_by_pooled_f1(
    candidates: Sequence[dict[str, Any]],
    y_true: NDArray[np.bool_],
    pooled: NDArray[np.float64],
    weights: NDArray[np.float64],
    objective: Objective,
) -> TunedParams:
    thresholds = [
        find_best_threshold(y_true, proba, weights) if objective.threshold else DEFAULT_THRESHOLD
        for proba in pooled
    ]
    scores = [
        category_scores(y_true, proba > threshold, weights).f1
        for proba, threshold in zip(pooled, thresholds, strict=True)
    ]
    best = _select_best(candidates, np.array(scores), "cv")
    if not objective.threshold:
        return best
    return best._replace(threshold=thresholds[int(np.argmax(scores))])


def tune_on_test(
    make_pipeline: MakePipeline,
    grid: Grid,
    train: Corpus | FeatureMatrix,
    test: Corpus | FeatureMatrix,
    objective: Objective,
) -> TunedParams:
    """Find the parameters with the best score on the test samples.

    The score is optimistically biased: an upper bound of what tuning could reach, not a result.

    Parameters
    ----------
    make_pipeline : callable
        Makes an unfitted pipeline with the given parameters.
    grid : mapping of str to sequence
        Candidate values by full parameter name.
    train, test : Corpus or FeatureMatrix
        Training and test samples.
    objective : Objective
        The score to maximize; its `threshold` is not used.

    Returns
    -------
    TunedParams
        The first of equally good candidates, in the order of scikit-learn's `ParameterGrid`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    scores = np.empty(len(candidates))
    for i, found in _fit_predict(make_pipeline, candidates, train, test, grouped=False):
        scores[i] = compute_scores(test, found, objective.category)[objective.metric]
    return _select_best(candidates, scores, "test")


def resolve_tuning_kind(
    kind: Literal["cv", "oob", "loo", "auto"],
    make_pipeline: MakePipeline,
    grid: Grid,
    *,
    grouped: bool = False,
) -> Literal["cv", "oob", "loo"]:
    """Choose what the candidates of a learner are scored on.

    Parameters
    ----------
    kind : {"cv", "oob", "loo", "auto"}
        Tuning kind of the plan.
    make_pipeline : callable
        Makes an unfitted pipeline with the given parameters.
    grid : mapping of str to sequence
        Candidate values by full parameter name.
    grouped : bool, default=False
        Whether the samples have groups. OOB predictions then come from trees trained on other
        samples of the same group, so "auto" does not use them; LOO predictions exclude the whole
        group.

    Returns
    -------
    {"cv", "oob", "loo"}
        "oob" or "loo" if every candidate provides such predictions, because scores of different
        kinds are not comparable; otherwise "cv".

    Examples
    --------
    >>> from cordwood import recipes
    >>> forest = lambda params: recipes.make("rf", **params)
    >>> resolve_tuning_kind("auto", forest, {"classifier__max_depth": [3, None]})
    'oob'
    >>> resolve_tuning_kind("auto", forest, {"classifier__bootstrap": [True, False]})
    'cv'
    """
    if kind == "cv":
        return "cv"
    classifiers = [make_pipeline(candidate)[-1] for candidate in ParameterGrid(dict(grid))]
    use_oob = kind == "oob" or (kind == "auto" and not grouped)
    if use_oob and all(map(supports_oob, classifiers)):
        return "oob"
    if kind in ("loo", "auto") and all(map(_supports_loo, classifiers)):
        return "loo"
    return "cv"


def sample_for_loo(
    data: Corpus | FeatureMatrix, max_samples: int | None, seed: int
) -> NDArray[np.intp] | None:
    """Draw a stratified sample whose LOO predictions are used for tuning.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        The training set.
    max_samples : int or None
        Size of the sample; None for all samples.
    seed : int
        Seed of the plan.

    Returns
    -------
    ndarray or None
        Indices in ascending order; larger samples contain the smaller ones. None for all samples.

    Examples
    --------
    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaaabb"))
    >>> [corpus.labels[index] for index in sample_for_loo(corpus, 3, seed=0)]
    ['a', 'a', 'b']
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
    """Find the parameters with the best score of OOB or LOO predictions.

    Parameters
    ----------
    kind : {"oob", "loo"}
        Whether to use `oob_decision_function_` or `loo_decision_function`. Samples without a
        prediction, such as those in every bootstrap sample, are ignored.
    make_pipeline : callable
        Makes an unfitted pipeline with the given parameters.
    grid : mapping of str to sequence
        Candidate values by full parameter name.
    data : Corpus or FeatureMatrix
        The training set.
    objective : Objective
        The score to maximize; its `threshold` is not used.
    indices : ndarray, optional
        Samples that are scored; all by default. Classifiers are always fitted on all samples.
    grouped : bool, default=False
        Whether LOO predictions exclude all samples of the same group.

    Returns
    -------
    TunedParams
        The first of equally good candidates, in the order of scikit-learn's `ParameterGrid`.
    """
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
    return _select_best(candidates, scores, kind)


def _supports_loo(classifier: Any) -> bool:
    return hasattr(classifier, "loo_decision_function")


def _get_weights(data: Corpus | FeatureMatrix) -> NDArray[np.float64]:
    return np.ones(len(data)) if data.weights is None else np.asarray(data.weights, float)


def _fit_predict(
    make_pipeline: MakePipeline,
    candidates: Sequence[Mapping[str, Any]],
    train: Corpus | FeatureMatrix,
    test: Corpus | FeatureMatrix,
    *,
    grouped: bool,
) -> Iterator[tuple[int, Predictions | MultiLabelPredictions]]:
    """Yield the index of each candidate and its predictions of the test samples.

    Training samples of one class, such as those of the fold that has the only sample of a category,
    are not fitted, because many classifiers require two: this class has probability one.
    """
    classes = np.array([]) if train.multilabel else np.unique(np.asarray(train.labels))
    if len(classes) == 1:
        constant = Predictions(
            labels=np.repeat(classes, len(test)),
            probabilities=np.ones((len(test), 1)),
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


def _select_best(
    candidates: Sequence[dict[str, Any]], scores: NDArray[np.float64], kind: TuningKind
) -> TunedParams:
    best = int(np.argmax(scores))
    return TunedParams(candidates[best], float(scores[best]), kind)
