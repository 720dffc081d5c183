"""Validation of label indicators, and folds that spread rare labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from cordwood._duplicates import assign_folds

BoolArray = NDArray[np.bool_]


def check_indicators(y: Any) -> BoolArray:
    """Return label indicators as a boolean array of shape (n_samples, n_labels).

    Examples
    --------
    >>> check_indicators([[1, 0], [1, 1]])
    array([[ True, False],
           [ True,  True]])
    >>> check_indicators([["cat"], ["cat", "dog"]])
    Traceback (most recent call last):
    ValueError: y must be an indicator matrix of zeros and ones, of shape (n_samples, n_labels); \
convert lists of labels with sklearn.preprocessing.MultiLabelBinarizer
    """
    try:
        dense = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    except ValueError:  # lists of different lengths
        dense = np.empty(0)
    is_indicator = dense.ndim == 2 and dense.dtype.kind in "biuf" and dense.shape[1] > 0
    if not is_indicator or not np.isin(dense, (0, 1)).all():
        hint = "convert lists of labels with sklearn.preprocessing.MultiLabelBinarizer"
        if dense.ndim == 1 and dense.dtype.kind != "O" and dense.size:
            hint = f"it is a {type_of_target(dense)} target of one label per sample"
        raise ValueError(
            "y must be an indicator matrix of zeros and ones, of shape (n_samples, n_labels); "
            f"{hint}"
        )
    return np.asarray(dense != 0)


def assign_label_folds(Y: BoolArray, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Assign samples to folds, stratified by the rarest label of each sample.

    Examples
    --------
    The only two samples of the second label are in different folds:

    >>> Y = np.array([[1, 1], [1, 0], [1, 1], [1, 0]], bool)
    >>> folds = assign_label_folds(Y, 2, seed=0)
    >>> bool(folds[0] != folds[2]), np.bincount(folds).tolist()
    (True, [2, 2])
    """
    n_samples, n_labels = Y.shape
    by_frequency = np.argsort(Y.sum(axis=0), kind="stable")
    has_label = Y.any(axis=1)
    rarest = np.where(has_label, by_frequency[Y[:, by_frequency].argmax(axis=1)], n_labels)
    order = np.random.RandomState(seed).permutation(n_samples)
    return assign_folds(rarest, np.arange(n_samples), min(n_folds, n_samples), order)
