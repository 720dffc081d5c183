"""Logarithmic opinion pool."""

from __future__ import annotations  # `help` shows the short names

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from cordwood._base.param_validation import POSITIVE, options, real
from cordwood._kernels.intrinsics import read_only
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, split_by_estimator
from cordwood.stacking.combiners._pool_loss import pool_loss

# Status of L-BFGS-B if it reached its iteration limit. Another status reports line searches that
# end in rounding errors, which is no failure at the minimum of a convex function.
_ITERATION_LIMIT = 1

# Relative reduction of the loss in an iteration below which it ends. The loss of 12,000 samples is
# then 0.004 above its minimum; chance changes it by about 0.5 for each of the weights.
_TOL = 1e-7


class LogarithmicPool(BaseCombiner):
    r"""Weighted product of the probabilities of the base estimators.

    The default final estimator of `OOBStackingClassifier`. Weights are fitted by maximum
    likelihood, which calibrates the base estimators: overconfident ones get weights below,
    underconfident ones above those of calibrated ones. A base estimator may have a different weight
    for each class. Weights are not negative, and the fewer samples there are, the more they shrink
    to a target.

    Parameters
    ----------
    floor : float, default=1e-3
        Lower bound of the probabilities, in (0, 1), so that no base estimator can exclude a class.
    alpha : float, default=1.0
        L2 penalty of the deviation of each base estimator's mean weight from its target, and of the
        intercepts from zero. Deviations count in units of what the base estimator contributes: the
        more extreme its probabilities, the more.
    class_alpha : float or None, default=10.0
        L2 penalty of the deviation of each base estimator's class weights from their mean. With
        None, each base estimator has one weight for all classes. A single base estimator always has
        one weight and no intercepts, so that its predictions do not change.
    shrinkage : float, default=500.0
        Number of samples with which the penalties are twice as large as `alpha` and `class_alpha`:
        with n samples, they are multiplied by ``1 + shrinkage / n``.
    target : array-like of shape (n_estimators,), default=None
        Weights to which the weights shrink; by default ``1 / n_estimators`` each.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    coef_ : ndarray of shape (n_estimators, n_classes)
        Weights of the base estimators for each class.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies of the training set.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    Voting : Fixed rules, among them the product with equal weights.
    MultiResponseRegression : Linear model of probabilities.

    Notes
    -----
    With the probability :math:`p_{mc}` of class :math:`c` by base estimator :math:`m`,

    .. math:: P(c \mid x) = \frac{\exp(b_c) \prod_m p_{mc}^{w_{mc}}}
              {\sum_k \exp(b_k) \prod_m p_{mk}^{w_{mk}}}

    which is the conditional logit model [2]_ of the logarithms of probabilities. With the target
    :math:`t_m` of base estimator :math:`m`, the mean variance :math:`s_m^2` of its logarithms over
    the classes, and samples of total weight :math:`n`, `fit` minimizes the weighted negative
    log-likelihood plus

    .. math:: \Bigl(1 + \frac{shrinkage}{n}\Bigr) \Bigl(
              \alpha \sum_m s_m^2 (\bar w_m - t_m)^2 + \alpha \sum_c b_c^2
              + \alpha_{class} \sum_{m,c} s_m^2 (w_{mc} - \bar w_m)^2 \Bigr)

    subject to :math:`w_{mc} \ge 0`, by L-BFGS-B. Out-of-bag and leave-one-out predictions of few
    samples make negative weights fit best: without a sample, its class is rarer, so that they
    contradict the labels. See docs/stacking.md.

    References
    ----------
    .. [1] Genest, Zidek (1986). Combining probability distributions: a critique and an annotated
       bibliography. Statistical Science 1.
    .. [2] McFadden (1974). Conditional logit analysis of qualitative choice behavior. Frontiers in
       Econometrics.

    Examples
    --------
    The first base estimator is correct but underconfident; the second is always certain of "b":

    >>> X = [[0.6, 0.4, 0.0, 1.0], [0.4, 0.6, 0.0, 1.0]] * 200
    >>> model = LogarithmicPool().fit(X, ["a", "b"] * 200)
    >>> model.predict(X[:2])
    array(['a', 'b'], dtype='<U1')
    >>> model.coef_.round(1)
    array([[10.4, 11.6],
           [ 0.3,  0.3]])
    """

    _parameter_constraints = {
        "floor": real("()", 0, 1),
        "alpha": POSITIVE,
        "class_alpha": POSITIVE | options(None),
        "shrinkage": real("[)", 0, np.inf),
    }

    def __init__(
        self,
        *,
        floor: float = 1e-3,
        alpha: float = 1.0,
        class_alpha: float | None = 10.0,
        shrinkage: float = 500.0,
        target: ArrayLike | None = None,
    ) -> None:
        self.floor = floor
        self.alpha = alpha
        self.class_alpha = class_alpha
        self.shrinkage = shrinkage
        self.target = target

    # Weights and intercepts from which `fit` starts; by default the target.
    _start: tuple[Floats, Floats] | None = None

    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        logs = self._log_probas(X)
        _, n_estimators, n_classes = logs.shape
        target = self._check_target(n_estimators)
        is_single = n_estimators == 1
        has_class_weights = self.class_alpha is not None and not is_single
        # One column per class, or one column for all classes.
        shape = (n_estimators, n_classes if has_class_weights else 1)
        factor = 1 + self.shrinkage / weights.sum()
        alpha, class_alpha = factor * self.alpha, factor * (self.class_alpha or 0.0)
        # Even a small weight of a base estimator that is always certain decides against another
        # one that is never certain, as a regularized one is after few samples.
        spread = np.average(logs.var(axis=2), axis=0, weights=weights)
        n_weights = shape[0] * shape[1]
        arrays = read_only(np.ascontiguousarray(logs)), read_only(codes), read_only(weights)
        gradients = np.empty((n_estimators + 1, n_classes))

        def loss_and_gradient(parameters: Floats) -> tuple[float, Floats]:
            """Return the penalized negative log-likelihood and its gradient."""
            coef, intercept = parameters[:n_weights].reshape(shape), parameters[n_weights:]
            means = coef.mean(axis=1, keepdims=True)
            mean_deviation, class_deviation = means - target[:, None], coef - means
            all_coef = np.vstack([np.broadcast_to(coef, (n_estimators, n_classes)), intercept])
            loss = pool_loss(*arrays, read_only(all_coef), gradients)
            loss += alpha * (spread @ mean_deviation[:, 0] ** 2 + intercept @ intercept)
            loss += class_alpha * (spread @ class_deviation**2).sum()
            gradient = gradients[:-1].reshape(*shape, -1).sum(axis=2)
            deviation = alpha * mean_deviation / shape[1] + class_alpha * class_deviation
            gradient += 2 * spread[:, None] * deviation
            intercept_gradient = gradients[-1] + 2 * alpha * intercept
            return loss, np.r_[gradient.ravel(), intercept_gradient]

        start_coef, start_intercept = self._start or (target[:, None], np.zeros(n_classes))
        start_coef = np.broadcast_to(start_coef, (n_estimators, n_classes))[:, : shape[1]]
        start = np.r_[start_coef.ravel(), start_intercept]
        intercept_bounds = (0, 0) if is_single else (None, None)
        bounds = [(0, None)] * n_weights + [intercept_bounds] * n_classes
        # Threads of BLAS take several times as long for the small matrices of the solver.
        with threadpool_limits(1, user_api="blas"):
            result = minimize(
                loss_and_gradient,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"ftol": _TOL},
            )
        if result.status == _ITERATION_LIMIT:
            warnings.warn(
                f"Solver failed to converge after {result.nit} iterations. Increase alpha or "
                "class_alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )
        coef = result.x[:n_weights].reshape(shape)
        self.coef_ = np.broadcast_to(coef, (n_estimators, n_classes)).copy()
        self.intercept_ = result.x[n_weights:]

    def _check_target(self, n_estimators: int) -> Floats:
        """Return the weights to which the weights shrink."""
        if self.target is None:
            return np.full(n_estimators, 1 / n_estimators)
        target = np.asarray(self.target, np.float64)
        if target.shape != (n_estimators,) or not (np.isfinite(target) & (target >= 0)).all():
            raise ValueError(
                f"target must have one non-negative number for each of the {n_estimators} base "
                f"estimators; got {self.target!r}."
            )
        return target

    def _class_scores(self, X: Floats) -> Floats:
        self._validate_params()  # `floor` may come from an untrusted model file.
        scores = np.einsum("nmk,mk->nk", self._log_probas(X), self.coef_) + self.intercept_
        return np.asarray(softmax(scores, axis=1))

    def _log_probas(self, X: Floats) -> Floats:
        return np.log(np.maximum(split_by_estimator(X, len(self.classes_)), self.floor))
