"""Run one trial: tune, fit and score one learner on one split of one data set.

Apart from times and memory, the result depends only on the data, the trial and the seed: all
libraries are limited to one thread, so that neither the load nor the number of cores matters.
"""

import re
import warnings
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cordwood._base.resources import PeakMemory, timer
from cordwood.compare.runner.build_pipeline import build_pipeline
from cordwood.compare.runner.cv_splits import Split
from cordwood.compare.runner.fit_cache import FIT_CACHE
from cordwood.compare.runner.procedure import find_procedure
from cordwood.compare.runner.transform_cache import fit_transform
from cordwood.compare.runner.trial_scores import (
    compute_scores,
    fit_classifier,
    make_predictions,
)
from cordwood.compare.runner.trials import Trial
from cordwood.compare.runner.tuning import MakePipeline, is_grouped
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError
from cordwood.metrics.predictions import Predictions

_N_WARM_UP = 200  # samples
_warmed_up: set[tuple[str, type, bool]] = set()

# Categories of warnings that do not affect a result.
_IGNORED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?[/\\](?:[^\s'\"/\\:]+[/\\])+[^\s'\":,;]*")


class TrialResult(NamedTuple):
    """Result of a trial; only an `error` and no predictions if it failed."""

    # The result fields of a record.
    outcome: dict[str, Any]
    # `test_indices`, `class_codes` (indices in `classes`) or, with several labels per sample,
    # `indicators`, `proba` (in single precision) and `classes`.
    predictions: dict[str, NDArray[Any]]


def run_trial(trial: Trial, data: Corpus | FeatureMatrix, split: Split, seed: int) -> TrialResult:
    """Tune, fit, predict and score; an exception of the learner is returned as `error`."""
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
    groups = train.groups if is_grouped(trial) else None
    procedure = find_procedure(trial.procedure)
    make_pipeline = partial(build_pipeline, trial, train, seed)
    _warm_up(trial.recipe or str(trial.estimator), make_pipeline, train)
    memory = PeakMemory()
    with timer() as tuning:
        tuned = procedure.tune(trial, make_pipeline, train, test)
    pipeline = make_pipeline(tuned.params)
    transformed = fit_transform(pipeline, train, test)
    classifier = pipeline[-1]
    if trial.is_stack and not train.multilabel:
        classifier.set_params(memory=FIT_CACHE)
        FIT_CACHE.use_training_set((trial.dataset, split.train.tobytes()))
    with timer() as fitting, FIT_CACHE.track_saved_time() as saved_in_fit:
        fit_classifier(classifier, transformed.X_train, train, groups)
    with timer() as predicting, FIT_CACHE.track_saved_time() as saved_in_predict:
        proba = classifier.predict_proba(transformed.X_test)
    peak_memory = memory.read()
    predictions = procedure.decide(trial, tuned, make_predictions(classifier, proba))
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
        **tuned.extra,
        **{f"{step}_cpu_seconds": round(sum(t.cpu for t in timings[step]), 6) for step in timings},
        **{
            f"{step}_wall_seconds": round(sum(t.wall for t in timings[step]), 6) for step in timings
        },
        "peak_memory": peak_memory,
        "n_train": len(train),
        "n_test": len(test),
        **procedure.describe(
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


def _encode_predictions(predictions: Predictions) -> dict[str, NDArray[Any]]:
    if predictions.indicators is not None:
        return {"indicators": predictions.indicators.astype(np.uint8)}
    codes = {label: code for code, label in enumerate(predictions.classes.tolist())}
    return {"class_codes": np.array([codes[each] for each in predictions.labels.tolist()], "i4")}


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


def _format_message(error: BaseException | Warning | str) -> str:
    """Format an error or warning as one line without absolute paths."""
    kind = [] if isinstance(error, CordwoodError | str) else [type(error).__name__]
    message = str(error).strip().splitlines()[:1]
    return ": ".join([*kind, *(_ABSOLUTE_PATH.sub("<path>", line) for line in message)])
