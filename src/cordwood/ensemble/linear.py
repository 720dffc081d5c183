"""The linear baseline: a support vector machine that also gives probabilities.

Every ensemble here has to beat it, so it is scikit-learn's own `LinearSVC`, coefficient for
coefficient, and only the probabilities are added.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood.checks import check_positive

_N_FOLDS = 3
_LOG_SLOPES = (-7.0, 7.0)  # of margins scaled to unit size: from nearly uniform to nearly certain


class _HeldOut(NamedTuple):
    """Documents judged by a machine that was trained without them."""

    margins: NDArray[np.float64]
    columns: NDArray[np.intp]
    weights: NDArray[np.float64]


class LinearSVMClassifier(ClassifierMixin, BaseEstimator):
    """Linear support vector machine, one class against the rest, with probabilities.

    The coefficients are those of `sklearn.svm.LinearSVC` with the same parameters. Probabilities
    are the softmax of the margins (the logistic function of the margin for two classes) times
    one slope, fitted on margins of documents that the machine was not trained on. One positive
    slope cannot reorder classes, so the most probable class is always the predicted one.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the size of the coefficients.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        What a document on the wrong side of the margin costs.
    class_weight : dict, "balanced" or None, default=None
        Factor on `C` for each class.
    tol : float, default=1e-4
        When to stop.
    max_iter : int, default=10_000
        When to stop at the latest, with a `ConvergenceWarning`.
    slope : float, optional
        What margins are multiplied by to give probabilities. By default it is fitted, which takes
        three machines more; where only answers count, or a stack calibrates its members anyway, a
        number saves them.
    random_state : int, RandomState or None, default=None
        Seed of the solver's order of documents and of the folds for the slope.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weight of each feature.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Constant of each margin.
    slope_ : float
        What margins are multiplied by to give probabilities. It is 1.0, a mere convention, if
        the data were too few for any document to be judged by a machine that had seen others of
        its class but not itself.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] Fan, Chang, Hsieh, Wang, Lin (2008). LIBLINEAR: a library for large linear
       classification. JMLR 9.
    .. [2] Platt (1999). Probabilistic outputs for support vector machines. Section 2.2: the
       targets that keep the slope finite on separable data.
    .. [3] Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.
       Section 4.2: one slope for all classes, there as its inverse, the temperature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVMClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 2])
    >>> model.predict_proba(X[[0, 70]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.13, 0.87]])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        slope: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.slope = slope
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Find the coefficients, then the slope.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features)
            Training documents.
        y : array of shape (n_documents,)
            Their labels, of any type that sorts.
        sample_weight : array of shape (n_documents,), optional
            How much each document counts.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) == 1:
            raise ValueError(
                f"all labels are of one class, {self.classes_.tolist()[0]!r}; "
                "a classifier needs at least two"
            )
        if self.slope is not None:
            check_positive("slope, if it is not None,", self.slope)
        X = _with_narrow_indices(X)
        rng = check_random_state(self.random_state)
        machine = self._machine(self.classes_, rng).fit(X, y, sample_weight)
        self.coef_: NDArray[np.float64] = machine.coef_
        self.intercept_: NDArray[np.float64] = np.atleast_1d(machine.intercept_)
        self.n_iter_: int = int(np.max(machine.n_iter_))
        if self.slope is not None:
            self.slope_: float = float(self.slope)
            return self
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        weights = np.broadcast_to(weights, y.shape)
        self.slope_ = _fit_slope(list(self._held_out(X, y, weights, rng)))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Margins: on which side of each class's plane a document is, and how far from it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features)
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes), or (n_documents,) for two classes
            For two classes, positive means the second.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        margins: NDArray[np.float64] = X @ self.coef_.T + self.intercept_
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features)
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Rows sum to one; columns are in the order of `classes_`.
        """
        margins = self.decision_function(X)
        margins *= self.slope_
        if len(self.classes_) == 2:
            return np.column_stack([expit(-margins), expit(margins)])
        probabilities: NDArray[np.float64] = softmax(margins, axis=1)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_features)
            Documents.

        Returns
        -------
        ndarray of shape (n_documents,)
            Labels.
        """
        # Not from the margins: two that differ by a rounding error give equal probabilities, and
        # then both roads must take the same class.
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def _machine(self, present: NDArray[Any], rng: np.random.RandomState) -> LinearSVC:
        """Build the unfitted machine for the classes that are present."""
        class_weight = self.class_weight
        if isinstance(class_weight, dict):
            # scikit-learn refuses weights of classes that a part of the data lacks.
            lacking = set(self.classes_.tolist()) - set(present.tolist())
            class_weight = {k: v for k, v in class_weight.items() if k not in lacking}
        return LinearSVC(
            C=self.C,
            loss=self.loss,
            class_weight=class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            dual="auto",
            random_state=rng,
        )

    def _held_out(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Iterator[_HeldOut]:
        """Yield, fold by fold, the documents whose class the other folds know."""
        rows = rng.permutation(np.flatnonzero(weights > 0))
        rows = rows[np.argsort(y[rows], kind="stable")]
        # Dealing rows out in order of class spreads each class evenly over the folds.
        folds = np.arange(len(rows)) % _N_FOLDS
        for fold in range(_N_FOLDS):
            train, test = rows[folds != fold], rows[folds == fold]
            present = np.unique(y[train])
            test = test[np.isin(y[test], present)]
            if len(present) < 2 or not len(test):
                continue
            with warnings.catch_warnings():
                # The machine itself has warned already, from more data.
                warnings.simplefilter("ignore", ConvergenceWarning)
                machine = self._machine(present, rng).fit(X[train], y[train], weights[train])
            margins = machine.decision_function(X[test])
            if margins.ndim == 1:
                # Against the rest, two of many classes would have mirror images as margins.
                other = np.zeros_like(margins) if len(self.classes_) == 2 else -margins
                margins = np.column_stack([other, margins])
            yield _HeldOut(margins, np.searchsorted(present, y[test]), weights[test])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _fit_slope(parts: list[_HeldOut]) -> float:
    """Maximise the likelihood of the held-out labels, each smoothed by one unseen document a class.

    Without that smoothing (Platt 1999, section 2.2) separable documents would ask for an infinite
    slope, and the first error after them would cost an infinite log-loss.
    """
    n_documents = sum(len(part.columns) for part in parts)
    size = np.sqrt(sum(np.square(part.margins).sum() for part in parts) / max(n_documents, 1))
    if not size:
        return 1.0

    def loss(log_slope: float) -> float:
        total = 0.0
        for margins, columns, weights in parts:
            logs = log_softmax(np.exp(log_slope) / size * margins, axis=1)
            n_columns = logs.shape[1]
            smoothed = n_documents * logs[np.arange(len(logs)), columns] + logs.sum(axis=1)
            total -= float(weights @ smoothed) / (n_documents + n_columns)
        return total

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded").x) / size)


def _with_narrow_indices(X: Any) -> Any:
    """Give sparse `X` the 32-bit indices that liblinear wants."""
    if isinstance(X, np.ndarray) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        raise ValueError(
            f"X has {X.shape[1]} columns and {X.nnz} values, and liblinear takes at most "
            "2**31 - 1 of either"
        )
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, indptr), shape=X.shape)
