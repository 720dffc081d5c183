"""Leakage: do the rows that a combiner learns from know more than new rows will?

The members are fitted on a sample, and their meta-features of it compared with their answers to
other rows. Copies of a row stay on one side, so that what members know by these shows.
"""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from cordwood._sklearn import take_rows
from cordwood.stacking._duplicates import number_copies

_N_TRAIN, _N_TEST, _N_FOLDS = 1000, 500, 5

# Copies show through this many trees, or rounds of boosting, as they do through hundreds.
_N_TREES = 50

# Standard errors beyond which a difference is taken for leakage rather than chance.
_LIMIT = 4.0


def find_leakage(
    stack: Any, X: Any, y: NDArray[Any], groups: ArrayLike | None, seed: int
) -> dict[str, float]:
    """Measure by how much meta-features are better than answers to new rows; warn if it is much.

    Parameters
    ----------
    stack : OOBStackingClassifier
    X, y, groups
        As given to its `fit`.
    seed : int

    Returns
    -------
    dict of str to float
        Differences of accuracy by member; none where the rows are too few to tell.
    """
    rng = np.random.RandomState(seed)
    train, test = _draw(number_copies(X), y, rng)
    sizes = np.unique(y[train], return_counts=True)[1]
    if len(sizes) < 2 or sizes.max() < 2 or not len(test):
        return {}
    small = clone(stack).set_params(check_leakage=False, random_state=rng)
    small.set_params(
        **{
            name: _N_TREES
            for name, value in small.get_params().items()
            if name.endswith("n_estimators")
            and isinstance(value, Integral)
            and int(value) > _N_TREES
        }
    )
    if not isinstance(small.cv, Integral):
        small.set_params(cv=_N_FOLDS)  # folds that are given fit all rows only
    inside = None if groups is None else np.asarray(groups)[train]
    small.fit(take_rows(X, train), y[train], groups=inside)
    claimed = _find_right(small.meta_features_, y[train], small.classes_)
    honest = _find_right(small.transform(take_rows(X, test)), y[test], small.classes_)
    differences = claimed.mean(axis=0) - honest.mean(axis=0)
    errors = np.sqrt(
        claimed.var(axis=0) / len(claimed) + honest.var(axis=0) / len(honest) + 1 / len(honest) ** 2
    )
    names = list(small.oof_source_)
    leaking = [
        f"{name!r} (by {difference:.0%})"
        for name, difference, error in zip(names, differences, errors, strict=True)
        if difference > _LIMIT * error
    ]
    if leaking:
        warnings.warn(
            "these members are right on more of the rows that the combiner learns from than of "
            f"new ones: {', '.join(leaking)}; if X has copies of rows, give those that belong "
            "together as groups",
            stacklevel=3,
        )
    return dict(zip(names, differences.tolist(), strict=True))


def _draw(
    copies: NDArray[np.intp], y: NDArray[Any], rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw rows to learn from, and others of the same classes; copies stay on one side."""
    order = rng.permutation(copies.max() + 1)[copies].argsort(kind="stable")
    n_train = min(_N_TRAIN, 2 * len(copies) // 3)
    while n_train < len(order) and copies[order[n_train]] == copies[order[n_train - 1]]:
        n_train += 1
    train, rest = order[:n_train], order[n_train:]
    test = rest[np.isin(y[rest], y[train])][:_N_TEST]
    return np.sort(train), np.sort(test)


def _find_right(
    meta: NDArray[np.float64], y: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Tell for each row and member whether its most probable class is the right one."""
    answers = meta.reshape(len(meta), -1, len(classes)).argmax(axis=2)
    return np.asarray(classes[answers] == y[:, None])
