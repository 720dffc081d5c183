"""Naive Bayes log-count ratios as feature scales (NB-SVM)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.csr import largest_magnitude

_SMOOTHING = 1.0  # added to the count of each feature in the class and in the rest

# Automatic strength: its limit for many occurrences, and the number of occurrences at which it is
# half of that. Chosen by benchmarks/count_ratio_share.py; see docs/stacking.md.
_MAX_STRENGTH = 0.5
_HALF_STRENGTH_OCCURRENCES = 20_000

# Samples whose values are summed at once, so that temporary arrays are small.
_BLOCK_SIZE = 4096


class LogCountRatio:
    """Scale features by their log-count ratio between a class and the rest, as in NB-SVM.

    The L2 penalty of an SVM is smaller for a feature with a larger scale. Features whose presence
    depends on the class are therefore preferred over features that occur everywhere.
    """

    def __init__(self, X: Any, weights: NDArray[np.float64], strength: float | str) -> None:
        self._samples = sp.csr_matrix(X)
        if not self._samples.has_canonical_format:
            self._samples = self._samples.copy()  # sum_duplicates works in place
            self._samples.sum_duplicates()
        self._weights = weights
        self._strength = strength
        self._counts = _count_samples(self._samples, weights)
        # Relative to the largest value, so that squares cannot overflow.
        largest = largest_magnitude(self._samples) or 1.0
        self._squares = _column_sums(
            self._samples, weights, lambda data: np.square(data.astype(np.float64) / largest)
        )

    def scale(self, is_positive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the scale of each feature for one class against the rest."""
        # With weighted counts p_j and q_j of the samples that contain feature j in the class and in
        # the rest, both smoothed by one, r_j = log((p_j / sum p) / (q_j / sum q)). The scale is
        # sqrt(1 - s + s r_j^2 / mean(r^2)) for strength s, times one factor for all features that
        # keeps the mean squared norm of the samples. Wang and Manning (2012) interpolate the fitted
        # coefficients instead.
        counts = _count_samples(self._samples[is_positive], self._weights[is_positive])
        rest = self._counts - counts
        strength = (
            automatic_strength(min(counts.sum(), rest.sum()))
            if isinstance(self._strength, str)
            else self._strength
        )
        ratio = _log_frequency(counts) - _log_frequency(rest)
        squared = np.square(ratio)
        mean = squared.mean()
        if not mean:
            return np.ones(len(ratio))
        scale = 1.0 - strength + strength * squared / mean
        # Not a dot product, which rounds differently for different numbers of BLAS threads.
        total = (self._squares * scale).sum()
        if total:
            scale *= self._squares.sum() / total
        return np.asarray(np.sqrt(scale))


def automatic_strength(n_occurrences: float) -> float:
    """Return the strength for a number of non-zero values in the smaller of class and rest."""
    # Ratios of few counts are unreliable.
    relative = n_occurrences / _HALF_STRENGTH_OCCURRENCES
    return float(_MAX_STRENGTH * relative**2 / (1.0 + relative**2))


def _count_samples(X: sp.csr_matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted number of samples in which each feature is not zero."""
    return _column_sums(X, weights, lambda data: data != 0)


def _column_sums(
    X: sp.csr_matrix,
    weights: NDArray[np.float64],
    transform: Callable[[NDArray[Any]], NDArray[Any]],
) -> NDArray[np.float64]:
    """Return the weighted column sums of the transformed values of `X`."""
    total = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], _BLOCK_SIZE):
        bounds = X.indptr[start : start + _BLOCK_SIZE + 1]
        entries = slice(bounds[0], bounds[-1])
        factors = np.repeat(weights[start : start + _BLOCK_SIZE], np.diff(bounds))
        # One addition after the other, so that sums do not depend on the size of blocks.
        np.add.at(total, X.indices[entries], transform(X.data[entries]) * factors)
    return total


def _log_frequency(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    smoothed = counts + _SMOOTHING
    return np.asarray(np.log(smoothed / smoothed.sum()))
