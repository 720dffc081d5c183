"""Folds of the cross-validations from which out-of-fold predictions are computed."""

import warnings
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

# Indices of the training and test samples.
Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]

# Largest number of samples that are divided into so many folds.
_TEN_FOLDS = 5_000
_TEN_FOLDS_OF_STACKS, _FIVE_FOLDS_OF_STACKS = 1_000, 20_000


def choose_n_folds(n_samples: int, *, of_stack: bool) -> int:
    """Choose the number of folds of a cross-validation whose predictions estimate the scores.

    Examples
    --------
    >>> [choose_n_folds(n_samples, of_stack=True) for n_samples in (1_000, 20_000, 20_001)]
    [10, 5, 3]
    >>> [choose_n_folds(n_samples, of_stack=False) for n_samples in (5_000, 5_001)]
    [10, 5]
    """
    # A model of two thirds of few samples is clearly worse than that of all: more folds are less
    # biased, and fits on few samples are fast. The weights of the members of a stack depend on the
    # folds as well, and ten folds of more than some 1,000 samples lead to less accurate stacks than
    # five; see docs/scores.md.
    if n_samples <= (_TEN_FOLDS_OF_STACKS if of_stack else _TEN_FOLDS):
        return 10
    return 3 if of_stack and n_samples > _FIVE_FOLDS_OF_STACKS else 5


def make_folds(
    n_folds: int, class_codes: NDArray[np.intp], groups: Any, seed: int | None
) -> list[Fold]:
    """Return shuffled stratified folds, fewer if the largest class or the groups are fewer.

    Samples of the same group are in the same fold.
    """
    n_folds = min(n_folds, int(np.bincount(class_codes).max()))
    if n_folds < 2:
        raise ValueError(
            "Cross-validation requires a class with at least two samples; every class in y "
            "has one sample."
        )
    if groups is not None:
        n_folds = min(n_folds, len(np.unique(groups)))
        if n_folds < 2:
            raise ValueError(
                "Cross-validation requires at least two groups; all samples are of one."
            )
    make_splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        # A class may have fewer samples than folds: if the test part of a fold contains all of
        # them, their out-of-fold probability of this class is 0.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splitter = make_splitter(n_folds, shuffle=True, random_state=seed)
        return list(splitter.split(class_codes, class_codes, groups))
