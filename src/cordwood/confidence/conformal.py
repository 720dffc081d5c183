"""Conformal prediction sets from out-of-fold probabilities."""

from __future__ import annotations  # `help` shows the short names

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class ConformalCalibration:
    """Nonconformity scores of the training samples, which determine prediction sets.

    Made by `calibrate_sets`.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Nonconformity scores: one minus the probability of the true label of each training sample.
    y : ndarray of int, shape (n_samples,)
        Class codes of the training samples.
    n_classes : int
        Number of classes.
    class_conditional : bool
        Whether each class has a threshold of its own.

    See Also
    --------
    calibrate_sets : Compute the scores, with an example.
    """

    scores: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.intp] = field(repr=False)
    n_classes: int
    class_conditional: bool

    def predict_set(
        self, proba: ArrayLike, coverage: float = 0.95, *, allow_empty: bool = False
    ) -> NDArray[np.bool_]:
        """Predict the set of labels that contains the true one with a given probability.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Class probabilities of new samples.
        coverage : float, default=0.95
            Probability that the set contains the true label, between 0 and 1.
        allow_empty : bool, default=False
            Whether sets may be empty. If False, the most probable label is in every set, and the
            coverage is at least the accuracy of the classifier.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            Whether each label is in the set.
        """
        proba = _check_proba(proba, self.n_classes)
        is_member = 1.0 - proba <= self.thresholds(coverage)
        if not allow_empty:
            is_member[np.arange(len(proba)), proba.argmax(axis=1)] = True
        return is_member

    def thresholds(self, coverage: float = 0.95) -> NDArray[np.float64]:
        """Return the largest score of a label in a prediction set, for each class.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability that the set contains the true label, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_classes,)
            Infinity if there are fewer than ``coverage / (1 - coverage)`` samples.
        """
        check_coverage(coverage)
        if not self.class_conditional:
            return np.full(self.n_classes, conformal_quantile(self.scores, coverage))
        is_pooled = np.isin(np.arange(self.n_classes), self.pooled_classes(coverage))
        pooled = self.scores[is_pooled[self.y]]
        if not np.isfinite(conformal_quantile(pooled, coverage)):
            pooled = self.scores
        return np.array(
            [
                conformal_quantile(
                    pooled if is_pooled[code] else self.scores[self.y == code], coverage
                )
                for code in range(self.n_classes)
            ]
        )

    def pooled_classes(self, coverage: float = 0.95) -> NDArray[np.intp]:
        """Return the classes that are too small for a threshold of their own.

        A class needs at least ``coverage / (1 - coverage)`` samples: 19 for a coverage of 0.95.
        Smaller classes share one threshold, computed from all of their samples, or from those of
        all classes if even these are too few. The coverage then holds for them together.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability that the set contains the true label, between 0 and 1.

        Returns
        -------
        ndarray of int
            Class codes; empty without `class_conditional`.
        """
        check_coverage(coverage)
        if not self.class_conditional:
            return np.empty(0, np.intp)
        counts = np.bincount(self.y, minlength=self.n_classes)
        return np.flatnonzero([quantile_rank(n, coverage) > n for n in counts.tolist()])


def calibrate_sets(
    oof_proba: ArrayLike,
    y: ArrayLike,
    *,
    class_conditional: bool = False,
) -> ConformalCalibration:
    r"""Compute nonconformity scores from out-of-fold probabilities.

    Parameters
    ----------
    oof_proba : array-like of shape (n_samples, n_classes)
        Out-of-fold probabilities of the training samples, such as `OOFPredictions.proba`. Samples
        with NaN are ignored.
    y : array-like of int, shape (n_samples,)
        Class codes: columns of `oof_proba`.
    class_conditional : bool, default=False
        Whether the coverage holds for the samples of each class instead of all samples
        (Mondrian [3]_). Classes that are too small share a threshold; see `pooled_classes`.

    Returns
    -------
    ConformalCalibration
        Has the method `predict_set`.

    Raises
    ------
    ValueError
        If `oof_proba` and `y` do not match.

    Notes
    -----
    The nonconformity score of a label is one minus its probability (LAC [1]_): no other score has
    smaller sets on average if the probabilities are right. A label is in the set if its score is
    at most the k-th smallest score of the true labels of n training samples, with
    :math:`k = \lceil (n + 1) \cdot coverage \rceil`. If the scores of new samples and of training
    samples are exchangeable, the set contains the true label with at least this
    probability, whatever the classifier and the distribution. Out-of-fold predictions come from
    models of fewer samples or trees than the final model (the jackknife, not jackknife+ [2]_, which
    would have to keep these models), so that this holds approximately; docs/confidence.md has the
    measured coverage.

    References
    ----------
    .. [1] Sadinle, Lei, Wasserman (2019). Least ambiguous set-valued classifiers with bounded
       error levels. JASA 114.
    .. [2] Barber, Candès, Ramdas, Tibshirani (2021). Predictive inference with the jackknife+.
       Annals of Statistics 49.
    .. [3] Ding, Angelopoulos, Bates, Jordan, Tibshirani (2023). Class-conditional conformal
       prediction with many classes. NeurIPS.

    Examples
    --------
    >>> oof_proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.6, 0.4]])
    >>> calibration = calibrate_sets(oof_proba, [0, 0, 1, 1, 1])
    >>> calibration.predict_set([[0.95, 0.05], [0.45, 0.55]], coverage=0.8)
    array([[ True, False],
           [ True,  True]])
    """
    proba, codes = check_oof(oof_proba, y)
    return ConformalCalibration(
        scores=1.0 - proba[np.arange(len(codes)), codes],
        y=codes,
        n_classes=proba.shape[1],
        class_conditional=class_conditional,
    )


def quantile_rank(n_samples: int, coverage: float) -> int:
    """Return the rank, from 1, of the score that is the threshold for a coverage."""
    # Without the tolerance, 100 * 0.29 would be rounded up to 30.
    return math.ceil((n_samples + 1) * coverage - 1e-9)


def conformal_quantile(scores: NDArray[np.float64], coverage: float) -> float:
    """Return the threshold of scores for a coverage; infinity if there are too few samples."""
    rank = quantile_rank(len(scores), coverage)
    return math.inf if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])


def check_oof(oof_proba: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Validate out-of-fold probabilities and class codes; drop samples with NaN."""
    proba, codes = np.asarray(oof_proba, np.float64), np.asarray(y)
    if proba.ndim != 2 or codes.shape != proba.shape[:1]:
        raise ValueError(
            "oof_proba must have one row and y one class code per sample; got arrays of shape "
            f"{proba.shape} and {codes.shape}"
        )
    is_code = codes.dtype.kind in "iu" and ((codes >= 0) & (codes < proba.shape[1])).all()
    if not is_code:
        raise ValueError(f"y must contain class codes from 0 to {proba.shape[1] - 1}")
    is_known = ~np.isnan(proba).any(axis=1)
    return proba[is_known], codes[is_known].astype(np.intp)


def check_coverage(coverage: Any) -> None:
    """Raise ValueError if the coverage is not a share."""
    if not isinstance(coverage, int | float | np.number) or not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, such as 0.95; got {coverage!r}")


def _check_proba(proba: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    array = np.asarray(proba, np.float64)
    if array.ndim != 2 or array.shape[1] != n_classes:
        raise ValueError(
            f"proba must have {n_classes} columns, one per class; got an array of shape "
            f"{array.shape}"
        )
    return array
