"""Data-leakage check: are out-of-fold predictions more accurate than predictions of new samples?

If the training set contains duplicates, the out-of-fold prediction of a sample may come from
estimators that were trained on its duplicate. The final estimator then overestimates the base
estimator. The check fits the base estimators on a subsample and compares the accuracy of their
out-of-fold predictions with their accuracy on other samples. Duplicates stay on one side of this
split, which reveals the leakage.
"""

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cordwood._duplicates import number_duplicates
from cordwood._sklearn import take_rows
from cordwood.stacking._meta_features import index_params

_N_TRAIN, _N_TEST, _N_FOLDS = 1000, 500, 5

# This many trees or boosting rounds reveal leakage by duplicates as well as hundreds do.
_MAX_ESTIMATORS = 50

# A difference of accuracy above this many standard errors is reported as leakage.
_MAX_STANDARD_ERRORS = 4.0


def measure_oof_optimism(
    stack: Any, X: Any, y: NDArray[Any], fit_params: Mapping[str, Any], seed: int
) -> dict[str, float]:
    """Measure by how much out-of-fold accuracy exceeds the accuracy on new samples.

    Parameters
    ----------
    stack : OOBStackingClassifier
        Its parameters are used; it need not be fitted.
    X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
        Training samples of the stack.
    y : ndarray of shape (n_samples,)
        Training labels.
    fit_params : dict
        Further parameters of the stack's `fit`, e.g. `groups`.
    seed : int
        Seed of the subsample and of the folds.

    Returns
    -------
    dict of str to float
        Difference of accuracy of each base estimator; empty if there are too few samples.

    Warns
    -----
    UserWarning
        If a difference is too large to be due to chance.
    """
    rng = np.random.RandomState(seed)
    train, test = _subsample(number_duplicates(X), y, rng)
    class_sizes = np.unique(y[train], return_counts=True)[1]
    if len(class_sizes) < 2 or class_sizes.max() < 2 or not len(test):
        return {}
    small = _make_small_stack(stack, rng)
    small.fit(take_rows(X, train), y[train], **index_params(fit_params, train, len(y)))
    oof_correct = _is_correct(small.meta_features_, y[train], small.classes_)
    test_proba = np.asarray(small.transform(take_rows(X, test)))
    test_correct = _is_correct(test_proba, y[test], small.classes_)
    differences = oof_correct.mean(axis=0) - test_correct.mean(axis=0)
    standard_errors = np.sqrt(
        oof_correct.var(axis=0) / len(train)
        + test_correct.var(axis=0) / len(test)
        + 1 / len(test) ** 2
    )
    names = list(small.oof_source_)
    leaking = [
        f"{name!r} (by {difference:.0%})"
        for name, difference, error in zip(names, differences, standard_errors, strict=True)
        if difference > _MAX_STANDARD_ERRORS * error
    ]
    if leaking:
        warnings.warn(
            "The out-of-fold predictions of these base estimators are more accurate than their "
            f"predictions of new samples: {', '.join(leaking)}. If X contains duplicate or related "
            "samples, pass groups to fit to keep them in the same fold.",
            stacklevel=4,
        )
    return dict(zip(names, differences.tolist(), strict=True))


def _make_small_stack(stack: Any, rng: np.random.RandomState) -> Any:
    """Clone the stack with fewer trees or boosting rounds."""
    small = clone(stack).set_params(check_leakage=False, random_state=rng)
    if hasattr(small, "set_callbacks"):
        small.set_callbacks()  # Clones keep callbacks, but this fit is not the user's.
    small.set_params(
        **{
            name: _MAX_ESTIMATORS
            for name, value in small.get_params().items()
            if name.endswith("n_estimators")
            and isinstance(value, Integral)
            and int(value) > _MAX_ESTIMATORS
        }
    )
    if not isinstance(small.cv, Integral):
        small.set_params(cv=_N_FOLDS)  # Indices of given folds refer to all samples.
    return small


def _subsample(
    duplicate_ids: NDArray[np.intp], y: NDArray[Any], rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw training samples and test samples of the same classes; duplicates stay together."""
    order = rng.permutation(duplicate_ids.max() + 1)[duplicate_ids].argsort(kind="stable")
    n_train = min(_N_TRAIN, 2 * len(order) // 3)
    while (
        n_train < len(order) and duplicate_ids[order[n_train]] == duplicate_ids[order[n_train - 1]]
    ):
        n_train += 1
    train, rest = order[:n_train], order[n_train:]
    test = rest[np.isin(y[rest], y[train])][:_N_TEST]
    return np.sort(train), np.sort(test)


def _is_correct(
    probas: NDArray[np.float64], y: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return whether the most probable class is the label: shape (n_samples, n_estimators)."""
    predictions = probas.reshape(len(probas), -1, len(classes)).argmax(axis=2)
    return np.asarray(classes[predictions] == y[:, None])
