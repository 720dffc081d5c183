"""Calibration of rule ensembles: temperatures fitted on held-out sums of votes.

The logit of a class is the sum of its votes divided by a temperature, one for negative and one for
positive sums. A sum of zero has the logit zero, so that in binary problems probabilities above 0.5
are those of the predicted labels.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_expit, log_softmax

from cordwood._base.temperature import minimize_over_temperature
from cordwood.rules.records import Float64Array

# Bounds of the logarithms of inverse temperatures, for votes of mean square one.
_LOG_BOUNDS = (-7.0, 7.0)


def divide_by_temperatures(votes: Float64Array, temperatures: Float64Array) -> Float64Array:
    """Return the logits of sums of votes."""
    logits: Float64Array = votes / np.where(votes < 0, temperatures[:, 0], temperatures[:, 1])
    return logits


def fit_signed_temperatures(
    decisions: Float64Array, is_positive: NDArray[np.bool_], weights: Float64Array
) -> Float64Array:
    """Fit one temperature for negative and one for positive decision values."""
    # Two are needed because with a high cost of missing the rare class, negative decisions are more
    # reliable than positive ones. Both are smoothed by one sample of each class at the mean
    # absolute decision value, which keeps them positive if no sample is misclassified.
    margins = np.where(is_positive, decisions, -decisions)
    default_scale = float(np.sqrt(np.square(decisions).mean())) if decisions.size else 0.0
    return np.array(
        [
            _fit_one_sign(margins[mask], weights[mask], default_scale or 1.0)
            for mask in (decisions < 0, decisions > 0)
        ]
    )


def fit_multiclass_temperatures(
    votes: Float64Array, columns: NDArray[np.intp], weights: Float64Array
) -> Float64Array:
    """Fit the temperatures of one-vs-rest classifiers by multinomial logistic regression."""
    # One-vs-rest classifiers are not on one scale: the votes of a rare class may be ten times those
    # of a frequent one. Vector scaling (Guo et al., 2017), with a temperature per class and sign,
    # puts them on one.
    # Votes are NaN for classes that the classifiers of a sample's fold do not know.
    # The logarithm of the inverse temperature of class k and sign s is a_s + d_ks. The penalty 1/2
    # sum d_ks^2 is a standard normal prior, so that classes of few samples have the temperatures of
    # all. Labels are smoothed by one sample in total, distributed over all classes, which keeps the
    # temperatures of separable samples positive. There is no intercept: it would shift predictions
    # from rare to frequent classes.
    n_classes = votes.shape[1]
    is_known = ~np.isnan(votes)
    known_votes = np.where(is_known, votes, 0.0)
    scale = float(np.sqrt(np.square(known_votes).sum() / max(is_known.sum(), 1)))
    if not scale:
        return np.ones((n_classes, 2))
    sides = np.stack([np.minimum(known_votes, 0.0), np.maximum(known_votes, 0.0)]) / scale
    mask = np.where(is_known, 0.0, -np.inf)
    total = weights.sum()
    targets = is_known / (is_known.sum(axis=1, keepdims=True) * (total + 1.0))
    targets[np.arange(len(columns)), columns] += total / (total + 1.0)

    def unpack(params: Float64Array) -> Float64Array:
        return np.asarray(np.exp(params[:2, None] + params[2:].reshape(2, n_classes)))

    def loss(params: Float64Array) -> tuple[float, Float64Array]:
        inverse = unpack(params)
        logs = log_softmax((inverse[:, None] * sides).sum(axis=0) + mask, axis=1)
        residuals = weights[:, None] * (np.exp(logs) - targets)
        gradient = inverse * (residuals * sides).sum(axis=1)
        deviations = params[2:]
        log_loss = -float(weights @ (targets * np.where(is_known, logs, 0.0)).sum(axis=1))
        return (
            log_loss + 0.5 * float(deviations @ deviations),
            np.concatenate([gradient.sum(axis=1), gradient.ravel() + deviations]),
        )

    n_params = 2 + 2 * n_classes
    bounds = [_LOG_BOUNDS] * n_params
    result = minimize(loss, np.zeros(n_params), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray((scale / unpack(result.x)).T)


def _fit_one_sign(margins: Float64Array, weights: Float64Array, default_scale: float) -> float:
    """Fit the temperature of decision values of one sign, given their margins."""
    scale = float(np.abs(margins).mean()) if len(margins) else default_scale
    smoothed_margins = np.append(margins, [scale, -scale])
    smoothed_weights = np.append(weights, [1.0, 1.0])

    def loss(inverse_temperature: float) -> float:
        return -float(smoothed_weights @ log_expit(inverse_temperature * smoothed_margins))

    return minimize_over_temperature(loss, scale)
