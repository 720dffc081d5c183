"""Out-of-fold predictions of any classifier, by the cheapest way that is unbiased."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from cordwood.oof.engine import (
    choose_n_folds,
    choose_oof_source,
    impute_prior,
    make_folds,
    oob_or_loo_proba,
    predict_fold,
    supports_oob,
)
from cordwood.oof.records import OOFPredictions
from cordwood.oof.routing import select_fit_params
from cordwood.oof.tasks import Task, run_tasks


def compute_oof(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> OOFPredictions:
    """Compute out-of-fold predictions of a classifier.

    A stack, and a classifier with unbiased out-of-bag or leave-one-out predictions, is fitted once.
    All others are fitted again in each fold of a stratified cross-validation of the whole pipeline:
    ten folds for at most 5,000 samples, five for more.

    Parameters
    ----------
    model : classifier or Pipeline
        Clones of it are fitted; it need not be fitted itself.
    X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
        Training samples.
    y : array-like of shape (n_samples,)
        Labels.
    groups : array-like of shape (n_samples,), default=None
        Groups of related samples, which are never split between training and prediction.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights for training, passed if the classifier accepts them.
    n_jobs : int, default=None
        Number of threads over the folds of a classifier without an `n_jobs` of its own.
    random_state : int or None, default=0
        Seed of the folds. A stack has its own.

    Returns
    -------
    OOFPredictions

    See Also
    --------
    oof_evaluation : Scores with confidence intervals.

    Notes
    -----
    In a pipeline that is fitted once, transformers such as vectorizers have seen all samples, but
    no labels. See docs/scores.md for the size of this effect.

    Examples
    --------
    >>> from cordwood import recipes
    >>> texts = ["good film", "great film", "good, great", "bad film", "awful film", "bad, awful"]
    >>> oof = compute_oof(recipes.make("knn", n_neighbors=1), texts, ["+"] * 3 + ["-"] * 3)
    >>> oof.sources, oof.y_pred.tolist()
    ({'classifier': 'loo'}, ['+', '+', '+', '-', '-', '-'])
    """
    return fit_with_oof(
        clone(model),
        X,
        np.asarray(y),
        groups=groups,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def fit_with_oof(
    model: Any,
    X: Any,
    y: NDArray[Any],
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> OOFPredictions:
    """Fit a classifier in place and return its out-of-fold predictions.

    The parameters are those of `compute_oof`. `oob_score` of the classifier is set to True if its
    out-of-bag predictions are used.
    """
    name, last = model.steps[-1] if isinstance(model, Pipeline) else ("classifier", model)
    group_codes = None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    given = {"groups": group_codes, "sample_weight": sample_weight}
    fit_params = select_fit_params(
        model, {param: value for param, value in given.items() if value is not None}
    )
    if hasattr(type(last), "oof_proba_"):
        model.fit(X, y, **fit_params)
        sources = {member: last.oof_source_[member] for member in last.named_estimators_}
        return _make_record(last.oof_proba_, y, last.classes_, sources, group_codes)
    source = choose_oof_source(
        last,
        "unbiased",
        has_groups=groups is not None,
        receives_groups=any(param.endswith("groups") for param in fit_params),
    )
    classes = np.unique(y)
    if source == "cv":
        model.fit(X, y, **fit_params)
        proba = _cross_validate(model, X, y, fit_params, classes, group_codes, n_jobs, random_state)
    else:
        if source == "oob" and supports_oob(last):
            last.set_params(oob_score=True)
        model.fit(X, y, **fit_params)
        proba = oob_or_loo_proba(last, source, group_codes, classes)
    return _make_record(proba, y, classes, {name: source}, group_codes)


def _make_record(
    proba: NDArray[np.float64],
    y: NDArray[Any],
    classes: NDArray[Any],
    sources: dict[str, str],
    groups: NDArray[np.intp] | None,
) -> OOFPredictions:
    codes = np.searchsorted(classes, y)
    imputed, _ = impute_prior(proba, np.bincount(codes, minlength=len(classes)) / len(codes))
    return OOFPredictions(proba=imputed, y=codes, classes=classes, sources=sources, groups=groups)


def _cross_validate(
    model: Any,
    X: Any,
    y: NDArray[Any],
    fit_params: dict[str, Any],
    classes: NDArray[Any],
    groups: NDArray[np.intp] | None,
    n_jobs: int | None,
    random_state: int | None,
) -> NDArray[np.float64]:
    """Predict each fold by a clone that is fitted on the other folds."""
    folds = make_folds(
        choose_n_folds(len(y), of_stack=False), np.searchsorted(classes, y), groups, random_state
    )
    tasks = [
        Task("fold", model, partial(predict_fold, model, X, y, fit_params, fold, classes))
        for fold in folds
    ]
    proba = np.full((len(y), len(classes)), np.nan)
    for (_, test), fold_proba in zip(folds, run_tasks(tasks, n_jobs), strict=True):
        proba[test] = fold_proba
    return proba
