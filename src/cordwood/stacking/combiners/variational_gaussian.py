"""A Gaussian for each class, under a prior that holds it up where a class has few rows."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight

from cordwood._param_validation import check_choice, check_number, check_positive
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats


class _Gaussian(NamedTuple):
    """A Gaussian with variances of their own along a few axes, and one variance besides.

    So it is no larger than the rows it comes from, where they are fewer than columns.

    Parameters
    ----------
    mean : float64 array of shape (n_columns,)
    axes : float64 array of shape (n_axes, n_columns)
        Orthonormal.
    variances : float64 array of shape (n_axes,)
        Along the axes.
    rest : float
        Variance in all directions besides.
    """

    mean: Floats
    axes: Floats
    variances: Floats
    rest: float

    def log_density(self, X: Floats) -> Floats:
        """Give the logarithm of the density at rows, but for the constant that all share."""
        Z = X - self.mean
        along = np.square(Z @ self.axes.T)
        besides = np.maximum(np.square(Z).sum(axis=1) - along.sum(axis=1), 0.0)
        distances = besides / self.rest + (along / self.variances).sum(axis=1)
        n_besides = X.shape[1] - len(self.variances)
        volume = np.log(self.variances).sum() + n_besides * np.log(self.rest)
        return np.asarray(-(volume + distances) / 2)


class VariationalGaussian(BaseCombiner):
    r"""Bayesian quadratic discriminant: how likely is a row, were it of this class or of that?

    Each class has a Gaussian whose mean and precision are unknown and have a prior. The prior is
    worth as many rows as there are columns, so that a class with fewer rows, even with one, has a
    density too: that of the expected mean and precision. Densities times the shares of the classes
    give probabilities. They are too sure of themselves wherever members are alike.

    The prior suits probabilities: a mean around zero, and deviations well below one. The number of
    columns is free; bring columns of another kind to that size first.

    Parameters
    ----------
    method : {"conjugate", "variational"}, default="conjugate"
        "conjugate" has a prior of the mean that is the sharper the sharper the precision, and so a
        closed form. "variational" has a prior of the mean that does not depend on the precision,
        for which there is only an approximation by iteration.
    prior_scatter : float, default=1.0
        What the prior adds to the sum of squared deviations of a class, in every direction. With
        less, classes that have few rows for many columns are given more often.
    class_weight : dict, "balanced" or None, default=None
        Factor on the share of each class; "balanced" takes classes for equally frequent.
    max_iter : int, default=2000
        When the iteration stops at the latest, with a `ConvergenceWarning`.
    tol : float, default=1e-6
        The relative change of :math:`\Psi`, below, at which the iteration stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows.
    class_weight_ : ndarray of shape (n_classes,)
        Factors on these shares.
    means_ : ndarray of shape (n_classes, n_features_in_)
        Centre of each class.
    axes_ : list of ndarrays of shape (n_axes, n_features_in_)
        For each class, the directions in which its rows differ.
    variances_ : list of ndarrays of shape (n_axes,)
        For each class, the variances along its axes.
    rests_ : ndarray of shape (n_classes,)
        For each class, the variance in all other directions.
    n_iter_ : int
        Iterations of the class that needed most; 1 for the closed form.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had any.

    Notes
    -----
    For :math:`n` rows of a class with :math:`D` columns, of mean :math:`\bar x` and scatter
    :math:`S`, the prior of the precision is :math:`\Lambda \sim W(D, I / s)`, so that
    :math:`E \Lambda = D I / s`. For the mean it is :math:`\mu \sim N(0, (k \Lambda)^{-1})` with
    :math:`k = s / D`, or :math:`\mu \sim N(0, I)`. The covariance is :math:`\Psi / (D + n)`:

    - conjugate [1]_: :math:`\Psi = s I + S + \frac{k n}{k + n} \bar x \bar x^T`, around
      :math:`\frac{n}{k + n} \bar x`.
    - variational [2]_: :math:`\Psi = s I + S + n (\bar x - m)(\bar x - m)^T + n C`, around
      :math:`m`, where :math:`q(\mu) = N(m, C)`, :math:`C = (I + n (D + n) \Psi^{-1})^{-1}` and
      :math:`m = n (D + n) C \Psi^{-1} \bar x`, each put into the others until they stand.

    References
    ----------
    .. [1] Murphy (2007). Conjugate Bayesian analysis of the Gaussian distribution. Section 8.
    .. [2] Bishop (2006). Pattern Recognition and Machine Learning. Section 10.1.

    Examples
    --------
    A class with one row in four columns has a density:

    >>> X = [[0.9, 0.1, 0.6, 0.4], [0.7, 0.3, 0.6, 0.4], [0.2, 0.8, 0.9, 0.1]]
    >>> model = VariationalGaussian().fit(X, ["a", "a", "b"])
    >>> model.predict([[0.2, 0.8, 1.0, 0.0]])
    array(['b'], dtype='<U1')
    """

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

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        check_choice("method", self.method, ("conjugate", "variational"))
        check_number("max_iter", self.max_iter, 1)
        for name in ("prior_scatter", "tol"):
            check_positive(name, getattr(self, name))
        self.class_weight_: Floats = self._weigh_classes()
        fits = [
            self._learn_class(X[codes == code], weights[codes == code])
            for code in range(len(self.classes_))
        ]
        gaussians, n_iters, converged = zip(*fits, strict=True)
        self.n_iter_: int = max(n_iters)
        if not all(converged):
            warnings.warn(
                f"the Gaussians of {converged.count(False)} of {len(fits)} classes still change "
                f"after max_iter={self.max_iter} iterations; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        means, axes, variances, rests = zip(*gaussians, strict=True)
        self.means_: Floats = np.array(means)
        self.axes_: list[Floats] = list(axes)
        self.variances_: list[Floats] = list(variances)
        self.rests_: Floats = np.array(rests)

    def _weigh_classes(self) -> Floats:
        if self.class_weight == "balanced":
            present = self.class_prior_ > 0
            return np.divide(1.0, self.class_prior_, out=np.zeros(len(present)), where=present)
        factors: Floats = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_
        )
        return factors

    def _learn_class(self, X: Floats, weights: Floats) -> tuple[_Gaussian, int, bool]:
        if not len(X):  # all its rows are of weight zero, and it will never be asked
            n_columns = X.shape[1]
            nothing = _Gaussian(np.zeros(n_columns), np.empty((0, n_columns)), np.empty(0), 1.0)
            return nothing, 1, True
        if self.method == "conjugate":
            return _solve(X, weights, self.prior_scatter), 1, True
        return _iterate(X, weights, self.prior_scatter, self.max_iter, self.tol)

    def _score(self, X: Floats) -> Floats:
        factors = self.class_prior_ * self.class_weight_
        logs = np.full((len(X), len(factors)), -np.inf)
        for code in np.flatnonzero(factors > 0):
            gaussian = _Gaussian(
                self.means_[code], self.axes_[code], self.variances_[code], self.rests_[code]
            )
            logs[:, code] = np.log(factors[code]) + gaussian.log_density(X)
        probabilities: Floats = softmax(logs, axis=1)
        return probabilities


def _solve(X: Floats, weights: Floats, scatter: float) -> _Gaussian:
    """Give the Gaussian of the expected mean and precision, by the conjugate prior."""
    n, n_columns = float(weights.sum()), X.shape[1]
    strength = scatter / n_columns
    centre = weights @ X / n
    deviations = np.sqrt(weights)[:, None] * (X - centre)
    pull = np.sqrt(strength * n / (strength + n)) * centre
    lengths, axes = _span(np.vstack([deviations, pull]))
    freedom = n_columns + n
    variances = (scatter + lengths**2) / freedom
    return _Gaussian(n / (strength + n) * centre, axes, variances, scatter / freedom)


def _iterate(
    X: Floats, weights: Floats, scatter: float, max_iter: int, tol: float
) -> tuple[_Gaussian, int, bool]:
    """Give the Gaussian of the expected mean and precision, by mean-field iteration.

    Outside the span of the rows nothing is known but the prior, which is alike in all directions:
    one number, `rest`, goes through the iteration for all of them.

    Returns
    -------
    gaussian : _Gaussian
    n_iter : int
    converged : bool
        Whether the last change was small enough.
    """
    n = float(weights.sum())
    freedom = X.shape[1] + n
    known = n * freedom
    _, axes = _span(X)
    unit = np.eye(len(axes))
    Y = X @ axes.T
    centre = weights @ Y / n
    fixed = scatter * unit + (weights[:, None] * (Y - centre)).T @ (Y - centre)
    psi, rest, mean = fixed, scatter, centre
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        # C = (I + known psi^-1)^-1 = psi (psi + known I)^-1, which asks for one inverse only.
        inverse = np.linalg.inv(psi + known * unit)
        mean = known * (inverse @ centre)
        spread = psi @ inverse
        last_psi, last_rest = psi, rest
        psi = fixed + n * np.outer(centre - mean, centre - mean) + n * (spread + spread.T) / 2
        rest = scatter + n * rest / (rest + known)
        change = np.linalg.norm(psi - last_psi) + abs(rest - last_rest)
        converged = bool(change <= tol * (np.linalg.norm(psi) + rest))
    variances, turn = np.linalg.eigh(psi / freedom)
    gaussian = _Gaussian(mean @ axes, turn.T @ axes, variances, rest / freedom)
    return gaussian, n_iter, converged


def _span(rows: Floats) -> tuple[Floats, Floats]:
    """Give the singular values of rows that are not zero, and their directions."""
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    kept = lengths > 1e-10 * lengths.max(initial=0.0)
    return lengths[kept], axes[kept]
