"""The linear baseline: a support vector machine that also gives probabilities.

Every ensemble here has to beat it, so it is scikit-learn's own `LinearSVC`, coefficient for
coefficient, and only the probabilities are added. Evidence is the exception, and off by default.
"""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._param_validation import (
    check_choice,
    check_fraction,
    check_jobs,
    check_number,
    check_positive,
)
from cordwood._random import MAX_SEED
from cordwood._sklearn import check_sample_weight
from cordwood.linear_model._linear_solvers import (
    Planes,
    make_dual,
    make_primal,
    with_narrow_indices,
)
from cordwood.linear_model._log_count_ratio import Evidence
from cordwood.linear_model._temperature import HeldOut, fit_slope

_N_FOLDS = 3


class LinearSVMClassifier(ClassifierMixin, BaseEstimator):
    """Linear support vector machine, one class against the rest, with probabilities.

    The coefficients are those of `sklearn.svm.LinearSVC` with the same parameters, as far as the
    tolerance goes. Unlike there, the same seed gives the same machine in threads as well, and
    classes are learnt side by side. Probabilities are the softmax of the margins (the logistic
    function of the margin for two classes) times one slope, fitted on margins of documents that
    the machine was not trained on. One positive slope cannot reorder classes, so the most probable
    class is always the predicted one.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the size of the coefficients.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        What a document on the wrong side of the margin costs.
    class_weight : dict, "balanced" or None, default=None
        Factor on `C` for each class.
    evidence : float, default=0.0
        How much of the scale of features is what their presence tells of a class by naive Bayes
        [4]_: from 0, where all are alike, to 1. A half suits word pairs and characters.
    tol : float, default=1e-4
        When to stop.
    max_iter : int, default=10_000
        When to stop at the latest, with a `ConvergenceWarning`.
    slope : float, optional
        What margins are multiplied by to give probabilities. By default it is fitted, which takes
        three machines more; where only answers count, or a stack calibrates its members anyway, a
        number saves them.
    n_jobs : int, optional
        Number of threads, which share the classes. It changes the time, never the result.
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
    .. [4] Wang, Manning (2012). Baselines and bigrams: simple, good sentiment and topic
       classification. ACL.

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
        evidence: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        slope: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.evidence = evidence
        self.tol = tol
        self.max_iter = max_iter
        self.slope = slope
        self.n_jobs = n_jobs
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
        self._check_parameters()
        X = with_narrow_indices(X)
        weights = check_sample_weight(sample_weight, X)
        rng = check_random_state(self.random_state)
        self.coef_, self.intercept_, self.n_iter_ = self._separate(X, y, weights, rng)
        if self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"the planes had not settled after {self.max_iter} rounds, so that they may be "
                "off; raise max_iter or tol, or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
        if self.slope is not None:
            self.slope_: float = float(self.slope)
            return self
        self.slope_ = fit_slope(list(self._held_out(X, y, weights, rng)))
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

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, ("squared_hinge", "hinge"))
        check_positive("C", self.C)
        check_fraction("evidence", self.evidence)
        check_positive("tol", self.tol)
        check_number("max_iter", self.max_iter, 1)
        check_jobs(self.n_jobs)
        if self.slope is not None:
            check_positive("slope, if it is not None,", self.slope)
        if isinstance(self.class_weight, Mapping):
            for label, factor in self.class_weight.items():
                check_choice("a label of class_weight", label, self.classes_.tolist())
                check_positive(f"class_weight of {label!r}", factor)
        else:
            choices = (None, "balanced")
            check_choice("class_weight, if it is no mapping,", self.class_weight, choices)

    def _separate(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Planes:
        """Find the planes of the classes that `y` has."""
        classes, codes = np.unique(y, return_inverse=True)
        factors = self._weigh_classes(classes, codes, weights)
        if not weights.all():
            known = np.flatnonzero(weights)
            X, codes, weights = X[known], codes[known], weights[known]
        evidence = Evidence(X, weights, float(self.evidence)) if self.evidence else None
        weights = self.C * weights
        machines = [1] if len(classes) == 2 else range(len(classes))
        has_all = len(np.unique(codes)) == len(classes)
        if X.shape[0] >= X.shape[1] and self.loss == "squared_hinge" and has_all:
            fit = make_primal(X, float(self.tol), int(self.max_iter))
        else:
            seed = int(rng.randint(MAX_SEED, dtype=np.int64))
            fit = make_dual(X, self.loss == "hinge", float(self.tol), int(self.max_iter), seed)

        def separate_one(machine: int) -> tuple[NDArray[np.float64], int]:
            is_class = codes == machine
            # As in LIBLINEAR: of many classes, the rest counts as if it had no weight of its own.
            rest = factors[0] if len(classes) == 2 else 1.0
            costs = weights * np.where(is_class, factors[machine], rest)
            scale = None if evidence is None else evidence.weigh(is_class)
            return fit(machine, is_class, costs, scale)

        found = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(separate_one)(machine) for machine in machines
        )
        return Planes(
            np.array([plane[:-1] for plane, _ in found]),
            np.array([plane[-1] for plane, _ in found]),
            max(n for _, n in found),
        )

    def _weigh_classes(
        self, classes: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Give the factor of each class."""
        if self.class_weight == "balanced":
            sizes = np.bincount(codes, weights, len(classes))
            return np.asarray(sizes.sum() / (len(classes) * np.where(sizes > 0, sizes, np.inf)))
        given = self.class_weight if isinstance(self.class_weight, Mapping) else {}
        return np.array([float(given.get(label, 1.0)) for label in classes.tolist()])

    def _held_out(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Iterator[HeldOut]:
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
            planes = self._separate(X[train], y[train], weights[train], rng)
            margins = X[test] @ planes.coef.T + planes.intercept
            if margins.shape[1] == 1:
                margins = margins[:, 0]
                # Against the rest, two of many classes would have mirror images as margins.
                other = np.zeros_like(margins) if len(self.classes_) == 2 else -margins
                margins = np.column_stack([other, margins])
            yield HeldOut(margins, np.searchsorted(present, y[test]), weights[test])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
