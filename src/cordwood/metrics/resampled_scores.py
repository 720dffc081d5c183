"""Scores of predictions, and of bootstrap resamples of them.

All scores are functions of sums over samples: the number of correct predictions, the log loss, the
confusion counts of each class, and the difference of correctness and confidence in each bin. The
sums of all resamples are one product of a sparse matrix and the matrix of resampling weights.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_BINS = 15

# Lower bound of the probability of the true class in the log loss; smaller ones are not stored in
# model files.
MIN_PROBA = 1e-7

# Resamples that are computed at once, and weights in them, to limit the memory.
_BLOCK, _MAX_WEIGHTS = 64, 2**23


class ResampledScores(NamedTuple):
    """Scores of several resamples.

    Parameters
    ----------
    accuracy, macro_f1, log_loss, calibration_error : float64 arrays of shape (n_resamples,)
        Scores of all classes.
    class_f1 : float64 array of shape (n_classes, n_resamples)
        F1 of each class; NaN if it is neither the true nor the predicted class of any sample.
    """

    accuracy: Floats
    macro_f1: Floats
    log_loss: Floats
    calibration_error: Floats
    class_f1: Floats


def compute_scores(proba: Floats, y: NDArray[np.intp]) -> ResampledScores:
    """Return the scores of all samples, as arrays with one resample.

    Parameters
    ----------
    proba : float64 array of shape (n_samples, n_classes)
        Probabilities.
    y : intp array of shape (n_samples,)
        True classes.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> scores = compute_scores(proba, np.array([0, 0, 1, 1]))
    >>> scores.accuracy, scores.class_f1.round(2)
    (array([0.75]), array([[0.8 ],
           [0.67]]))
    """
    return _scores_from_sums(_sum_matrix(proba, y) @ np.ones((len(y), 1)), proba.shape[1])


def resample_scores(
    proba: Floats,
    y: NDArray[np.intp],
    groups: NDArray[np.intp] | None,
    n_resamples: int,
    rng: np.random.Generator,
) -> ResampledScores:
    """Return the scores of bootstrap resamples of the samples, or of whole groups."""
    matrix = _sum_matrix(proba, y)
    n_units = len(y) if groups is None else int(groups.max()) + 1
    block = max(1, min(_BLOCK, _MAX_WEIGHTS // len(y)))
    blocks = []
    for start in range(0, n_resamples, block):
        n_drawn = min(block, n_resamples - start)
        drawn = rng.integers(0, n_units, size=(n_drawn, n_units), dtype=np.int64)
        drawn += n_units * np.arange(n_drawn)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n_drawn * n_units)
        weights = counts.reshape(n_drawn, n_units).T.astype(np.float64)
        blocks.append(matrix @ (weights if groups is None else weights[groups]))
    return _scores_from_sums(np.hstack(blocks), proba.shape[1])


def _sum_matrix(proba: Floats, y: NDArray[np.intp]) -> Any:
    """Return a sparse matrix with one row per sum and one column per sample."""
    n_samples, n_classes = proba.shape
    samples = np.arange(n_samples)
    predicted = proba.argmax(axis=1)
    is_correct = predicted == y
    confidence = proba[samples, predicted]
    log_loss = -np.log(np.clip(proba[samples, y], MIN_PROBA, 1.0))
    edges = np.quantile(confidence, np.arange(1, N_BINS) / N_BINS)
    bins = np.searchsorted(edges, confidence, side="right")
    hits = samples[is_correct]
    parts = [
        (np.zeros(n_samples), samples, np.ones(n_samples)),
        (np.full(n_samples, 1), samples, is_correct),
        (np.full(n_samples, 2), samples, log_loss),
        (3 + y[hits], hits, np.ones(len(hits))),
        (3 + n_classes + predicted, samples, np.ones(n_samples)),
        (3 + 2 * n_classes + y, samples, np.ones(n_samples)),
        (3 + 3 * n_classes + bins, samples, is_correct - confidence),
    ]
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    shape = (3 + 3 * n_classes + N_BINS, n_samples)
    return sp.csr_array((values, (rows.astype(np.intp), columns)), shape=shape)


def _scores_from_sums(sums: Floats, n_classes: int) -> ResampledScores:
    """Return scores from sums of shape (n_sums, n_resamples)."""
    n_samples, n_correct, log_loss = sums[:3]
    hits, predicted, true = sums[3 : 3 + 3 * n_classes].reshape(3, n_classes, -1)
    n_relevant = predicted + true
    f1 = np.divide(2 * hits, n_relevant, out=np.full_like(hits, np.nan), where=n_relevant > 0)
    return ResampledScores(
        accuracy=n_correct / n_samples,
        macro_f1=np.nanmean(f1, axis=0),
        log_loss=log_loss / n_samples,
        calibration_error=np.abs(sums[3 + 3 * n_classes :]).sum(axis=0) / n_samples,
        class_f1=f1,
    )
