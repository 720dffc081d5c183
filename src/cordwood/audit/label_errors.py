"""Likely label errors by confident learning on out-of-fold predictions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import DataError
from cordwood.oof.records import OOFPredictions

_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class LabelErrors:
    """Result of `find_label_errors`.

    Parameters
    ----------
    ranking : ndarray of shape (n_errors,)
        Indices of the samples whose labels are probably wrong, the most suspect first.
    self_confidence : ndarray of shape (n_samples,)
        Out-of-fold probability of the given label.
    suggested : ndarray of shape (n_samples,)
        Code of the most probable other class.
    confidence : ndarray of shape (n_samples,)
        Out-of-fold probability of the suggested class.
    thresholds : ndarray of shape (n_classes,)
        Mean out-of-fold probability of each class over its own samples; NaN for a class without
        samples.
    """

    ranking: NDArray[np.intp]
    self_confidence: NDArray[np.float64]
    suggested: NDArray[np.intp]
    confidence: NDArray[np.float64]
    thresholds: NDArray[np.float64]


def find_label_errors(oof: OOFPredictions) -> LabelErrors:
    """Find labels that are probably wrong.

    Parameters
    ----------
    oof : OOFPredictions
        Out-of-fold predictions, such as `oof_` of a `TextClassifier`.

    Returns
    -------
    LabelErrors

    See Also
    --------
    audit_dataset : Explains the suspects by words and neighbors, and looks for other problems.

    Notes
    -----
    The number of errors is estimated by confident learning [1]_: a sample counts as an error if
    another class is predicted, with at least the mean probability of that class over its own
    samples. This threshold depends on how easy the class is. As many of the samples for which
    another class is predicted are reported, those with the lowest probability of the given label,
    the self-confidence. Of the scores in [2]_, it ranks planted errors highest on average; see
    docs/audit.md.

    References
    ----------
    .. [1] Northcutt, Jiang, Chuang (2021). Confident learning: estimating uncertainty in dataset
       labels. Journal of Artificial Intelligence Research 70.
    .. [2] Kuan, Mueller (2022). Model-agnostic label quality scoring to detect real-world label
       errors. ICML DataPerf Workshop.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.95, 0.05]])
    >>> oof = OOFPredictions(
    ...     proba=proba, y=np.array([0, 0, 1, 1, 1]), classes=np.array(["a", "b"]), sources={}
    ... )
    >>> find_label_errors(oof).ranking
    array([4])
    """
    proba, y = np.asarray(oof.proba, np.float64), np.asarray(oof.y)
    n_samples, n_classes = proba.shape
    if n_classes < 2:
        raise DataError("there is only one class; label errors need at least two")
    samples = np.arange(n_samples)
    own = proba[samples, y]
    sizes = np.bincount(y, minlength=n_classes)
    sums = np.bincount(y, weights=own, minlength=n_classes)
    thresholds = np.divide(sums, sizes, out=np.full(n_classes, np.nan), where=sizes > 0)
    others = proba.copy()
    others[samples, y] = -1.0
    suggested = others.argmax(axis=1)
    predicted = proba.argmax(axis=1)
    is_wrong = predicted != y
    # A predicted class that has no samples has the threshold NaN, and counts for nothing.
    is_error = is_wrong & (proba[samples, predicted] >= thresholds[predicted] - _TOLERANCE)
    order = np.argsort(own, kind="stable")
    return LabelErrors(
        ranking=order[is_wrong[order]][: int(is_error.sum())],
        self_confidence=own,
        suggested=suggested,
        confidence=others[samples, suggested],
        thresholds=thresholds,
    )
