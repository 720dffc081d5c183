"""Validation of the parameters of a stack and of the arguments of its `fit`."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from cordwood._base_classifier import check_classification_labels
from cordwood._csr import check_sparse
from cordwood._sklearn import check_sample_weight, num_samples

_MIN_AUTO_FOLDS = 3


def check_estimator_list(estimators: Any) -> None:
    """Raise an error unless `estimators` is a list that is not empty."""
    if not isinstance(estimators, list | tuple) or not estimators:
        raise ValueError(
            f"estimators must be a non-empty list of (name, estimator) tuples; got {estimators!r}."
        )


def select_members(estimators: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the base estimators that are not dropped; raise an error if one is no classifier.

    Examples
    --------
    >>> select_members([("nb", "drop"), ("svm", "drop")])
    Traceback (most recent call last):
    ValueError: All estimators are dropped; at least one is required.
    """
    members = [(name, member) for name, member in estimators if member != "drop"]
    if not members:
        raise ValueError("All estimators are dropped; at least one is required.")
    for name, member in members:
        if not hasattr(member, "fit") or not is_classifier(member):
            raise ValueError(f"Estimator {name!r} must be a classifier; got {member!r}.")
    return members


def check_cv_name(cv: Any) -> None:
    """Raise an error if `cv` is a string other than "auto" and "prefit"."""
    if isinstance(cv, str) and cv not in ("auto", "prefit"):
        raise ValueError(
            "cv must be an integer, 'auto', 'prefit', a cross-validation generator or an "
            f"iterable of (train, test) indices; got {cv!r}."
        )


def list_oob_policies(use_oob: Any, names: list[str], all_names: Iterable[str]) -> list[str]:
    """Return for each base estimator which of its OOB or LOO predictions are used.

    Parameters
    ----------
    use_oob : bool or iterable of str
        Parameter of the stack.
    names : list of str
        Names of the base estimators that are not dropped.
    all_names : iterable of str
        Names that `use_oob` may contain.

    Returns
    -------
    list of {"never", "unbiased", "always"}

    Examples
    --------
    >>> names = ["rf", "svm"]
    >>> list_oob_policies(True, names, names), list_oob_policies(["rf"], names, names)
    (['unbiased', 'unbiased'], ['always', 'never'])
    """
    if isinstance(use_oob, bool | np.bool_):
        return ["unbiased" if use_oob else "never"] * len(names)
    is_list = isinstance(use_oob, Iterable) and not isinstance(use_oob, str)
    named = set(use_oob) if is_list else {use_oob}
    unknown = named - set(all_names)
    if unknown or not is_list:
        raise ValueError(
            "use_oob must be True, False or a list of names of estimators, which are "
            f"{', '.join(names)}; got {', '.join(sorted(map(str, unknown or named)))!r}."
        )
    return ["always" if name in named else "never" for name in names]


def check_samples(X: Any) -> Any:
    """Return `X`, or a valid sparse matrix that shares its arrays."""
    if isinstance(X, str | bytes):
        raise ValueError("X must be a sequence of samples, e.g. a list of texts; got one string.")
    return check_sparse(X)


def has_features(X: Any) -> bool:
    """Return whether `X` is two-dimensional, unlike a sequence of texts."""
    return len(getattr(X, "shape", ())) == 2


def check_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any
) -> tuple[Any, ...]:
    """Validate the arguments of `fit`, and set the features of the estimator.

    Parameters
    ----------
    estimator : estimator
        Its `n_features_in_` and `feature_names_in_` are set if `X` is two-dimensional.
    X, y, sample_weight, groups : object
        Arguments of `fit`.

    Returns
    -------
    tuple
        `X`, `y`, `sample_weight` and `groups`, converted to types that can be indexed.
    """
    X = check_samples(X)
    if y is not None:
        _check_length(*indexable(X), *indexable(y))
        check_classification_labels(y)
    X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
    if has_features(X):
        validate_data(estimator, X, skip_check_array=True)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, y[:, None])
    return X, y, sample_weight, groups


def warn_of_few_groups(groups: Any, cv: Any) -> None:
    """Warn if groups are so few or so unequal that out-of-fold predictions are misleading.

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or None
    cv : object
        Parameter of the stack. The number of folds counts if it is an integer; "auto" stands for at
        least three folds; other folds are the user's.

    Warns
    -----
    UserWarning
        If the largest group holds more than half of the samples, or if there are fewer groups than
        folds.
    """
    if groups is None:
        return
    sizes = np.unique(groups, return_counts=True)[1]
    n_groups, n_samples, n_largest = len(sizes), int(sizes.sum()), int(sizes.max())
    n_folds = _MIN_AUTO_FOLDS if isinstance(cv, str) else int(cv) if isinstance(cv, Integral) else 0
    if 2 * n_largest > n_samples:
        warnings.warn(
            f"The largest of {n_groups} groups holds {n_largest:,} of {n_samples:,} samples, so "
            "that their out-of-fold predictions are those of base estimators fitted on the other "
            f"{n_samples - n_largest:,}, and mislead the final estimator; divide this group, or "
            "fit without groups.",
            stacklevel=4,
        )
    elif n_groups < n_folds:
        warnings.warn(
            f"There are {n_groups} groups for {n_folds} folds, so that base estimators are "
            f"cross-validated in {n_groups} folds, on fewer samples than they are finally fitted "
            f"on; pass more groups, or set cv={n_groups}.",
            stacklevel=4,
        )


@contextmanager
def ignore_few_groups() -> Iterator[None]:
    """Suppress `warn_of_few_groups`, for fits on a part of the samples that has fewer groups."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(The largest of|There are) \d+ groups ", UserWarning)
        yield


def _check_length(X: Any, y: Any) -> None:
    """Raise an error if there is not exactly one label for each sample."""
    if isinstance(y, str | bytes):
        raise ValueError("y must be a sequence of labels; got one string.")
    n_samples, n_labels = num_samples(X), num_samples(y)
    if n_samples != n_labels:
        raise ValueError(
            f"X and y must have the same length; got {n_samples} samples and {n_labels} labels."
        )
