"""Run one trial: tune, fit and score one learner on one split of one data set.

Apart from times and memory, the result depends only on the data, the trial and the seed: all
libraries are limited to one thread, so that neither the load nor the number of cores matters.
"""

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood._base.empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood._base.resources import PeakMemory, timer
from cordwood._training_options import wrap_multilabel
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import Split, split
from cordwood.compare.runner.fit_cache import FIT_CACHE
from cordwood.compare.runner.thresholds import category_proba
from cordwood.compare.runner.transform_cache import fit_transform
from cordwood.compare.runner.trial_scores import (
    compute_scores,
    fit_classifier,
    make_predictions,
)
from cordwood.compare.runner.trials import Trial, build_pipeline
from cordwood.compare.runner.tuning import (
    MakePipeline,
    Objective,
    TunedParams,
    resolve_tuning_kind,
    sample_for_loo,
    tune_by_cv,
    tune_by_oob_or_loo,
    tune_on_test,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError
from cordwood.metrics.predictions import MultiLabelPredictions, Predictions

_N_WARM_UP = 200  # samples
_warmed_up: set[tuple[str, type, bool]] = set()

# Categories of warnings that do not affect a result.
_IGNORED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?[/\\](?:[^\s'\"/\\:]+[/\\])+[^\s'\":,;]*")


class TrialResult(NamedTuple):
    """Result of a trial.

    Parameters
    ----------
    outcome : dict
        The result fields of a record, see `cordwood.compare.runner.run`; only `error` if the trial
        failed.
    predictions : dict of str to ndarray
        `test_indices` (of the test samples), `class_codes` (indices of the predicted classes in
        `classes`) or, with several labels per sample, `indicators`, `proba` (probabilities in
        single precision) and `classes`; empty if the trial failed.
    """

    outcome: dict[str, Any]
    predictions: dict[str, NDArray[Any]]


def run_trial(trial: Trial, data: Corpus | FeatureMatrix, split: Split, seed: int) -> TrialResult:
    """Tune, fit, predict and score, and measure time and memory.

    Parameters
    ----------
    trial : Trial
        The trial.
    data : Corpus or FeatureMatrix
        The whole data set.
    split : Split
        Training and test samples.
    seed : int
        `random_state` of all estimators.

    Returns
    -------
    TrialResult
        An exception of the learner is not raised but returned as `error`.
    """
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("default")
        for category in _IGNORED:
            warnings.simplefilter("ignore", category)
        try:
            outcome, predictions = _run(trial, data, split, seed)
        except Exception as error:  # any failure of a learner is a result of the comparison
            return TrialResult({"error": _format_message(error)}, {})
    messages = sorted({_format_message(warning.message) for warning in caught})
    return TrialResult({**outcome, "warnings": messages}, predictions)


def _run(trial: Trial, data: Corpus | FeatureMatrix, split: Split, seed: int) -> TrialResult:
    train, test = data.select(split.train), data.select(split.test)
    groups = train.groups if trial.evaluation["kind"] == "grouped" else None
    make_pipeline = _pipeline_factory(trial, data, seed)
    _warm_up(trial.recipe or str(trial.estimator), make_pipeline, train)
    memory = PeakMemory()
    with timer() as tuning:
        tuned = _tune(trial, make_pipeline, train, test)
    pipeline = make_pipeline(tuned.params)
    transformed = fit_transform(pipeline, train, test)
    classifier = pipeline[-1]
    if trial.is_stack and not train.multilabel:
        classifier.set_params(memory=FIT_CACHE)
        FIT_CACHE.use_training_set(
            (trial.dataset, trial.repeat, trial.fold, trial.train_fraction, trial.max_positives)
        )
    with timer() as fitting, FIT_CACHE.track_saved_time() as saved_in_fit:
        fit_classifier(classifier, transformed.X_train, train, groups)
    with timer() as predicting, FIT_CACHE.track_saved_time() as saved_in_predict:
        proba = classifier.predict_proba(transformed.X_test)
    peak_memory = memory.read()
    predictions = make_predictions(classifier, proba)
    if tuned.threshold is not None:
        predictions = _apply_threshold(predictions, trial.category, tuned.threshold)
    timings = {
        "tune": (tuning,),
        "fit": (transformed.fit_timing, fitting, saved_in_fit),
        "predict": (transformed.transform_timing, predicting, saved_in_predict),
    }
    outcome = {
        "scores": compute_scores(test, predictions, trial.category),
        "params": tuned.params,
        "tuning_score": tuned.score,
        "tuned_by": tuned.kind,
        **({} if tuned.threshold is None else {"threshold": tuned.threshold}),
        **{f"{step}_cpu_seconds": round(sum(t.cpu for t in timings[step]), 6) for step in timings},
        **{
            f"{step}_wall_seconds": round(sum(t.wall for t in timings[step]), 6) for step in timings
        },
        "peak_memory": peak_memory,
        "n_train": len(train),
        "n_test": len(test),
        **_count_rule_words(classifier),
        **_score_rounds(
            trial, classifier, train=(transformed.X_train, train), test=(transformed.X_test, test)
        ),
    }
    arrays: dict[str, NDArray[Any]] = {
        "test_indices": split.test,
        **_encode_predictions(predictions),
        "proba": proba.astype(np.float32),
        "classes": predictions.classes,
    }
    return TrialResult(outcome, arrays)


def _apply_threshold(
    predictions: Predictions | MultiLabelPredictions, category: str | None, threshold: float
) -> Predictions:
    """Predict the category above a threshold of its probability, and the other class below."""
    proba, classes = predictions.probabilities, predictions.classes
    is_category = classes == category
    above = category_proba(proba, classes, category) > threshold
    labels = classes[np.where(above, np.argmax(is_category), np.argmin(is_category))]
    return Predictions(labels=labels, probabilities=proba, classes=classes)


def _encode_predictions(
    predictions: Predictions | MultiLabelPredictions,
) -> dict[str, NDArray[Any]]:
    if isinstance(predictions, MultiLabelPredictions):
        return {"indicators": predictions.indicators.astype(np.uint8)}
    codes = {label: code for code, label in enumerate(predictions.classes.tolist())}
    return {"class_codes": np.array([codes[each] for each in predictions.labels.tolist()], "i4")}


def _count_rule_words(classifier: Any) -> dict[str, int]:
    """Count the distinct words of the rules of a rule-based classifier."""
    if not hasattr(classifier, "rules_"):
        return {}
    return {"n_words": len({rule.feature for rules in classifier.rules_ for rule in rules})}


def _score_rounds(
    trial: Trial, classifier: Any, **samples: tuple[Any, Corpus | FeatureMatrix]
) -> dict[str, Any]:
    """Score training and test samples after the requested and the last boosting rounds."""
    requested = trial.evaluation.get("rounds", ())
    if not requested or not hasattr(classifier, "staged_predict"):
        return {}
    classes = np.asarray(classifier.classes_)
    rounds: dict[str, Any] = {}

    def score_stage(data: Corpus | FeatureMatrix, labels: NDArray[Any]) -> dict[str, float]:
        found = Predictions(labels=labels, probabilities=np.empty(0), classes=classes)
        return compute_scores(data, found, trial.category)

    for name, (X, data) in samples.items():
        stages: dict[int, dict[str, float]] = {}
        y_pred, n = classes, 0
        for n, y_pred in enumerate(islice(classifier.staged_predict(X), requested[-1]), start=1):
            if n in requested:
                stages[n] = score_stage(data, y_pred)
        if n not in stages:
            stages[n] = score_stage(data, y_pred)
        rounds["n"] = list(stages)
        rounds[name] = {
            metric: [scores[metric] for scores in stages.values()] for metric in stages[n]
        }
    return {"rounds": rounds}


def _pipeline_factory(trial: Trial, data: Corpus | FeatureMatrix, seed: int) -> MakePipeline:
    input_type: recipes.InputType = "text" if isinstance(data, Corpus) else "numeric"
    # As in `cordwood.api.train`: dense features are scaled, sparse ones are not.
    scale = isinstance(data, FeatureMatrix) and not sp.issparse(data.X)
    remove = isinstance(data, FeatureMatrix) and is_mostly_empty(data.X)

    def make_pipeline(params: Mapping[str, Any]) -> Pipeline:
        pipeline = build_pipeline(trial, params, input=input_type, scale=scale, random_state=seed)
        if data.multilabel:
            name, classifier = pipeline.steps[-1]
            pipeline.steps[-1] = (name, wrap_multilabel(classifier, random_state=seed))
        if remove:
            pipeline.steps.insert(0, ("remover", EmptyFeatureRemover()))
        return pipeline

    return make_pipeline


def _warm_up(learner: str, make_pipeline: MakePipeline, train: Corpus | FeatureMatrix) -> None:
    """Fit and predict a few samples, once per process, to exclude compilation from the timings."""
    key = learner, type(train), train.multilabel
    if key in _warmed_up:
        return
    _warmed_up.add(key)
    few = train.select(np.linspace(0, len(train) - 1, min(len(train), _N_WARM_UP), dtype=int))
    with suppress(Exception):  # the trial itself reports errors
        pipeline = make_pipeline({})
        X = fit_transform(pipeline, few).X_train
        fit_classifier(pipeline[-1], X, few, None).predict_proba(X)


def _tune(
    trial: Trial,
    make_pipeline: MakePipeline,
    train: Corpus | FeatureMatrix,
    test: Corpus | FeatureMatrix,
) -> TunedParams:
    if not trial.tuning:
        return TunedParams({}, None, None)
    objective = Objective(
        trial.tuning["metric"], trial.category, trial.tuning.get("threshold", False)
    )
    if trial.tuning["kind"] == "test":
        return tune_on_test(make_pipeline, trial.grid, train, test, objective)
    grouped = trial.evaluation["kind"] == "grouped"
    by_time = trial.evaluation["kind"] == "time"
    kind: Literal["cv", "oob", "loo"] = "cv"
    # Out-of-bag and leave-one-out predictions are made by models of later samples.
    if not by_time:
        kind = resolve_tuning_kind(trial.tuning["kind"], make_pipeline, trial.grid, grouped=grouped)
    if kind != "cv":
        max_samples = trial.tuning.get("sample") if kind == "loo" else None
        indices = sample_for_loo(train, max_samples, trial.seed)
        return tune_by_oob_or_loo(
            kind, make_pipeline, trial.grid, train, objective, indices, grouped=grouped
        )
    inner = EvaluationConfig(
        kind="time" if by_time else "grouped" if grouped else "stratified",
        folds=trial.tuning["folds"],
    )
    splits = split(train, inner, trial.seed)
    return tune_by_cv(make_pipeline, trial.grid, train, splits, objective, grouped=grouped)


def _format_message(error: BaseException | Warning | str) -> str:
    """Format an error or warning as one line without absolute paths."""
    kind = [] if isinstance(error, CordwoodError | str) else [type(error).__name__]
    message = str(error).strip().splitlines()[:1]
    return ": ".join([*kind, *(_ABSOLUTE_PATH.sub("<path>", line) for line in message)])
