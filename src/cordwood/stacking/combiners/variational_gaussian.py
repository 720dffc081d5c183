"""Bayesian quadratic discriminant analysis."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight

from cordwood._base.param_validation import POSITIVE, class_weights, integer, options
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats


class _Gaussian(NamedTuple):
    """A Gaussian with different variances along a few axes and one variance for all other axes.

    Its size is bounded by the number of samples if there are fewer samples than features.
    """

    mean: Floats  # (n_features,)
    axes: Floats  # (n_axes, n_features): orthonormal directions
    variances: Floats  # (n_axes,): variances along the axes
    residual_variance: float  # variance in all directions orthogonal to the axes

    def log_density(self, X: Floats) -> Floats:
        """Return the log density of samples, without the constant that all Gaussians share."""
        Z = X - self.mean
        along = np.square(Z @ self.axes.T)
        residual = np.maximum(np.square(Z).sum(axis=1) - along.sum(axis=1), 0.0)
        distances = residual / self.residual_variance + (along / self.variances).sum(axis=1)
        n_residual = X.shape[1] - len(self.variances)
        volume = np.log(self.variances).sum() + n_residual * np.log(self.residual_variance)
        return np.asarray(-(volume + distances) / 2)


class VariationalGaussian(BaseCombiner):
    r"""Bayesian quadratic discriminant analysis of the probabilities of the base estimators.

    Each class has a Gaussian density whose mean and precision have prior distributions. The prior
    has the weight of as many samples as there are features, so that a class with fewer samples than
    features, even a single one, has a density. Probabilities are proportional to density times
    class prior. They are overconfident if base estimators are correlated.

    The prior suits probabilities: a mean near zero and standard deviations well below one. The
    number of features is arbitrary; scale other features to this range first.

    Parameters
    ----------
    method : {"conjugate", "variational"}, default="conjugate"
        Prior of the mean. With "conjugate", its precision is proportional to the precision of the
        class, and the posterior has a closed form. With "variational", it is independent of it, and
        the posterior is approximated by mean-field variational inference.
    prior_scatter : float, default=1.0
        Scatter that the prior adds to the scatter matrix of a class in every direction. With a
        lower value, classes with few samples and many features are predicted more often.
    class_weight : dict, "balanced" or None, default=None
        Weights by which class priors are multiplied; "balanced" makes them equal.
    max_iter : int, default=2000
        Maximum number of iterations of the variational method.
    tol : float, default=1e-6
        Relative change of :math:`\Psi` (see Notes) at which the variational method stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies of the training set.
    class_weight_ : ndarray of shape (n_classes,)
        Weights by which class priors are multiplied.
    means_ : ndarray of shape (n_classes, n_features_in_)
        Mean of each class.
    axes_ : list of ndarrays of shape (n_axes, n_features_in_)
        For each class, directions in which its samples vary.
    variances_ : list of ndarrays of shape (n_axes,)
        For each class, variances along its axes.
    residual_variances_ : ndarray of shape (n_classes,)
        For each class, the variance in all other directions.
    n_iter_ : int
        Maximum number of iterations over all classes; 1 for the closed form.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : Maximum-likelihood estimates.

    Notes
    -----
    For :math:`n` samples of a class with :math:`D` features, mean :math:`\bar x` and scatter matrix
    :math:`S`, the prior of the precision is :math:`\Lambda \sim W(D, I / s)`, so that
    :math:`E \Lambda = D I / s`. The prior of the mean is :math:`\mu \sim N(0, (k \Lambda)^{-1})`
    with :math:`k = s / D`, or :math:`\mu \sim N(0, I)`. The covariance is :math:`\Psi / (D + n)`:

    - conjugate [1]_: :math:`\Psi = s I + S + \frac{k n}{k + n} \bar x \bar x^T`, with mean
      :math:`\frac{n}{k + n} \bar x`.
    - variational [2]_: :math:`\Psi = s I + S + n (\bar x - m)(\bar x - m)^T + n C`, with mean
      :math:`m`, where :math:`q(\mu) = N(m, C)`, :math:`C = (I + n (D + n) \Psi^{-1})^{-1}` and
      :math:`m = n (D + n) C \Psi^{-1} \bar x`, iterated until convergence.

    References
    ----------
    .. [1] Murphy (2007). Conjugate Bayesian analysis of the Gaussian distribution. Section 8.
    .. [2] Bishop (2006). Pattern Recognition and Machine Learning. Section 10.1.

    Examples
    --------
    A class with one sample of four features has a density:

    >>> X = [[0.9, 0.1, 0.6, 0.4], [0.7, 0.3, 0.6, 0.4], [0.2, 0.8, 0.9, 0.1]]
    >>> model = VariationalGaussian().fit(X, ["a", "a", "b"])
    >>> model.predict([[0.2, 0.8, 1.0, 0.0]])
    array(['b'], dtype='<U1')
    """

    _parameter_constraints = {
        "method": options("conjugate", "variational"),
        "prior_scatter": POSITIVE,
        "class_weight": class_weights("balanced"),
        "max_iter": integer(1),
        "tol": POSITIVE,
    }

    def __init__(
        self,
        method: str = "conjugate",
        *,
        prior_scatter: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = 2000,
        tol: float = 1e-6,
    ) -> None:
        self.method = method
        self.prior_scatter = prior_scatter
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        self.class_weight_: Floats = self._compute_class_weight()
        fits = [
            self._fit_class(X[codes == code], weights[codes == code])
            for code in range(len(self.classes_))
        ]
        gaussians, n_iters, converged = zip(*fits, strict=True)
        self.n_iter_: int = max(n_iters)
        if not all(converged):
            warnings.warn(
                f"Variational inference failed to converge for {converged.count(False)} of "
                f"{len(fits)} classes after max_iter={self.max_iter} iterations. Increase max_iter "
                "or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        means, axes, variances, residual_variances = zip(*gaussians, strict=True)
        self.means_: Floats = np.array(means)
        self.axes_: list[Floats] = list(axes)
        self.variances_: list[Floats] = list(variances)
        self.residual_variances_: Floats = np.array(residual_variances)

    def _compute_class_weight(self) -> Floats:
        if self.class_weight == "balanced":
            present = self.class_prior_ > 0
            return np.divide(1.0, self.class_prior_, out=np.zeros(len(present)), where=present)
        class_weight: Floats = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_
        )
        return class_weight

    def _fit_class(self, X: Floats, weights: Floats) -> tuple[_Gaussian, int, bool]:
        if not len(X):  # All samples of the class have weight zero, so it is never predicted.
            n_features = X.shape[1]
            unused = _Gaussian(np.zeros(n_features), np.empty((0, n_features)), np.empty(0), 1.0)
            return unused, 1, True
        if self.method == "conjugate":
            return _fit_conjugate(X, weights, self.prior_scatter), 1, True
        return _fit_variational(X, weights, self.prior_scatter, self.max_iter, self.tol)

    def _class_scores(self, X: Floats) -> Floats:
        priors = self.class_prior_ * self.class_weight_
        logs = np.full((len(X), len(priors)), -np.inf)
        for code in np.flatnonzero(priors > 0):
            gaussian = _Gaussian(
                self.means_[code],
                self.axes_[code],
                self.variances_[code],
                self.residual_variances_[code],
            )
            logs[:, code] = np.log(priors[code]) + gaussian.log_density(X)
        probabilities: Floats = softmax(logs, axis=1)
        return probabilities


def _fit_conjugate(X: Floats, weights: Floats, scatter: float) -> _Gaussian:
    """Return the Gaussian of the posterior expectations with the conjugate prior."""
    n, n_features = float(weights.sum()), X.shape[1]
    strength = scatter / n_features
    mean = weights @ X / n
    deviations = np.sqrt(weights)[:, None] * (X - mean)
    prior_deviation = np.sqrt(strength * n / (strength + n)) * mean
    singular_values, axes = _nonzero_svd(np.vstack([deviations, prior_deviation]))
    degrees_of_freedom = n_features + n
    variances = (scatter + singular_values**2) / degrees_of_freedom
    return _Gaussian(n / (strength + n) * mean, axes, variances, scatter / degrees_of_freedom)


def _fit_variational(
    X: Floats, weights: Floats, scatter: float, max_iter: int, tol: float
) -> tuple[_Gaussian, int, bool]:
    """Return the Gaussian of the posterior expectations by mean-field variational inference.

    Outside the span of the samples the posterior is isotropic, so that a single number, `residual`,
    is iterated for all of these directions.
    """
    n = float(weights.sum())
    degrees_of_freedom = X.shape[1] + n
    factor = n * degrees_of_freedom
    _, axes = _nonzero_svd(X)
    identity = np.eye(len(axes))
    Y = X @ axes.T
    sample_mean = weights @ Y / n
    fixed = scatter * identity + (weights[:, None] * (Y - sample_mean)).T @ (Y - sample_mean)
    psi, residual, mean = fixed, scatter, sample_mean
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        # C = (I + factor psi^-1)^-1 = psi (psi + factor I)^-1 needs a single inverse.
        inverse = np.linalg.inv(psi + factor * identity)
        mean = factor * (inverse @ sample_mean)
        C = psi @ inverse
        last_psi, last_residual = psi, residual
        deviation = sample_mean - mean
        psi = fixed + n * np.outer(deviation, deviation) + n * (C + C.T) / 2
        residual = scatter + n * residual / (residual + factor)
        change = np.linalg.norm(psi - last_psi) + abs(residual - last_residual)
        converged = bool(change <= tol * (np.linalg.norm(psi) + residual))
    variances, rotation = np.linalg.eigh(psi / degrees_of_freedom)
    gaussian = _Gaussian(mean @ axes, rotation.T @ axes, variances, residual / degrees_of_freedom)
    return gaussian, n_iter, converged


def _nonzero_svd(X: Floats) -> tuple[Floats, Floats]:
    """Return the nonzero singular values of `X` and their right singular vectors."""
    if len(X) > X.shape[1]:
        X = np.asarray(np.linalg.qr(X, mode="r"))
    _, singular_values, axes = np.linalg.svd(X, full_matrices=False)
    kept = singular_values > 1e-10 * singular_values.max(initial=0.0)
    return singular_values[kept], axes[kept]
