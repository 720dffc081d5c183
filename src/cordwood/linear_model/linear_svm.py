"""Linear support vector classifier with calibrated probabilities and optional NB-SVM scaling."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._base_classifier import check_at_least_two_classes, check_classification_labels
from cordwood._duplicates import number_duplicates, stratify_groups
from cordwood._param_validation import (
    N_JOBS,
    POSITIVE,
    RANDOM_STATE,
    Constraint,
    ParamValidationMixin,
    check_positive,
    check_state,
    class_weights,
    integer,
    options,
    real,
)
from cordwood._random import MAX_SEED
from cordwood._sklearn import check_sample_weight
from cordwood._temperature import HeldOutMargins, fit_temperature
from cordwood.linear_model._linear_solvers import (
    LinearCoefficients,
    make_dual_solver,
    make_primal_solver,
    to_int32_indices,
)
from cordwood.linear_model._log_count_ratio import LogCountRatio

_N_FOLDS = 3
# The temperature is one number: a fold with so many held-out samples suffices to fit it.
_ENOUGH_HELD_OUT = 3000

# Fewer distinct samples than this are values of a few discrete features rather than copies: without
# its duplicates in the training folds, a held-out sample would have features that occur nowhere.
_MIN_DISTINCT_SAMPLES = 10 * _N_FOLDS


class LinearSVMClassifier(ParamValidationMixin, ClassifierMixin, BaseEstimator):
    r"""Linear support vector classifier with probabilities.

    Like `sklearn.svm.LinearSVC`, with three additions: probabilities by temperature scaling, an
    optional scaling of the features by naive Bayes log-count ratios (NB-SVM), and one-vs-rest
    classifiers that are fitted in parallel threads with reproducible results. With
    ``nb_scaling=0``, the coefficients equal those of `LinearSVC` up to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the regularization strength. Must be positive.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss function.
    class_weight : dict, "balanced" or None, default=None
        Factor on `C` for each class; classes that a dict does not contain have the factor 1.
        "balanced" uses ``n_samples / (n_classes * np.bincount(y))``.
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
        Class labels, sorted.
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
    samples or the loss is the hinge loss, otherwise in the primal by LIBLINEAR.

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
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; None means equal weights.

        Returns
        -------
        self : LinearSVMClassifier
            Fitted estimator.
        """
        self._validate_params()
        check_classification_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        check_at_least_two_classes(self.classes_)
        self._check_class_weight()
        X = to_int32_indices(X)
        weights = check_sample_weight(sample_weight, X)
        rng = check_state(self.random_state)
        self.coef_, self.intercept_, self.n_iter_ = self._fit_coefficients(X, y, weights, rng)
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
            For two classes, one value per sample, positive for the second class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        margins: NDArray[np.float64] = X @ self.coef_.T + self.intercept_
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`.
        """
        margins = self.decision_function(X)
        margins /= self.temperature_
        if len(self.classes_) == 2:
            return np.column_stack([expit(-margins), expit(margins)])
        probabilities: NDArray[np.float64] = softmax(margins, axis=1)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        # Not by the margins: margins that differ by a rounding error have equal probabilities, and
        # predict must agree with the argmax of predict_proba.
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def _check_class_weight(self) -> None:
        if isinstance(self.class_weight, Mapping):
            for label, weight in self.class_weight.items():
                if label not in self.classes_.tolist():
                    raise ValueError(f"class_weight has the label {label!r}, which is not in y.")
                check_positive(f"class_weight of {label!r}", weight)

    def _fit_coefficients(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> LinearCoefficients:
        """Fit one classifier per class of `y`, or one in all for two classes."""
        classes, class_codes = np.unique(y, return_inverse=True)
        class_weight = self._compute_class_weight(classes, class_codes, weights)
        if not weights.all():
            weighted = np.flatnonzero(weights)
            X, class_codes, weights = X[weighted], class_codes[weighted], weights[weighted]
        ratios = LogCountRatio(X, weights, self.nb_scaling) if self.nb_scaling else None
        weights = self.C * weights
        fitted_classes = [1] if len(classes) == 2 else range(len(classes))
        has_all_classes = len(np.unique(class_codes)) == len(classes)
        if X.shape[0] >= X.shape[1] and self.loss == "squared_hinge" and has_all_classes:
            solve = make_primal_solver(X, float(self.tol), int(self.max_iter))
        else:
            seed = int(rng.randint(MAX_SEED, dtype=np.int64))
            hinge = self.loss == "hinge"
            solve = make_dual_solver(X, hinge, float(self.tol), int(self.max_iter), seed)

        def fit_class(class_index: int) -> tuple[NDArray[np.float64], int]:
            is_positive = class_codes == class_index
            # As in LIBLINEAR: in one-vs-rest problems, the rest has the class weight 1.
            rest_weight = class_weight[0] if len(classes) == 2 else 1.0
            costs = weights * np.where(is_positive, class_weight[class_index], rest_weight)
            scale = None if ratios is None else ratios.scale(is_positive)
            return solve(class_index, is_positive, costs, scale)

        results = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(fit_class)(class_index) for class_index in fitted_classes
        )
        return LinearCoefficients(
            np.array([coef[:-1] for coef, _ in results]),
            np.array([coef[-1] for coef, _ in results]),
            max(n_iter for _, n_iter in results),
        )

    def _compute_class_weight(
        self, classes: NDArray[Any], class_codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the factor on `C` of each class."""
        if self.class_weight == "balanced":
            sizes = np.bincount(class_codes, weights, len(classes))
            return np.asarray(sizes.sum() / (len(classes) * np.where(sizes > 0, sizes, np.inf)))
        given = self.class_weight if isinstance(self.class_weight, Mapping) else {}
        return np.array([float(given.get(label, 1.0)) for label in classes.tolist()])

    def _held_out_margins(
        self, X: Any, y: NDArray[Any], weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Iterator[HeldOutMargins]:
        """Yield cross-validated margins of the samples whose class is in the training folds.

        The last folds are left out if the others have enough samples. Duplicates are in the same
        fold; those of the same class are one sample with their weight.
        """
        groups = _group_duplicates(X, weights)
        weights = _merge_weights(groups, y, weights)
        samples = rng.permutation(np.flatnonzero(weights > 0))
        samples = samples[np.argsort(y[samples], kind="stable")]
        known, fold_of_group = stratify_groups(y[samples], groups[samples], _N_FOLDS)
        folds = fold_of_group[np.searchsorted(known, groups[samples])]
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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
