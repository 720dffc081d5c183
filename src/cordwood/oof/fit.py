"""Fit of one classifier or pipeline, with its out-of-fold predictions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from cordwood.oof.engine import TrainingSet, fit_all_with_oof
from cordwood.oof.folds import choose_n_folds, make_folds
from cordwood.oof.proba import impute_prior
from cordwood.oof.records import OOFPredictions
from cordwood.oof.routing import select_fit_params
from cordwood.oof.sources import choose_oof_source, oob_or_loo_proba, supports_oob


def fit_with_oof(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> tuple[Any, OOFPredictions]:
    """Return a fitted clone of a classifier or pipeline, and its out-of-fold predictions.

    A stack, and a classifier with unbiased out-of-bag or leave-one-out predictions, is fitted once.
    All others are fitted again in each fold of a stratified cross-validation of the whole pipeline.
    """
    model = clone(estimator)
    name, last = model.steps[-1] if isinstance(model, Pipeline) else ("classifier", model)
    group_codes = None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    given = {"groups": group_codes, "sample_weight": sample_weight}
    fit_params = select_fit_params(
        model, {param: value for param, value in given.items() if value is not None}
    )
    if hasattr(type(last), "oof_proba_"):  # a stack, or a classifier of several labels
        model.fit(X, y, **fit_params)
        kept = getattr(last, "named_estimators_", last.oof_source_)  # without pruned ones
        return model, OOFPredictions(
            proba=last.oof_proba_,
            y=y if y.ndim == 2 else np.searchsorted(last.classes_, y),
            classes=last.classes_,
            sources={member: last.oof_source_[member] for member in kept},
            groups=group_codes,
        )
    source = choose_oof_source(
        last,
        "unbiased",
        has_groups=groups is not None,
        receives_groups=any(param.endswith("groups") for param in fit_params),
    )
    classes, codes = np.unique(y, return_inverse=True)
    if source == "cv":
        n_folds = choose_n_folds(len(y), of_stack=False)
        folds = make_folds(n_folds, codes, group_codes, random_state)
        data = TrainingSet(y, group_codes, classes, folds)
        # The whole pipeline is fitted again in each fold, whatever its last step can do.
        fitted = fit_all_with_oof(
            [(name, model)], [X], [fit_params], data, oob_policy=["never"], n_jobs=n_jobs
        )
        (model,), (proba,) = fitted.estimators, fitted.oof_probas
    else:
        if supports_oob(last):
            last.set_params(oob_score=True)
        model.fit(X, y, **fit_params)
        proba = oob_or_loo_proba(last, source, group_codes, classes)
    prior = np.bincount(codes, minlength=len(classes)) / len(codes)
    return model, OOFPredictions(
        proba=impute_prior(proba, prior)[0],
        y=codes,
        classes=classes,
        sources={name: source},
        groups=group_codes,
    )
