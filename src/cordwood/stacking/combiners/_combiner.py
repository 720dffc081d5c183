"""What all combiners share: the meta matrix, seen as members times classes, and how they answer."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._sklearn import check_sample_weight

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_ROUNDING = 1e-3  # by how much probabilities in single precision may miss their sum


class BaseCombiner(ClassifierMixin, BaseEstimator, ABC):
    """A classifier on a meta matrix; subclasses learn from it and score classes."""

    classes_: NDArray[Any]
    class_prior_: Floats

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn how far to believe whom.

        Parameters
        ----------
        X : array of shape (n_rows, n_members * n_classes)
            Probabilities, member after member, in the order of the sorted labels. Of rows that
            the members had not learnt from, or the most overfitted member is believed most.
        y : array of shape (n_rows,)
            The labels of the rows.
        sample_weight : array of shape (n_rows,), optional
            Their weights; a row of weight zero is as good as absent, but its label is still a
            class, if one that is never given.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = check_sample_weight(sample_weight, X)
        used = weights > 0
        if not used.any():
            raise ValueError("sample_weight is zero for every row; give at least one a weight")
        self.classes_, codes = np.unique(y, return_inverse=True)
        of_class = np.bincount(codes, weights, minlength=len(self.classes_))
        self.class_prior_ = of_class / of_class.sum()
        if not used.all():
            X, codes, weights = X[used], codes[used], weights[used]
        self._learn(X, codes, weights)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Give the probability of each class.

        Parameters
        ----------
        X : array of shape (n_rows, n_members * n_classes)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = np.where(self.class_prior_ > 0, self._score(X), 0.0)
        totals = scores.sum(axis=1, keepdims=True)
        known = totals > 0
        return np.where(known, scores / np.where(known, totals, 1.0), self.class_prior_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the most probable class; among equals the first in the order of `classes_`.

        Parameters
        ----------
        X : array of shape (n_rows, n_members * n_classes)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        probabilities = self.predict_proba(X)  # first: it complains where nothing was fitted
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    @abstractmethod
    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        """Learn from rows, the codes of their classes, and their weights, all above zero."""

    @abstractmethod
    def _score(self, X: Floats) -> Floats:
        """Give each class a score of at least zero, of any scale: shape (n_rows, n_classes)."""


def as_members(X: Floats, n_classes: int) -> Floats:
    """See a meta matrix as an array of shape (n_rows, n_members, n_classes), and check it.

    Examples
    --------
    >>> as_members(np.array([[0.9, 0.1, 0.4, 0.6]]), n_classes=2)
    array([[[0.9, 0.1],
            [0.4, 0.6]]])
    """
    n_columns = X.shape[1]
    if n_columns % n_classes:
        raise ValueError(
            f"X has {n_columns} columns, which is no multiple of the {n_classes} classes of y; "
            "give one column for each member and class, for two classes also two for each member"
        )
    check_probabilities(X)
    members = X.reshape(len(X), -1, n_classes)
    sums = members.sum(axis=2)
    if sums.max() > 1 + _ROUNDING:
        row, member = np.unravel_index(sums.argmax(), sums.shape)
        raise ValueError(
            f"X has a row, {row}, in which the {n_classes} probabilities of member {member} sum to "
            f"{sums[row, member]:.3g}; give one column for each member and class, for two classes "
            "also two for each member"
        )
    return members


def check_probabilities(X: Floats) -> None:
    """Complain of a value that is below zero or above one."""
    for extreme in (X.argmin(), X.argmax()):
        row, column = np.unravel_index(extreme, X.shape)
        value = X[row, column]
        if not -_ROUNDING <= value <= 1 + _ROUNDING:
            raise ValueError(
                f"X has {value:.3g} in row {row}, column {column}, which is no probability; give "
                "the members' predict_proba, not their decisions or features"
            )


def decide(members: Floats) -> Floats:
    """Give each member's vote to its most probable class; classes that are equal share it.

    Were it given to the first of them, the order of the classes would change the answer.

    Examples
    --------
    >>> decide(np.array([[[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]]]))
    array([[[1. , 0. , 0. ],
            [0.5, 0.5, 0. ]]])
    """
    best = members == members.max(axis=2, keepdims=True)
    votes: Floats = best / best.sum(axis=2, keepdims=True)
    return votes
