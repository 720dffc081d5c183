"""Warnings of groups that are too few or too unequal for a cross-validation."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np

_MIN_AUTO_FOLDS = 3


def warn_of_few_groups(groups: Any, cv: Any) -> None:
    """Warn if groups are so few or so unequal that out-of-fold predictions are misleading."""
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
