"""Thresholds of label probabilities that maximize F1, with protection for rare labels."""

import numpy as np
from numpy.typing import NDArray

from cordwood.multilabel.indicators import BoolArray

Float64Array = NDArray[np.float64]

# Candidates, with most of them where rare labels have their probabilities.
_GRID = np.unique(np.r_[np.geomspace(1e-3, 0.05, 40), np.linspace(0.05, 0.95, 91)])
# Number of positive pseudo-samples of a label, which are distributed as those of labels of similar
# frequency, and the bandwidth of similarity on the logarithmic scale of frequencies. Chosen by
# cross-validation; see docs/multilabel.md.
_PRIOR_STRENGTH = 10.0
_BANDWIDTH = 0.5


def choose_thresholds(
    proba: Float64Array,
    Y: BoolArray,
    sample_weight: Float64Array | None = None,
    prior_strength: float = _PRIOR_STRENGTH,
) -> Float64Array:
    r"""Choose the threshold of each label that maximizes its smoothed F1.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_labels)
        Out-of-fold probabilities.
    Y : ndarray of shape (n_samples, n_labels)
        Label indicators.
    sample_weight : ndarray of shape (n_samples,), default=None
        Sample weights; None means equal weights.
    prior_strength : float
        Number of positive pseudo-samples; 0 maximizes the F1 of each label alone (SCut [1]_).

    Returns
    -------
    ndarray of shape (n_labels,)
        Thresholds: a label is predicted if its probability is at least the threshold. Labels
        without positive samples have the threshold 1.

    Notes
    -----
    The best threshold of a label with two positive samples is a poor one for new samples. Before F1
    is computed, true positives, false positives and false negatives at each candidate threshold are
    therefore increased by those of labels of similar frequency, scaled to `prior_strength` positive
    pseudo-samples. A label of frequency :math:`n_j` takes part in this sum for label :math:`k` with
    the weight :math:`\exp(-(\log n_j - \log n_k)^2 / (2 h^2))`.

    References
    ----------
    .. [1] Yang (2001). A study of thresholding strategies for text categorization. SIGIR.

    Examples
    --------
    >>> proba = np.array([[0.1], [0.2], [0.6], [0.7]])
    >>> Y = np.array([[False], [True], [True], [True]])
    >>> bool(0.1 < choose_thresholds(proba, Y)[0] <= 0.2)
    True
    """
    if sample_weight is None:
        sample_weight = np.ones(len(Y))
    n_positive = sample_weight @ Y
    true_positives, predicted = _count(proba, Y, sample_weight)
    logs = np.log(n_positive + 1)
    similarity = np.exp(-0.5 * np.square((logs[:, None] - logs) / _BANDWIDTH))
    factors = prior_strength * similarity / np.maximum(similarity @ n_positive, 1.0)[:, None]
    true_positives = true_positives + true_positives @ factors.T
    predicted = predicted + predicted @ factors.T
    f1 = 2 * true_positives / np.maximum(predicted + n_positive + prior_strength, 1e-300)
    return np.where(n_positive > 0, _GRID[_middle_of_best(f1)], 1.0)


def _count(
    proba: Float64Array, Y: BoolArray, sample_weight: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return weighted true and predicted positives, of shape (n_candidates, n_labels)."""
    n_labels = Y.shape[1]
    # Number of candidates that each probability reaches.
    reached = np.searchsorted(_GRID, proba, side="right")
    shape = (n_labels, len(_GRID) + 1)
    codes = np.arange(n_labels) * shape[1] + reached
    weights = np.broadcast_to(sample_weight[:, None], Y.shape)
    counts = [
        np.bincount(codes[each], weights[each], shape[0] * shape[1]).reshape(shape)
        for each in (Y, np.ones_like(Y))
    ]
    # A probability that reaches i candidates is predicted at the first i of them.
    true_positives, predicted = (each[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].T for each in counts)
    return true_positives, predicted


def _middle_of_best(f1: Float64Array) -> NDArray[np.intp]:
    """Return the middle of the first range of candidates with the highest F1, for each label."""
    is_best = f1 >= f1.max(axis=0) - 1e-12
    first = is_best.argmax(axis=0)
    # The range ends before the first candidate after it that is not best.
    after = ~is_best & (np.arange(len(f1))[:, None] > first)
    last = np.where(after.any(axis=0), after.argmax(axis=0), len(f1)) - 1
    return np.asarray((first + last) // 2)
