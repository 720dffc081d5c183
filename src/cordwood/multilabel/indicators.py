"""Label indicators: conversion, validation, and folds that spread rare labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.duplicates import assign_folds
from cordwood._base.labels import find_indicators
from cordwood.exceptions import DataError

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
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    indicators = find_indicators(y)
    if indicators is None:
        hint = "convert lists of labels with sklearn.preprocessing.MultiLabelBinarizer"
        if not hasattr(y, "toarray") and all(np.ndim(label) == 0 for label in y):
            hint = "it has one label per sample"
        raise ValueError(
            "y must be an indicator matrix of zeros and ones, of shape (n_samples, n_labels); "
            f"{hint}"
        )
    return indicators


def to_indicators(labels: Sequence[Sequence[Any]]) -> tuple[list[Any], NDArray[np.int64]]:
    """Convert the labels of each sample to the sorted labels and an indicator matrix.

    Examples
    --------
    >>> to_indicators([("oil", "gas"), (), ("oil",)])
    (['gas', 'oil'], array([[1, 1],
           [0, 0],
           [0, 1]]))
    """
    try:
        classes = sorted({label for each in labels for label in each})
    except TypeError as error:
        raise DataError("the labels have different types; convert all to str") from error
    columns = {label: column for column, label in enumerate(classes)}
    indicators = np.zeros((len(labels), len(classes)), np.int64)
    for i, each in enumerate(labels):
        indicators[i, [columns[label] for label in each]] = 1
    return classes, indicators


def find_rarest_labels(Y: NDArray[Any]) -> NDArray[np.intp]:
    """Return the column of the rarest label of each sample; n_labels for a sample without labels.

    Examples
    --------
    >>> find_rarest_labels(np.array([[1, 1], [1, 0], [0, 0]], bool))
    array([1, 0, 2])
    """
    by_frequency = np.argsort(Y.sum(axis=0), kind="stable")
    if not len(by_frequency):
        return np.zeros(len(Y), np.intp)
    rarest = by_frequency[Y[:, by_frequency].argmax(axis=1)]
    return np.where(Y.any(axis=1), rarest, len(by_frequency))


def assign_label_folds(
    Y: BoolArray, n_folds: int, seed: int, groups: NDArray[Any] | None = None
) -> NDArray[np.intp]:
    """Assign samples to folds, stratified by the rarest label of each sample.

    Samples of a group are in the same fold.

    Examples
    --------
    The only two samples of the second label are in different folds:

    >>> Y = np.array([[1, 1], [1, 0], [1, 1], [1, 0]], bool)
    >>> folds = assign_label_folds(Y, 2, seed=0)
    >>> bool(folds[0] != folds[2]), np.bincount(folds).tolist()
    (True, [2, 2])
    """
    n_samples = len(Y)
    codes = np.arange(n_samples)
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1].ravel()
        if not codes.any():
            raise ValueError(
                "Cross-validation requires at least two groups; all samples are of one."
            )
    order = np.random.RandomState(seed).permutation(n_samples)
    n_folds = min(n_folds, int(codes.max()) + 1)
    return assign_folds(find_rarest_labels(Y), codes, n_folds, order)
