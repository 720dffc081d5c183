"""Ensemble pruning: drop base estimators that hardly improve the out-of-fold log loss."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from cordwood._base.param_validation import Constraint, real

Float64Array = NDArray[np.float64]

# The choice is made on at most so many samples, to take a small part of the time of `fit`.
_MAX_SAMPLES = 2000
# L2 penalty of weights, which keeps them finite if the classes are separable.
_ALPHA = 0.01
# Lower bound of the probabilities, so that no base estimator can exclude a class.
_FLOOR = 1e-3

_FRACTION = real("[)", 0, np.inf)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_FRACTION.accepts, value.values()))


PRUNE_TOL = _FRACTION | Constraint("a dict of names to such numbers", _is_mapping)
"""Valid values of the parameter `prune_tol` of a stack."""


def list_tolerances(prune_tol: float | Mapping[str, float], names: Sequence[str]) -> Float64Array:
    """Return the tolerance of each base estimator, negative for those that are kept.

    Examples
    --------
    >>> list_tolerances({"forest": 0.01}, ["forest", "svm"])
    array([ 0.01, -1.  ])
    """
    if isinstance(prune_tol, Mapping):
        return np.array([prune_tol.get(name, -1.0) for name in names], np.float64)
    return np.full(len(names), prune_tol, np.float64)


def choose_estimators(
    probas: Float64Array,
    class_codes: NDArray[np.intp],
    weights: Float64Array | None,
    tol: Float64Array,
    seed: int,
) -> list[int]:
    """Choose base estimators by backward elimination on the out-of-fold log loss.

    In each step, of the base estimators whose removal increases the log loss by at most a fraction
    `tol`, the one is dropped whose removal increases it least.

    Notes
    -----
    The log loss is that of a logarithmic pool with one non-negative weight per base estimator and
    without intercepts. It has so few parameters that it hardly overfits, unlike a final estimator
    with weights for each class.

    Examples
    --------
    The second base estimator knows nothing:

    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 2, 300)
    >>> good = np.where(codes[:, None] == [0, 1], 0.7, 0.3)
    >>> good[:60] = good[:60, ::-1]
    >>> noise = rng.dirichlet([1, 1], 300)
    >>> probas = np.stack([good, noise], axis=1)
    >>> choose_estimators(probas, codes, None, tol=np.array([0.01, 0.01]), seed=0)
    [0]
    """
    n_samples = len(class_codes)
    if weights is None:
        weights = np.ones(n_samples)
    if n_samples > _MAX_SAMPLES:
        drawn = np.random.RandomState(seed).permutation(n_samples)[:_MAX_SAMPLES]
        probas, class_codes, weights = probas[drawn], class_codes[drawn], weights[drawn]
    logs = np.log(np.maximum(probas, _FLOOR))
    kept = list(range(logs.shape[1]))
    coef, loss = _fit_pool(logs, class_codes, weights)
    while len(kept) > 1:
        candidates = []
        for i in np.flatnonzero(tol[kept] >= 0):
            if coef[i] == 0:  # Without it, the pool is the same.
                candidates = [(loss, i, np.delete(coef, i))]
                break
            fitted, loss_without = _fit_pool(logs[:, np.delete(kept, i)], class_codes, weights)
            if loss_without <= (1 + tol[kept[i]]) * loss:
                candidates.append((loss_without, i, fitted))
        if not candidates:
            break
        loss, i, coef = min(candidates, key=lambda candidate: candidate[0])
        del kept[i]
    return kept


def _fit_pool(
    logs: Float64Array, class_codes: NDArray[np.intp], weights: Float64Array
) -> tuple[Float64Array, float]:
    """Fit one non-negative weight per base estimator; return the weights and the log loss."""
    equal = np.full(logs.shape[1], 1 / logs.shape[1])
    true_class = np.arange(len(logs)), class_codes
    own = logs.transpose(1, 0, 2)[:, *true_class]
    total = weights.sum()

    def log_loss(coef: Float64Array, scores: Float64Array) -> float:
        return float(weights @ (logsumexp(scores, axis=1) - coef @ own) / total)

    def penalized_loss_and_gradient(coef: Float64Array) -> tuple[float, Float64Array]:
        scores = np.einsum("nmk,m->nk", logs, coef)
        expected = np.einsum("nmk,nk->mn", logs, softmax(scores, axis=1))
        deviation = coef - equal
        loss = log_loss(coef, scores) + _ALPHA * deviation @ deviation / total
        return loss, ((expected - own) @ weights + 2 * _ALPHA * deviation) / total

    bounds = [(0, None)] * len(equal)
    result = minimize(
        penalized_loss_and_gradient, equal, jac=True, method="L-BFGS-B", bounds=bounds
    )
    coef = np.asarray(result.x)
    return coef, log_loss(coef, np.einsum("nmk,m->nk", logs, coef))
