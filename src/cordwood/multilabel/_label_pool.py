"""Logistic pool of the members' probabilities, one for each label."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Float64Array = NDArray[np.float64]

# Lower bound of the probabilities and of their complements, so that no member decides alone.
_FLOOR = 1e-3
# L2 penalties: of the shared weights from equal weights, of the weights of a label from the shared
# weights, and of its intercept from the shared intercept. Chosen by cross-validation; see
# docs/multilabel.md.
_SHARED_ALPHA = 1.0
_LABEL_ALPHA = 3.0
_INTERCEPT_ALPHA = 0.3
# The shared weights are few: so many pairs of a sample and a label suffice to fit them.
_MAX_PAIRS = 500_000

_MAX_ITER = 50
_TOLERANCE = 1e-6


class LabelPool(NamedTuple):
    """Weights and intercept of each label."""

    coef: Float64Array  # of the members' log-odds, of shape (n_members, n_labels)
    intercept: Float64Array

    def predict_proba(self, probas: Float64Array) -> Float64Array:
        """Combine probabilities of shape (n_members, n_samples, n_labels)."""
        scores = np.einsum("mnk,mk->nk", _log_odds(probas), self.coef)
        return np.asarray(expit(scores + self.intercept))


def fit_label_pool(
    probas: Float64Array,
    Y: NDArray[np.bool_],
    seed: int,
    sample_weight: Float64Array | None = None,
) -> LabelPool:
    r"""Fit one logistic regression per label on the log-odds of the members.

    Notes
    -----
    A logistic regression with weights :math:`w` and intercept :math:`b` is fitted on all pairs of a
    sample and a label. For each label, one with :math:`w_k` and :math:`b_k` is fitted on its own
    samples with the penalty :math:`\alpha \|w_k - w\|^2 + (b_k - b)^2`: the weights of a rare label
    hardly differ from the shared ones.
    """
    scores = _log_odds(probas)
    n_members, n_samples, n_labels = scores.shape
    if sample_weight is None:
        sample_weight = np.ones(n_samples)
    sample, label, weights = _draw_pairs(Y, seed)
    equal = np.append(np.full(n_members, 1 / n_members), 0.0)
    shared = _fit_logistic(
        scores[:, sample, label],
        Y[sample, label],
        weights * sample_weight[sample],
        equal,
        np.append(np.full(n_members, _SHARED_ALPHA), 0.0),
    )
    alpha = np.append(np.full(n_members, _LABEL_ALPHA), _INTERCEPT_ALPHA)
    fitted = np.column_stack(
        [
            _fit_logistic(scores[:, :, k], Y[:, k], sample_weight, shared, alpha)
            for k in range(n_labels)
        ]
    )
    return LabelPool(fitted[:-1], fitted[-1])


def _log_odds(probas: Float64Array) -> Float64Array:
    return np.asarray(logit(np.clip(probas, _FLOOR, 1 - _FLOOR)))


def _draw_pairs(
    Y: NDArray[np.bool_], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Float64Array]:
    """Return all positive pairs of a sample and a label, and all or some of the negative ones."""
    positive, negative = np.flatnonzero(Y), np.flatnonzero(~Y)
    n_drawn = min(len(negative), max(_MAX_PAIRS - len(positive), len(positive)))
    if n_drawn < len(negative):
        drawn = np.random.RandomState(seed).permutation(len(negative))[:n_drawn]
        weight = len(negative) / n_drawn
        negative = negative[np.sort(drawn)]
    else:
        weight = 1.0
    sample, label = np.unravel_index(np.append(positive, negative), Y.shape)
    weights = np.append(np.ones(len(positive)), np.full(len(negative), weight))
    return sample, label, weights


def _fit_logistic(
    scores: Float64Array,
    y: NDArray[np.bool_],
    weights: Float64Array,
    center: Float64Array,
    alpha: Float64Array,
) -> Float64Array:
    """Minimize the log loss plus ``alpha * (parameters - center)**2`` by Newton's method."""
    features = np.vstack([scores, np.ones(scores.shape[1])])

    def loss(parameters: Float64Array) -> float:
        values = parameters @ features
        penalty = alpha @ np.square(parameters - center)
        return float(weights @ (np.logaddexp(0.0, values) - y * values) + penalty)

    parameters, current = center.copy(), loss(center)
    for _ in range(_MAX_ITER):
        predicted = expit(parameters @ features)
        gradient = features @ (weights * (predicted - y)) + 2 * alpha * (parameters - center)
        curvature = weights * predicted * (1 - predicted)
        hessian = (features * curvature) @ features.T + np.diag(2 * alpha + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        # The loss is convex, so that a shorter step in the same direction decreases it.
        size = 1.0
        while (following := loss(parameters - size * step)) > current and size > 1e-6:
            size /= 2
        if following >= current:
            break
        parameters = parameters - size * step
        decrease, current = current - following, following
        if decrease < _TOLERANCE * max(1.0, current):
            break
    return parameters
