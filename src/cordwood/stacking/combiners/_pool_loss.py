"""Negative log-likelihood of a logarithmic pool, in one pass over the samples."""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.jit import Float64Array, kernel


@kernel
def pool_loss(
    logs: Float64Array,  # (n_samples, n_estimators, n_classes)
    codes: NDArray[np.intp],  # (n_samples,): true class
    weights: Float64Array,  # (n_samples,)
    coef: Float64Array,  # (n_estimators + 1, n_classes), with the intercepts last
    gradient: Float64Array,  # of the same shape, overwritten
) -> float:
    """Return the weighted negative log-likelihood, and compute its gradient."""
    n_samples, n_estimators, n_classes = logs.shape
    scores = np.empty(n_classes)
    loss = 0.0
    gradient[:] = 0.0
    for i in range(n_samples):
        # Loops, because methods of arrays take a second to compile, assignments to slices two.
        for k in range(n_classes):
            scores[k] = coef[n_estimators, k]
        for m in range(n_estimators):
            for k in range(n_classes):
                scores[k] += coef[m, k] * logs[i, m, k]
        largest = scores[0]
        for k in range(1, n_classes):
            largest = max(largest, scores[k])
        own = scores[codes[i]] - largest
        total = 0.0
        for k in range(n_classes):
            scores[k] = np.exp(scores[k] - largest)
            total += scores[k]
        loss += weights[i] * (np.log(total) - own)
        residual = scores
        for k in range(n_classes):
            residual[k] *= weights[i] / total
        residual[codes[i]] -= weights[i]
        for m in range(n_estimators):
            for k in range(n_classes):
                gradient[m, k] += residual[k] * logs[i, m, k]
        for k in range(n_classes):
            gradient[n_estimators, k] += residual[k]
    return loss
