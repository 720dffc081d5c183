"""What the presence of a feature tells of a class: the evidence of naive Bayes, as a scale."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_SMOOTHING = 1.0  # documents that both sides are taken to have of every feature


class Evidence:
    """Scales of features by class, from which a linear machine learns [1]_.

    A large feature needs but a small coefficient, and small ones cost a machine little. So it leans
    on features that tell the class from the rest, and on others only where many documents ask.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_documents, n_features)
        Training documents.
    weights : ndarray of shape (n_documents,)
        How much each document counts.
    share : float
        How much of the squared scale is evidence; the rest is the same for all features.

    References
    ----------
    .. [1] Wang, Manning (2012). Baselines and bigrams: simple, good sentiment and topic
       classification. ACL. There the coefficients are drawn to their mean, here the scales.
    """

    def __init__(self, X: Any, weights: NDArray[np.float64], share: float) -> None:
        self._rows = sp.csr_matrix(X)
        if not self._rows.has_canonical_format:
            self._rows = self._rows.copy()  # adding up works in place, and X is the caller's
            self._rows.sum_duplicates()
        self._weights = weights
        self._share = share
        self._present = _count(self._rows, weights)
        data = self._rows.data
        relative = data / (np.abs(data).max(initial=0.0) or 1.0)  # whose squares cannot overflow
        self._squares = _add_up(self._rows, np.square(relative), weights)

    def weigh(self, is_class: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give the scale of each feature; documents are on average as long with it as without."""
        inside = _count(self._rows[is_class], self._weights[is_class])
        ratio = _log_share(inside) - _log_share(self._present - inside)
        squared = np.square(ratio)
        mean = squared.mean()
        if not mean:
            return np.ones(len(ratio))
        scale = 1.0 - self._share + self._share * squared / mean
        # No product of vectors, whose last bits would depend on how many threads BLAS has.
        length = (self._squares * scale).sum()
        if length:
            scale *= self._squares.sum() / length
        return np.asarray(np.sqrt(scale))


def _count(rows: sp.csr_matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count the documents that have each feature, by their weights."""
    return _add_up(rows, rows.data != 0, weights)


def _add_up(
    rows: sp.csr_matrix, values: NDArray[Any], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up values, one for each entry of the rows, in each column, by the rows' weights."""
    weighed = values * np.repeat(weights, np.diff(rows.indptr))
    return np.asarray(np.bincount(rows.indices, weighed, rows.shape[1]), np.float64)


def _log_share(present: NDArray[np.float64]) -> NDArray[np.float64]:
    smoothed = present + _SMOOTHING
    return np.asarray(np.log(smoothed / smoothed.sum()))
