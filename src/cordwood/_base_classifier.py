"""What every ensemble of trees does alike: check the input, encode labels, answer from votes."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._csr import as_columns, as_rows
from cordwood._sklearn import check_sample_weight


class BaseVotingClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier whose probabilities are votes; subclasses grow something and let it vote."""

    classes_: NDArray[Any]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training rows. Values are compared in single precision.
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), optional
            Their weights; a row of weight zero is as good as absent.

        Returns
        -------
        self
        """
        self._grow(*self._check_rows(X, y, sample_weight))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return self._vote(as_rows(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the most probable class; among equals the first in the order of `classes_`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        votes = self.predict_proba(X)  # first, because it complains where nothing was fitted
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _goes_on(self) -> bool:
        """Tell whether `fit` adds to what is there, and so must be given rows of the same kind."""
        return False

    def _check_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[sp.csc_matrix, NDArray[np.uint32], NDArray[np.float64]]:
        """Check what `fit` was given; returns columns, the codes of their classes, and weights."""
        goes_on = self._goes_on()
        X, y = validate_data(self, X, y, accept_sparse="csc", dtype=np.float32, reset=not goes_on)
        check_classification_targets(y)
        weights = check_sample_weight(sample_weight, X)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row; give at least one a weight")
        classes, codes = np.unique(y, return_inverse=True)
        if goes_on and not np.array_equal(classes, self.classes_):
            raise ValueError(
                "y has other classes than in the last fit, which warm_start goes on from; give it "
                "the same classes, or set warm_start=False"
            )
        self.classes_ = classes
        return as_columns(X), codes.astype(np.uint32), weights

    @abstractmethod
    def _grow(
        self, X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        """Learn from columns and the codes of their rows' classes."""

    @abstractmethod
    def _vote(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        """Answer for rows: shape (n_rows, n_classes), rows that sum to one."""
