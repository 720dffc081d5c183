"""Out-of-fold predictions of the base estimators: the training set of the final estimator.

Estimators that follow the protocol of `cordwood._base.voting_classifier` provide them without
additional fits; all others are fitted again in each fold of a cross-validation.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from cordwood._base.sklearn_private import FitTask, take_rows
from cordwood.oof.tasks import Task, report_tasks, run_tasks

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

# Largest number of samples that are divided into so many folds.
_TEN_FOLDS = 5_000
_TEN_FOLDS_OF_STACKS, _FIVE_FOLDS_OF_STACKS = 1_000, 20_000


class TrainingSet(NamedTuple):
    """Labels, groups and folds shared by all base estimators.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels.
    groups : ndarray of shape (n_samples,) or None
        Samples of the same group are never split between training and test part of a fold.
    classes : ndarray of shape (n_classes,)
        Sorted distinct labels.
    folds : list of (ndarray, ndarray)
        Indices of the training and test samples of each fold.
    """

    y: NDArray[Any]
    groups: Any
    classes: NDArray[Any]
    folds: list[Fold]


class FittedEstimators(NamedTuple):
    """Base estimators fitted on all samples, with their out-of-fold probabilities.

    Parameters
    ----------
    estimators : list of estimators
        Fitted on all samples.
    sources : list of {"loo", "oob", "cv"}
        How the out-of-fold probabilities were computed.
    oof_probas : list of ndarrays of shape (n_samples, n_classes)
        Out-of-fold probabilities; NaN for samples without one.
    fit_times : list of float
        Seconds that the fits and the out-of-fold predictions took.
    """

    estimators: list[Any]
    sources: list[str]
    oof_probas: list[NDArray[np.float64]]
    fit_times: list[float]


def choose_n_folds(n_samples: int, *, of_stack: bool) -> int:
    """Choose the number of folds of a cross-validation whose predictions estimate the scores.

    A model that is trained on two thirds of few samples is clearly worse than that of all samples;
    with more folds, the scores are less biased, and fits on few samples are fast. The weights of
    the members of a stack depend on the folds as well, and ten folds of more than some 1,000
    samples lead to less accurate stacks than five; see docs/scores.md.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    of_stack : bool
        Whether the predictions are meta-features.

    Examples
    --------
    >>> [choose_n_folds(n_samples, of_stack=True) for n_samples in (1_000, 20_000, 20_001)]
    [10, 5, 3]
    >>> [choose_n_folds(n_samples, of_stack=False) for n_samples in (5_000, 5_001)]
    [10, 5]
    """
    if n_samples <= (_TEN_FOLDS_OF_STACKS if of_stack else _TEN_FOLDS):
        return 10
    return 3 if of_stack and n_samples > _FIVE_FOLDS_OF_STACKS else 5


def make_folds(
    n_folds: int, class_codes: NDArray[np.intp], groups: Any, seed: int | None
) -> list[Fold]:
    """Return shuffled stratified folds.

    Parameters
    ----------
    n_folds : int
        Number of folds; fewer if the largest class has fewer samples, or if there are fewer groups.
    class_codes : ndarray of shape (n_samples,)
        Classes, numbered from 0.
    groups : array-like of shape (n_samples,) or None
        Samples of the same group are in the same fold.
    seed : int or None
        Seed of the shuffling.

    Returns
    -------
    list of (ndarray, ndarray)
        Indices of the training and test samples of each fold.
    """
    n_folds = min(n_folds, int(np.bincount(class_codes).max()))
    if n_folds < 2:
        raise ValueError(
            "Cross-validation requires a class with at least two samples; every class in y "
            "has one sample."
        )
    if groups is not None:
        n_folds = min(n_folds, len(np.unique(groups)))
        if n_folds < 2:
            raise ValueError(
                "Cross-validation requires at least two groups; all samples are of one."
            )
    make_splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        # A class may have fewer samples than folds: if the test part of a fold contains all of
        # them, their out-of-fold probability of this class is 0.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splitter = make_splitter(n_folds, shuffle=True, random_state=seed)
        return list(splitter.split(class_codes, class_codes, groups))


def fit_with_oof(
    named_estimators: Sequence[tuple[str, Any]],
    inputs: Sequence[Any],
    fit_params: Sequence[Mapping[str, Any]],
    data: TrainingSet,
    *,
    oob_policy: Sequence[str],
    cache: Callable[..., Any],
    n_jobs: int | None,
    task: FitTask,
) -> FittedEstimators:
    """Fit each estimator on all samples and compute its out-of-fold probabilities.

    Parameters
    ----------
    named_estimators : sequence of (str, estimator)
        Unfitted.
    inputs : sequence
        Training samples of each estimator.
    fit_params : sequence of dict
        Parameters of `fit` of each estimator, e.g. `sample_weight`.
    data : TrainingSet
    oob_policy : sequence of {"never", "unbiased", "always"}
        Which out-of-bag or leave-one-out probabilities of each estimator are used; see
        `choose_oof_source`.
    cache : callable
        Memoizing decorator, e.g. `joblib.Memory.cache`.
    n_jobs : int or None
        Number of threads.
    task : FitTask
        Reports the begin and the end of each fit to callbacks.

    Returns
    -------
    FittedEstimators
    """
    y, groups, classes, folds = data
    names, estimators = zip(*named_estimators, strict=True)
    fit, own_proba, predict = map(cache, (fit_estimator, oob_or_loo_proba, predict_fold))
    sources = [
        choose_oof_source(
            estimator, policy, has_groups=groups is not None, receives_groups="groups" in params
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
        Task(f"fit-{name}", estimator, partial(fit, estimator, X, y, params))
        for name, estimator, X, params in zip(names, estimators, inputs, fit_params, strict=True)
    ]
    fold_fits = [
        Task(
            f"fit-{names[i]}-fold-{number}",
            estimators[i],
            partial(predict, estimators[i], inputs[i], y, fit_params[i], fold, classes),
        )
        for i, number, fold in refits
    ]
    # Submit full fits and fold fits together to keep all threads busy.
    with report_tasks(task, "fit-base-estimators", [*full_fits, *fold_fits]) as tasks:
        timed = [each._replace(run=partial(_time, each.run)) for each in tasks]
        results = run_tasks(timed, n_jobs)
    fitted, fit_times = map(list, zip(*results[: len(full_fits)], strict=True))
    oof_probas = []
    for i, (estimator, source) in enumerate(zip(fitted, sources, strict=True)):
        if source == "cv":
            oof_probas.append(np.full((len(y), len(classes)), np.nan))
            continue
        proba, seconds = _time(partial(own_proba, estimator, source, groups, classes))
        oof_probas.append(proba)
        fit_times[i] += seconds
    for (i, _, (_, test)), result in zip(refits, results[len(full_fits) :], strict=True):
        oof_probas[i][test], seconds = result
        fit_times[i] += seconds
    return FittedEstimators(fitted, sources, oof_probas, fit_times)


def _time(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call, and the seconds that it took."""
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def fit_estimator(estimator: Any, X: Any, y: Any, fit_params: Mapping[str, Any]) -> Any:
    """Fit a clone of the estimator, with OOB predictions if it supports them."""
    fitted = clone(estimator)
    if supports_oob(fitted) and not fitted.get_params(deep=False)["oob_score"]:
        fitted.set_params(oob_score=True)
    return fitted.fit(X, y, **fit_params)


def choose_oof_source(
    estimator: Any, oob_policy: str, *, has_groups: bool, receives_groups: bool = False
) -> str:
    """Choose how to obtain out-of-fold probabilities: `"loo"`, `"oob"` or `"cv"`.

    OOB predictions of sequentially boosted forests are biased (`oob_is_unbiased_` is False) and
    are used only with ``oob_policy="always"``. With groups, an estimator must be able to exclude
    whole groups, because a bootstrap sample may contain a duplicate of the held-out sample.
    """
    if oob_policy == "never":
        return "cv"
    if hasattr(estimator, "loo_decision_function"):
        return "loo"
    is_unbiased = getattr(estimator, "oob_is_unbiased_", True)
    if has_groups:
        is_usable = is_unbiased and receives_groups
    else:
        is_usable = is_unbiased or oob_policy == "always"
    always_has_oob = hasattr(type(estimator), "oob_decision_function_")
    return "oob" if is_usable and (always_has_oob or supports_oob(estimator)) else "cv"


def supports_oob(estimator: Any) -> bool:
    """Return whether the estimator computes OOB predictions if ``oob_score=True``."""
    params = estimator.get_params(deep=False)
    return "oob_score" in params and bool(params.get("bootstrap", True))


def oob_or_loo_proba(
    estimator: Any, source: str, groups: Any, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return OOB or leave-one-out probabilities.

    A sample that was in every bootstrap sample has NaN.
    """
    if source == "loo":
        proba = estimator.loo_decision_function(groups=groups)
    else:
        proba = np.array(estimator.oob_decision_function_, np.float64)
        proba[~(proba.sum(axis=1) > 0)] = np.nan
    return align_columns(proba, estimator.classes_, classes)


def predict_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fit_params: Mapping[str, Any],
    fold: Fold,
    classes: NDArray[Any],
) -> NDArray[np.float64]:
    """Fit a clone on the training part of a fold and predict its test part."""
    train, test = fold
    if len(np.unique(y[train])) == 1:  # Many classifiers reject a single class.
        return align_columns(np.ones((len(test), 1)), y[train[:1]], classes)
    fitted = fit_estimator(
        estimator, take_rows(X, train), y[train], index_params(fit_params, train, len(y))
    )
    return predict_proba(fitted, take_rows(X, test), classes)


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


def find_stack_method(estimator: Any) -> str:
    """Return the name of the prediction method that `predict_proba` calls."""
    methods = ("predict_proba", "decision_function")
    return next((method for method in methods if hasattr(estimator, method)), "predict")


def predict_proba(estimator: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities with one column per entry of `classes`.

    Decision values are mapped through the logistic function, or the softmax function if there are
    more than two classes; predicted labels are one-hot encoded.
    """
    method = find_stack_method(estimator)
    predictions = np.asarray(getattr(estimator, method)(X))
    if method == "predict":
        predictions = predictions[:, None] == estimator.classes_
    elif method == "decision_function":
        predictions = (
            softmax(predictions, axis=1)
            if predictions.ndim == 2
            else np.column_stack([expit(-predictions), expit(predictions)])
        )
    return align_columns(predictions, estimator.classes_, classes)


def align_columns(
    proba: NDArray[Any], estimator_classes: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Reorder columns to `classes`; classes unknown to the estimator get probability 0.

    Examples
    --------
    >>> align_columns(np.array([[0.25, 0.75]]), np.array(["b", "c"]), np.array(["a", "b", "c"]))
    array([[0.  , 0.25, 0.75]])
    """
    aligned = np.zeros((len(proba), len(classes)))
    aligned[:, np.searchsorted(classes, estimator_classes)] = proba
    return aligned


def impute_prior(
    proba: NDArray[np.float64], prior: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Replace NaN rows by the class prior; return a copy and the number of replaced rows.

    The copy leaves probabilities that are shared through a cache unchanged.
    """
    missing = np.asarray(np.isnan(proba).any(axis=1))
    return np.where(missing[:, None], prior, proba), int(missing.sum())
