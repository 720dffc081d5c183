"""Validation of the parameters of a stack and of the arguments of its `fit`."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from cordwood._base.csr import check_sparse, has_features
from cordwood._base.param_validation import Constraint
from cordwood._base.sklearn_private import check_sample_weight, num_samples
from cordwood._base.voting_classifier import check_classification_labels

# With fewer samples, out-of-bag and leave-one-out predictions are biased; see docs/scores.md.
_MIN_SAMPLES_PER_CLASS = 50

ANCHOR = Constraint(
    "the name of an estimator, a list of names or None",
    lambda value: (
        value is None
        or isinstance(value, str)
        or (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value))
    ),
)
"""Valid values of the parameter `anchor` of a stack."""


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


def check_known(param: str, given: Iterable[str], all_names: list[str]) -> None:
    """Raise an error if a parameter has a name that is not one of an estimator."""
    if unknown := set(given) - set(all_names):
        raise ValueError(
            f"{param} has {', '.join(map(repr, sorted(unknown)))}, which is no name of an "
            f"estimator; names are {', '.join(all_names)}."
        )


def list_oob_policies(
    use_oob: Any, names: list[str], all_names: Iterable[str], *, samples_per_class: float
) -> list[str]:
    """Return for each base estimator which of its OOB or LOO predictions are used.

    Examples
    --------
    >>> def choose(use_oob, samples_per_class=100):
    ...     names = ["rf", "svm"]
    ...     return list_oob_policies(use_oob, names, names, samples_per_class=samples_per_class)
    >>> choose(True), choose(["rf"]), choose("auto", 8)
    (['unbiased', 'unbiased'], ['always', 'never'], ['never', 'never'])
    """
    if isinstance(use_oob, str) and use_oob == "auto":
        use_oob = samples_per_class >= _MIN_SAMPLES_PER_CLASS
    if isinstance(use_oob, bool | np.bool_):
        return ["unbiased" if use_oob else "never"] * len(names)
    is_list = isinstance(use_oob, Iterable) and not isinstance(use_oob, str)
    named = set(use_oob) if is_list else {use_oob}
    unknown = named - set(all_names)
    if unknown or not is_list:
        raise ValueError(
            "use_oob must be True, False, 'auto' or a list of names of estimators, which are "
            f"{', '.join(names)}; got {', '.join(sorted(map(str, unknown or named)))!r}."
        )
    return ["always" if name in named else "never" for name in names]


def check_samples(X: Any) -> Any:
    """Return `X`, or a valid sparse matrix that shares its arrays."""
    if isinstance(X, str | bytes):
        raise ValueError("X must be a sequence of samples, e.g. a list of texts; got one string.")
    return check_sparse(X)


def check_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any
) -> tuple[Any, ...]:
    """Validate the arguments of `fit`, and set the features of the estimator."""
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


def _check_length(X: Any, y: Any) -> None:
    """Raise an error if there is not exactly one label for each sample."""
    if isinstance(y, str | bytes):
        raise ValueError("y must be a sequence of labels; got one string.")
    n_samples, n_labels = num_samples(X), num_samples(y)
    if n_samples != n_labels:
        raise ValueError(
            f"X and y must have the same length; got {n_samples} samples and {n_labels} labels."
        )
