"""Fits of one or several classifiers, with out-of-fold predictions of their training samples.

Classifiers that follow the protocol of `cordwood._base.voting_classifier` provide them without
additional fits; all others are fitted again in each fold of a cross-validation. Stacks, several
labels per sample, and classifiers of their own all use this.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cordwood._base.progress import count_parts
from cordwood._base.sklearn_private import FitTask, take_rows
from cordwood.oof.folds import Fold
from cordwood.oof.proba import align_columns, predict_proba
from cordwood.oof.sources import choose_oof_source, oob_or_loo_proba, supports_oob
from cordwood.oof.tasks import Task, run_tasks
from cordwood.text.embedding import EmbeddingVectorizer


class TrainingSet(NamedTuple):
    """Target, groups and folds shared by all estimators."""

    y: NDArray[Any]  # labels, or indicators of shape (n_samples, n_labels)
    groups: Any
    classes: NDArray[Any]
    folds: list[Fold]


class Target(NamedTuple):
    """How probabilities are predicted: of one label per sample, or of several."""

    predict: Callable[[Any, Any, NDArray[Any]], NDArray[np.float64]]
    own_oof: Callable[[Any, str, Any, NDArray[Any]], NDArray[np.float64]]
    # The classifier inside an estimator whose own predictions and whose threads count.
    inner: Callable[[Any], Any]


ONE_LABEL = Target(predict_proba, oob_or_loo_proba, lambda estimator: estimator)


class FittedEstimators(NamedTuple):
    """Estimators fitted on all samples, with their out-of-fold probabilities."""

    estimators: list[Any]
    sources: list[str]  # "loo", "oob" or "cv"
    oof_probas: list[NDArray[np.float64]]  # NaN for samples without one
    fit_times: list[float]  # seconds, with the out-of-fold predictions


def fit_all_with_oof(
    named_estimators: Sequence[tuple[str, Any]],
    inputs: Sequence[Any],
    fit_params: Sequence[Mapping[str, Any]],
    data: TrainingSet,
    *,
    oob_policy: Sequence[str],
    n_jobs: int | None,
    target: Target = ONE_LABEL,
    cache: Callable[..., Any] = lambda function: function,
    task: FitTask | None = None,
) -> FittedEstimators:
    """Fit a clone of each estimator on all samples and compute its out-of-fold probabilities.

    The fits are reported to the callbacks of `task`.
    """
    y, groups, classes, folds = data
    names, estimators = zip(*named_estimators, strict=True)
    fit, own_oof, predict = map(cache, (fit_estimator, target.own_oof, predict_fold))
    sources = [
        choose_oof_source(
            target.inner(estimator),
            policy,
            has_groups=groups is not None,
            receives_groups="groups" in params,
        )
        for estimator, policy, params in zip(estimators, oob_policy, fit_params, strict=True)
    ]
    refits = [
        (i, number, fold)
        for i, source in enumerate(sources)
        if source == "cv"
        for number, fold in enumerate(folds)
    ]
    full_fits = [
        Task(
            f"fit-{name}",
            target.inner(estimator),
            partial(_time, partial(fit, estimator, X, y, params)),
            # Nearest neighbors are the training set itself.
            is_remote=_is_remote(estimator)
            and not hasattr(target.inner(estimator), "loo_decision_function"),
        )
        for name, estimator, X, params in zip(names, estimators, inputs, fit_params, strict=True)
    ]
    fold_fits = [
        Task(
            f"fit-{names[i]}-fold-{number}",
            target.inner(estimators[i]),
            partial(
                _time,
                partial(predict, estimators[i], inputs[i], y, fit_params[i], fold, classes),
                target.predict,
            ),
            is_remote=_is_remote(estimators[i]),
        )
        for i, number, fold in refits
    ]
    # Full fits and fold fits are submitted together, to keep all threads busy.
    tasks = [*full_fits, *fold_fits]
    with count_parts("fitting models", len(tasks)) as on_done:
        results = run_tasks(tasks, n_jobs, task, "fit-base-estimators", on_done)
    fitted, fit_times = map(list, zip(*results[: len(full_fits)], strict=True))
    shape = (len(y), len(classes))
    oof_probas = [np.full(shape, np.nan) for _ in fitted]
    for i, (estimator, source) in enumerate(zip(fitted, sources, strict=True)):
        if source != "cv":
            run = partial(own_oof, estimator, source, groups, classes)
            oof_probas[i][:], seconds = _time(run)
            fit_times[i] += seconds
    for (i, _, (_, test)), result in zip(refits, results[len(full_fits) :], strict=True):
        oof_probas[i][test], seconds = result
        fit_times[i] += seconds
    return FittedEstimators(fitted, sources, oof_probas, fit_times)


def _is_remote(estimator: Any) -> bool:
    """Return whether workers of a cluster may fit it: encoders, and their caches, are here."""
    params = estimator.get_params().values()
    return not any(isinstance(value, EmbeddingVectorizer) for value in params)


def _time(run: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    return run(*args), time.perf_counter() - start


def fit_estimator(estimator: Any, X: Any, y: Any, fit_params: Mapping[str, Any]) -> Any:
    """Fit a clone of the estimator, with out-of-bag predictions if it supports them."""
    fitted = clone(estimator)
    if supports_oob(fitted) and not fitted.get_params(deep=False)["oob_score"]:
        fitted.set_params(oob_score=True)
    return fitted.fit(X, y, **fit_params)


def predict_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fit_params: Mapping[str, Any],
    fold: Fold,
    classes: NDArray[Any],
    predict: Callable[[Any, Any, NDArray[Any]], NDArray[np.float64]] = predict_proba,
) -> NDArray[np.float64]:
    """Fit a clone on the training part of a fold and predict its test part."""
    train, test = fold
    if y.ndim == 1 and len(np.unique(y[train])) == 1:  # Many classifiers reject a single class.
        return align_columns(np.ones((len(test), 1)), y[train[:1]], classes)
    fitted = fit_estimator(
        estimator, take_rows(X, train), y[train], index_params(fit_params, train, len(y))
    )
    return predict(fitted, take_rows(X, test), classes)


def index_params(
    fit_params: Mapping[str, Any], indices: NDArray[np.intp], n_samples: int
) -> dict[str, Any]:
    """Select the given samples from the parameters of `fit` that have one value per sample."""
    return {
        name: take_rows(value, indices)
        if hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n_samples
        else value
        for name, value in fit_params.items()
    }
