"""Balanced class weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def balanced_class_weights(
    y: NDArray[Any], weights: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return class weights that give all classes of positive weight the same total weight.

    >>> balanced_class_weights(np.array([0, 0, 0, 2]), np.ones(4), 3)
    array([0.66666667, 0.        , 2.        ])
    """
    # The formula is that of `sklearn.utils.compute_class_weight`, ``sum(weights) / (n_classes *
    # sum(weights of the class))``. A sample of weight zero is like no sample, so only classes of
    # positive weight count; the others, for which the formula is not defined, get weight zero.
    totals = np.bincount(y, weights=weights, minlength=n_classes)
    present = totals > 0
    balanced = weights.sum() / (present.sum() * np.where(present, totals, 1.0))
    return np.where(present, balanced, 0.0)
