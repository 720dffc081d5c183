"""Logistic regression on sentence embeddings, with vectors of the classes themselves."""

from __future__ import annotations  # `help` shows the short names

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from cordwood._base.csr import check_sparse
from cordwood._base.param_validation import (
    BOOLEAN,
    POSITIVE,
    Constraint,
    ParamValidationMixin,
    integer,
    options,
)
from cordwood._base.samples import validate_samples
from cordwood._base.sklearn_private import check_sample_weight


class EmbeddingClassifier(ParamValidationMixin, LogisticRegression):
    """Logistic regression on sentence embeddings, which are dense vectors of unit norm.

    Parameters
    ----------
    C : float or None, default=None
        Inverse regularization strength. None is ``3 * sqrt(n_classes / 2)``.
    balanced : bool, default=False
        Whether all classes have the same total weight.
    class_vectors : mapping of labels to array-like of shape (n_vectors, n_features), default=None
        Vectors of what the classes mean, such as those of their names or descriptions. They count
        as training samples. Classes may be missing in it; labels without a training sample are not
        added to `classes_`.
    class_vectors_weight : float, default=3.0
        Weight of the vectors of one class together, in samples. With the default, they help most
        with up to 16 samples per class, and have hardly any influence with 64.
    max_iter : int, default=300
        Maximum number of iterations of the solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_iter_ : ndarray of shape (1,)
        Number of iterations of the solver.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    cordwood.EmbeddingVectorizer : Vectors of texts.

    Examples
    --------
    The vectors of the classes decide about the second feature, which no sample has:

    >>> X, y = [[1.0, 0.0, 0.1], [1.0, 0.0, -0.1]], ["good", "bad"]
    >>> class_vectors = {"good": [[0.0, 1.0, 0.0]], "bad": [[0.0, -1.0, 0.0]]}
    >>> model = EmbeddingClassifier(class_vectors=class_vectors).fit(X, y)
    >>> model.predict([[0.0, 0.6, 0.0], [0.0, -0.6, 0.0]]).tolist()
    ['good', 'bad']
    """

    _parameter_constraints = {
        "C": POSITIVE | options(None),
        "balanced": BOOLEAN,
        "class_vectors": Constraint(
            "a mapping of labels to vectors or None",
            lambda value: value is None or isinstance(value, Mapping),
        ),
        "class_vectors_weight": POSITIVE,
        "max_iter": integer(1),
    }

    solver = "lbfgs"  # which is no parameter; probabilities are those of a multinomial model

    def __init__(
        self,
        *,
        C: float | None = None,
        balanced: bool = False,
        class_vectors: Mapping[Any, ArrayLike] | None = None,
        class_vectors_weight: float = 3.0,
        max_iter: int = 300,
    ) -> None:
        self.C = C
        self.balanced = balanced
        self.class_vectors = class_vectors
        self.class_vectors_weight = class_vectors_weight
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Vectors.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        self : EmbeddingClassifier
        """
        self._validate_params()
        X, y = validate_data(
            self, check_sparse(X), y, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        weights = check_sample_weight(sample_weight, X)
        X, y, weights = self._add_class_vectors(X, y, weights)
        classes, codes = np.unique(y, return_inverse=True)
        if self.balanced:
            totals = np.bincount(codes, weights)
            weights = weights * (totals.mean() / np.where(totals > 0, totals, 1.0))[codes]
        C = 3 * np.sqrt(len(classes) / 2) if self.C is None else self.C
        fitted = LogisticRegression(C=C, max_iter=self.max_iter).fit(X, y, weights)
        for name in ("classes_", "coef_", "intercept_", "n_iter_"):
            setattr(self, name, getattr(fitted, name))
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Vectors.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; of the second class, if there are two.
        """
        scores = np.asarray(validate_samples(self, X) @ self.coef_.T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Vectors.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with classes in the order of `classes_`.
        """
        scores = np.asarray(self.decision_function(X), np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return np.asarray(softmax(scores, axis=1))

    def _add_class_vectors(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64]
    ) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
        """Append the vectors of the classes that have training samples."""
        given = self.class_vectors or {}
        known = [label for label in np.unique(y).tolist() if label in given]
        if not known:
            return X, y, weights
        if sp.issparse(X):
            raise ValueError("class_vectors requires X to be dense.")
        blocks = [np.atleast_2d(np.asarray(given[label], X.dtype)) for label in known]
        for label, block in zip(known, blocks, strict=True):
            if block.ndim != 2 or block.shape[1] != X.shape[1] or not np.isfinite(block).all():
                raise ValueError(
                    f"class_vectors of {label!r} must be finite vectors of {X.shape[1]} elements; "
                    f"got an array of shape {block.shape}."
                )
        sizes = [len(block) for block in blocks]
        shares = np.repeat([self.class_vectors_weight / size for size in sizes], sizes)
        # The labels keep their type: those of `known` are Python objects.
        labels = np.repeat(y[[np.flatnonzero(y == label)[0] for label in known]], sizes)
        return np.vstack([X, *blocks]), np.r_[y, labels], np.r_[weights, shares]
