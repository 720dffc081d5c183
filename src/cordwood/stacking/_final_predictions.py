"""Out-of-fold predictions of the whole stack: the final estimator is cross-fitted.

The meta-features are out-of-fold predictions already, so that no base estimator is fitted again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cordwood._base.duplicates import assign_folds, number_duplicates
from cordwood._base.sklearn_private import take_rows
from cordwood.oof.engine import index_params
from cordwood.oof.proba import align_columns, predict_proba
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.related_samples import merge_partitions

_N_FOLDS = 5


class FinalTrainingSet(NamedTuple):
    """Training set of the final estimator."""

    features: Any  # meta-features, followed by other features if the stack passes them through
    n_meta_features: int  # a block of `n_classes` columns per base estimator
    y: NDArray[Any]
    fit_params: Mapping[str, Any]
    folds: NDArray[np.intp]  # of each sample


def assign_final_folds(
    X: Any, class_codes: NDArray[np.intp], groups: Any, seed: int
) -> NDArray[np.intp]:
    """Assign samples to five stratified folds; duplicates and groups are in one fold.

    With fewer than five distinct samples or groups, there are as many folds as these.
    """
    clusters = number_duplicates(X)
    if groups is not None:
        clusters = merge_partitions(clusters, groups)
    order = np.random.RandomState(seed).permutation(len(clusters))
    n_folds = min(_N_FOLDS, len(np.unique(clusters)))
    return assign_folds(class_codes, clusters, n_folds, order)


def cross_fit(
    final_estimator: Any, data: FinalTrainingSet, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Predict each fold by a final estimator that is fitted on the other folds."""
    proba = np.empty((len(data.y), len(classes)))
    for fold in range(int(data.folds.max()) + 1):
        is_test = data.folds == fold
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        proba[test] = _predict_fold(final_estimator, data, train, test, classes)
    return proba


def _predict_fold(
    final_estimator: Any,
    data: FinalTrainingSet,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    classes: NDArray[Any],
) -> NDArray[np.float64]:
    known = np.unique(data.y[train])
    if not len(known):
        return np.full((len(test), len(classes)), 1 / len(classes))
    if len(known) == 1:  # Many classifiers reject a single class.
        return align_columns(np.ones((len(test), 1)), known, classes)
    features, model = data.features, clone(final_estimator)
    if len(known) < len(classes):
        # Combiners expect one column per class that they are fitted on.
        is_known = np.resize(np.isin(classes, known), data.n_meta_features)
        n_others = features.shape[1] - data.n_meta_features
        features = features[:, np.flatnonzero(np.r_[is_known, np.ones(n_others, bool)])]
    elif isinstance(model, LogarithmicPool) and hasattr(final_estimator, "coef_"):
        # Saves half of the iterations. What is left of the start in the solution, within its
        # tolerance, changes the log loss by 0.01 %.
        model._start = final_estimator.coef_, final_estimator.intercept_
    fitted = model.fit(
        take_rows(features, train),
        data.y[train],
        **index_params(data.fit_params, train, len(data.y)),
    )
    return predict_proba(fitted, take_rows(features, test), classes)
