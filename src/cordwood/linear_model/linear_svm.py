"""Linear support vector classifier with calibrated probabilities and optional NB-SVM scaling."""

from __future__ import annotations  # `help` shows the short names

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from cordwood._base.class_weight import balanced_class_weights
from cordwood._base.csr import (
    MAX_DENSE_FEATURES,
    check_dense_size,
    check_sparse,
    drop_empty_columns,
    largest_magnitude,
    to_csr,
)
from cordwood._base.duplicates import assign_folds, number_duplicates
from cordwood._base.labels import find_indicators
from cordwood._base.param_validation import (
    N_JOBS,
    POSITIVE,
    RANDOM_STATE,
    Constraint,
    ParamValidationMixin,
    check_state,
    class_weights,
    integer,
    options,
    real,
)
from cordwood._base.samples import check_fitted, validate_samples
from cordwood._base.sklearn_private import check_sample_weight
from cordwood._base.temperature import HeldOutMargins, fit_temperature
from cordwood._base.threads import map_parallel
from cordwood._base.voting_classifier import (
    check_at_least_two_classes,
    check_classification_labels,
    warn_many_classes,
)
from cordwood._kernels.random import MAX_SEED
from cordwood.linear_model._linear_solvers import (
    LinearCoefficients,
    is_well_scaled,
    make_dual_solver,
    make_primal_solver,
    to_int32_indices,
)
from cordwood.linear_model._log_count_ratio import LogCountRatio

_N_FOLDS = 3
# The temperature is one number: a fold with so many held-out samples suffices to fit it.
_ENOUGH_HELD_OUT = 3000

# Largest absolute value of a feature: the squared norm of a sample must be finite.
_MAX_VALUE = 1e150

# Range of the cost of a sample, which is a divisor; products of parameters may be outside of it.
_MIN_COST, _MAX_COST = 1e-300, 1e300

# Fewer distinct samples than this are values of a few discrete features rather than copies: without
# its duplicates in the training folds, a held-out sample would have features that occur nowhere.
_MIN_DISTINCT_SAMPLES = 10 * _N_FOLDS


class _BinaryProblem(NamedTuple):
    """A class against the rest: positive samples, and factors on `C` of the rest and the class."""

    class_index: int
    is_positive: NDArray[np.bool_]
    class_weight: tuple[float, float]


class LinearSVMClassifier(ParamValidationMixin, ClassifierMixin, BaseEstimator):
    r"""Linear support vector classifier with probabilities.

    Like `sklearn.svm.LinearSVC`, with three additions: probabilities by temperature scaling, an
    optional scaling of the features by naive Bayes log-count ratios (NB-SVM), and one-vs-rest
    classifiers that are fitted in parallel threads with reproducible results. With
    ``nb_scaling=0``, the coefficients equal those of `LinearSVC` up to `tol`. If `y` is an
    indicator matrix, one classifier is fitted for each label.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the regularization strength. Must be positive.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss function.
    class_weight : dict, "balanced" or None, default=None
        Factor on `C` for each class; classes that a dict does not contain have the factor 1.
        "balanced" uses ``n_samples / (n_classes * np.bincount(y))``, with sample weights summed
        instead of samples counted; classes without weight do not count. In multilabel
        classification, only None and "balanced" are supported; the latter balances the samples
        with and without each label.
    nb_scaling : float or "auto", default=0.0
        Interpolation between unscaled features (0, plain SVM) and features scaled by their naive
        Bayes log-count ratio (1, NB-SVM [4]_). With "auto", each one-vs-rest classifier has its own
        value below 0.5, see Notes; this works well for word and character n-grams.
    tol : float, default=1e-4
        Tolerance of the stopping criterion.
    max_iter : int, default=10_000
        Maximum number of iterations. A `ConvergenceWarning` is issued if the solver reaches it.
    temperature : float or None, default=None
        Divisor of the margins in `predict_proba`. By default it is fitted on held-out samples,
        which requires up to three more fits; a fixed value saves this time and does not change
        `predict`.
    n_jobs : int or None, default=None
        Number of threads over which classes are distributed. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the sample order in the dual solver and of the folds that `temperature` is fitted
        on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; column indices in multilabel classification.
    multilabel_ : bool
        Whether `y` was an indicator matrix.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
        Coefficients; for two classes, those of the second class.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        Intercepts.
    temperature_ : float
        Divisor of the margins in `predict_proba`. It is 1.0 if `temperature` is None and there
        are too few samples to hold out any.
    n_iter_ : int
        Maximum number of iterations over all classes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are
        all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : The same classifier without probabilities.
    sklearn.calibration.CalibratedClassifierCV : Calibration of any classifier by cross-validation.

    Notes
    -----
    Probabilities are the softmax of the margins :math:`f_k(x)` divided by a temperature T [3]_,

    .. math:: P(k \mid x) = \frac{\exp(f_k(x) / T)}{\sum_j \exp(f_j(x) / T)},

    and the logistic function of :math:`f(x) / T` for two classes. T minimizes the log loss of
    margins from 3-fold cross-validation with Platt's smoothed targets [2]_; folds are left out once
    3,000 samples have been held out. A positive T preserves the order of the classes, so `predict`
    returns the most probable class.

    For the cross-validation, duplicates are merged to one sample with the sum of their weights.
    A sample whose duplicate is in the training folds would have a larger margin than a new sample
    has, and the probabilities would be overconfident. Duplicates are not merged if fewer than 30
    samples are distinct, as with a few discrete features.

    Log-count ratios of few counts are unreliable. With ``nb_scaling="auto"``, the interpolation is
    :math:`0.5\, m^2 / (m^2 + 20000^2)`, where m is the smaller of the weighted numbers of non-zero
    values in the training samples of the class and of the rest: nearly a plain SVM for a hundred
    short texts of a class, nearly 0.5 for a hundred long ones.

    The problem is solved in the dual by coordinate descent [1]_ if there are more features than
    samples, if the loss is the hinge loss, or if values or weights are extremely large or small;
    otherwise in the primal by LIBLINEAR.

    References
    ----------
    .. [1] Hsieh, Chang, Lin, Keerthi, Sundararajan (2008). A dual coordinate descent method for
       large-scale linear SVM. ICML.
    .. [2] Platt (1999). Probabilistic outputs for support vector machines. Section 2.2.
    .. [3] Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.
       Section 4.2.
    .. [4] Wang, Manning (2012). Baselines and bigrams: simple, good sentiment and topic
       classification. ACL.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cordwood.linear_model import LinearSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVMClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 2])
    >>> model.predict_proba(X[[0, 70]]).round(2)
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.13, 0.87]])
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "C": POSITIVE,
        "loss": options("squared_hinge", "hinge"),
        "class_weight": class_weights("balanced"),
        "nb_scaling": options("auto") | real("[]", 0, 1),
        "tol": POSITIVE,
        "max_iter": integer(1),
        "temperature": options(None) | POSITIVE,
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        class_weight: dict[Any, float] | str | None = None,
        nb_scaling: float | str = 0.0,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        temperature: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.nb_scaling = nb_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to the training set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or indicator matrix of shape (n_samples, n_labels)
            Class labels, or label indicators for multilabel classification.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; None means equal weights.

        Returns
        -------
        self : LinearSVMClassifier
            Fitted estimator.
        """
        self._validate_params()
        indicators = find_indicators(y)
        # A single column contains the labels of a binary problem, as in scikit-learn.
        self.multilabel_ = indicators is not None and (indicators.shape[1] > 1 or sp.issparse(y))
        if not self.multilabel_:
            check_classification_labels(y)
        X, y = validate_data(
            self,
            check_sparse(X),
            y,
            accept_sparse="csr",
            # Sparse matrices of single precision, such as those of vectorizers, are not copied.
            dtype=[np.float64, np.float32] if sp.issparse(X) else np.float64,
            order="C",
            multi_output=self.multilabel_,
        )
        check_classification_targets(y)
        if self.multilabel_:
            y = indicators
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_ = np.unique(y)
            check_at_least_two_classes(self.classes_)
        self._check_class_weight()
        n_classifiers = 1 if self._is_binary else len(self.classes_)
        check_dense_size(n_classifiers, self.n_features_in_, "coef_")
        _check_values(X)
        n_fits = 1 + _N_FOLDS * (self.temperature is None)
        warn_many_classes(n_classifiers, n_fits, "set temperature, n_jobs")
        X, columns = _select_columns(X)
        X = to_int32_indices(X)
        weights = check_sample_weight(sample_weight, X)
        rng = check_state(self.random_state)
        coef, self.intercept_, self.n_iter_ = self._fit_coefficients(X, y, weights, rng)
        self.coef_ = _insert_columns(coef, columns, self.n_features_in_)
        if sp.issparse(X):
            # The transpose of a matrix in C order is copied in each product with a sparse matrix.
            self.coef_ = np.asfortranarray(self.coef_)
        if self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"Solver failed to converge after max_iter={self.max_iter} iterations. Increase "
                "max_iter or tol, or decrease C.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if self.temperature is None:
            self.temperature_ = fit_temperature(list(self._held_out_margins(X, y, weights, rng)))
        else:
            self.temperature_ = float(self.temperature)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the margins of the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Signed distance to the hyperplane of each class, times the norm of its coefficients.
            For two classes, one value per sample, positive for the second class. In multilabel
            classification, one value for each label, positive if it is predicted.
        """
        X = validate_samples(self, X, np.float64)
        margins: NDArray[np.float64] = X @ self.coef_.T + self.intercept_
        return margins[:, 0] if self._is_binary else margins

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`. In multilabel classification,
            they do not sum to one.
        """
        margins = self.decision_function(X)
        margins /= self.temperature_
        if self.multilabel_:
            return np.asarray(expit(margins))
        if self._is_binary:
            return np.column_stack([expit(-margins), expit(margins)])
        probabilities: NDArray[np.float64] = softmax(margins, axis=1)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each sample, or all labels of positive margin.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Predicted labels; label indicators in multilabel classification.
        """
        check_fitted(self)
        if self.multilabel_:
            return (self.decision_function(X) > 0).astype(np.int64)
        # Not by the margins: margins that differ by a rounding error have equal probabilities, and
        # predict must agree with the argmax of predict_proba.
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    @property
    def _is_binary(self) -> bool:
        """Whether there are two classes, which one classifier separates."""
        return len(self.classes_) == 2 and not self.multilabel_

    def _check_class_weight(self) -> None:
        if self.multilabel_ and isinstance(self.class_weight, Mapping):
            raise ValueError("class_weight must be None or 'balanced' if y is an indicator matrix.")
        if isinstance(self.class_weight, Mapping):
            for label, weight in self.class_weight.items():
                if label not in self.classes_.tolist():
                    raise ValueError(f"class_weight has the label {label!r}, which is not in y.")
                POSITIVE.check(f"class_weight of {label!r}", weight)

    def _fit_coefficients(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> LinearCoefficients:
        """Fit one classifier per class of `y`, or one in all for two classes."""
        problems = self._list_problems(y, weights)
        class_weight = np.array([problem.class_weight for problem in problems])
        if not weights.all():
            weighted = np.flatnonzero(weights)
            X, weights = X[weighted], weights[weighted]
            problems = [
                problem._replace(is_positive=problem.is_positive[weighted]) for problem in problems
            ]
        ratios = LogCountRatio(X, weights, self.nb_scaling) if self.nb_scaling else None
        weights = self.C * weights
        has_both_classes = all(len(np.unique(problem.is_positive)) == 2 for problem in problems)
        use_primal = X.shape[0] >= X.shape[1] and self.loss == "squared_hinge" and has_both_classes
        if use_primal and is_well_scaled(X, weights, class_weight):
            solve = make_primal_solver(X, float(self.tol), int(self.max_iter))
        else:
            seed = int(rng.randint(MAX_SEED, dtype=np.int64))
            hinge = self.loss == "hinge"
            solve = make_dual_solver(X, hinge, float(self.tol), int(self.max_iter), seed)
        coef = np.empty((len(problems), X.shape[1]))

        def fit_problem(row: int) -> tuple[float, int]:
            problem = problems[row]
            is_positive, (rest_weight, positive_weight) = problem.is_positive, problem.class_weight
            costs = weights * np.where(is_positive, positive_weight, rest_weight)
            costs = np.clip(costs, _MIN_COST, _MAX_COST)
            scale = None if ratios is None else ratios.scale(is_positive)
            coef[row], intercept, n_iter = solve(problem.class_index, is_positive, costs, scale)
            return intercept, n_iter

        results = list(map_parallel(fit_problem, range(len(problems)), self.n_jobs))
        intercepts, n_iters = zip(*results, strict=True)
        return LinearCoefficients(coef, np.array(intercepts), max(n_iters))

    def _list_problems(self, y: NDArray[Any], weights: NDArray[np.float64]) -> list[_BinaryProblem]:
        """Return the binary problems of all classes, or of the second one if there are two."""
        if self.multilabel_:
            problems = []
            for label, is_positive in enumerate(y.T):
                factors = np.ones(2)
                if self.class_weight == "balanced":
                    factors = balanced_class_weights(is_positive.astype(np.intp), weights, 2)
                problems.append(_BinaryProblem(label, is_positive, (factors[0], factors[1])))
            return problems
        classes, class_codes = np.unique(y, return_inverse=True)
        class_weight = self._compute_class_weight(classes, class_codes, weights)
        # As in LIBLINEAR: in one-vs-rest problems, the rest has the class weight 1.
        rest_weight = class_weight[0] if len(classes) == 2 else 1.0
        return [
            _BinaryProblem(index, class_codes == index, (rest_weight, class_weight[index]))
            for index in ([1] if len(classes) == 2 else range(len(classes)))
        ]

    def _compute_class_weight(
        self, classes: NDArray[Any], class_codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the factor on `C` of each class."""
        if self.class_weight == "balanced":
            return balanced_class_weights(class_codes, weights, len(classes))
        given = self.class_weight if isinstance(self.class_weight, Mapping) else {}
        return np.array([float(given.get(label, 1.0)) for label in classes.tolist()])

    def _held_out_margins(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Iterator[HeldOutMargins]:
        """Yield cross-validated margins of the samples whose class is in the training folds."""
        # The last folds are left out if the others have enough samples. Duplicates are in the same
        # fold; those of the same class are one sample with their weight.
        groups = _group_duplicates(X, weights)
        if self.multilabel_:
            yield from self._held_out_label_margins(X, y, weights, groups, rng)
            return
        weights = _merge_weights(groups, y, weights)
        samples = rng.permutation(np.flatnonzero(weights > 0))
        samples = samples[np.argsort(y[samples], kind="stable")]
        folds = assign_folds(y, groups, _N_FOLDS, samples)[samples]
        n_held_out = 0
        for fold in range(_N_FOLDS):
            if n_held_out >= _ENOUGH_HELD_OUT:
                return
            train, test = samples[folds != fold], samples[folds == fold]
            classes = np.unique(y[train])
            test = test[np.isin(y[test], classes)]
            if len(classes) < 2 or not len(test):
                continue
            fitted = self._fit_coefficients(X[train], y[train], weights[train], rng)
            margins = X[test] @ fitted.coef.T + fitted.intercept
            if margins.shape[1] == 1:
                margins = margins[:, 0]
                # If there are other classes, each of the two has a one-vs-rest margin.
                other = np.zeros_like(margins) if len(self.classes_) == 2 else -margins
                margins = np.column_stack([other, margins])
            n_held_out += len(test)
            yield HeldOutMargins(margins, np.searchsorted(classes, y[test]), weights[test])

    def _held_out_label_margins(
        self,
        X: Any,
        y: NDArray[np.bool_],
        weights: NDArray[np.float64],
        groups: NDArray[np.intp],
        rng: np.random.RandomState,
    ) -> Iterator[HeldOutMargins]:
        """Yield cross-validated margins of all pairs of a sample and a label."""
        label_sets = np.unique(y, axis=0, return_inverse=True)[1].ravel()
        samples = rng.permutation(np.flatnonzero(weights > 0))
        samples = samples[np.argsort(label_sets[samples], kind="stable")]
        folds = assign_folds(label_sets, groups, _N_FOLDS, samples)[samples]
        n_held_out = 0
        for fold in range(_N_FOLDS):
            train, test = samples[folds != fold], samples[folds == fold]
            if n_held_out >= _ENOUGH_HELD_OUT or not len(train) or not len(test):
                return
            fitted = self._fit_coefficients(X[train], y[train], weights[train], rng)
            margins = (X[test] @ fitted.coef.T + fitted.intercept).ravel()
            n_held_out += len(test)
            yield HeldOutMargins(
                np.column_stack([np.zeros_like(margins), margins]),
                y[test].ravel().astype(np.intp),
                np.repeat(weights[test], y.shape[1]),
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _check_values(X: Any) -> None:
    largest = largest_magnitude(X)
    if largest > _MAX_VALUE:
        raise ValueError(
            f"X has a value of magnitude {largest:g}, but at most {_MAX_VALUE:g} is supported; "
            "scale the features, for example by sklearn.preprocessing.MaxAbsScaler."
        )


def _select_columns(X: Any) -> tuple[Any, NDArray[np.int32] | None]:
    """With too many sparse features, return those that occur, and their indices."""
    if isinstance(X, np.ndarray) or X.shape[1] <= MAX_DENSE_FEATURES:
        return X, None
    return drop_empty_columns(to_csr(X))


def _insert_columns(
    coef: NDArray[np.float64], columns: NDArray[np.int32] | None, n_features: int
) -> NDArray[np.float64]:
    """Return the coefficients of all features, zero for those that do not occur."""
    if columns is None:
        return coef
    all_coef = np.zeros((len(coef), n_features))
    all_coef[:, columns] = coef
    return all_coef


def _group_duplicates(X: Any, weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return a group for each sample: its duplicates, or itself if few samples are distinct."""
    groups = number_duplicates(X)
    if len(np.unique(groups[weights > 0])) < _MIN_DISTINCT_SAMPLES:
        return np.arange(len(groups))
    return groups


def _merge_weights(
    groups: NDArray[np.intp], y: NDArray[Any], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move the weights of all samples of the same group and class to the first of them."""
    classes, codes = np.unique(y, return_inverse=True)
    _, first, merged = np.unique(
        groups * len(classes) + codes, return_index=True, return_inverse=True
    )
    sums = np.zeros(len(y))
    sums[first] = np.bincount(merged, weights)
    return sums
