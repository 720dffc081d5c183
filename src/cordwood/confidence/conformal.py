"""Conformal prediction sets from out-of-fold probabilities."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood._base.param_validation import check_choice

METHODS = ("lac", "aps", "raps")

# Penalty of each label of rank above `_UNPENALIZED_RANKS` in RAPS; see docs/confidence.md.
_PENALTY = 0.05
_UNPENALIZED_RANKS = 1

# Values of the random part with which the score of a training sample is computed. Their average
# replaces one random value, which would make the coverage depend on the seed.
_N_COPIES = 32


@dataclass(frozen=True)
class ConformalCalibration:
    """Conformity scores of the training samples, which determine prediction sets.

    Made by `calibrate_sets`.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_copies)
        Nonconformity scores of the true label of each training sample, for equally spaced values of
        the random part of the score.
    y : ndarray of int, shape (n_samples,)
        Class codes of the training samples.
    n_classes : int
        Number of classes.
    method : {"lac", "aps", "raps"}
        Nonconformity score.
    class_conditional : bool
        Whether each class has a threshold of its own.
    random_state : int
        Seed of the randomized scores.

    See Also
    --------
    calibrate_sets : Compute the scores, with an example.
    """

    scores: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.intp] = field(repr=False)
    n_classes: int
    method: str
    class_conditional: bool
    random_state: int

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
        scores = nonconformity(proba, self.method, uniform_of_rows(proba, self.random_state))
        is_member = scores <= self.thresholds(coverage)
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
    method: str = "lac",
    class_conditional: bool = False,
    random_state: int = 0,
) -> ConformalCalibration:
    r"""Compute conformity scores from out-of-fold probabilities.

    Parameters
    ----------
    oof_proba : array-like of shape (n_samples, n_classes)
        Out-of-fold probabilities of the training samples, such as `OOFPredictions.proba`. Samples
        with NaN are ignored.
    y : array-like of int, shape (n_samples,)
        Class codes: columns of `oof_proba`.
    method : {"lac", "aps", "raps"}, default="lac"
        Nonconformity score of a label:

        - "lac" [1]_: one minus its probability. No other score has smaller sets on average if the
          probabilities are right.
        - "aps" [2]_: total probability of the more probable labels, plus a random part of its own.
          Sets are larger for difficult samples and smaller for easy ones than those of "lac", so
          that both have the same coverage.
        - "raps" [3]_: "aps" plus a penalty of 0.05 for each label of rank above 1. Sets are
          smaller than those of "aps" if there are many classes and nearly all samples are
          classified correctly; otherwise the threshold exceeds one, and no set has a single label.
    class_conditional : bool, default=False
        Whether the coverage holds for the samples of each class instead of all samples
        (Mondrian). Classes that are too small share a threshold; see `pooled_classes`.
    random_state : int, default=0
        Seed of the random part in "aps" and "raps". That of a new sample is a function of the seed
        and its probabilities: the same sample has the same set in any batch.

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
    A label is in the set if its score is at most the k-th smallest score of the true labels of n
    training samples, with :math:`k = \lceil (n + 1) \cdot coverage \rceil`. The random part of
    their scores is averaged over equally spaced values. If the scores of new samples and of
    training samples are exchangeable, the set contains the true label with at least this
    probability, whatever the classifier and the distribution. Out-of-fold predictions come from
    models of fewer samples or trees than the final model (the jackknife, not jackknife+ [4]_, which
    would have to keep these models), so that this holds approximately; docs/confidence.md has the
    measured coverage.

    References
    ----------
    .. [1] Sadinle, Lei, Wasserman (2019). Least ambiguous set-valued classifiers with bounded
       error levels. JASA 114.
    .. [2] Romano, Sesia, Candès (2020). Classification with valid and adaptive coverage. NeurIPS.
    .. [3] Angelopoulos, Bates, Malik, Jordan (2021). Uncertainty sets for image classifiers using
       conformal prediction. ICLR.
    .. [4] Barber, Candès, Ramdas, Tibshirani (2021). Predictive inference with the jackknife+.
       Annals of Statistics 49.
    .. [5] Ding, Angelopoulos, Bates, Jordan, Tibshirani (2023). Class-conditional conformal
       prediction with many classes. NeurIPS.

    Examples
    --------
    >>> oof_proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7], [0.6, 0.4]])
    >>> calibration = calibrate_sets(oof_proba, [0, 0, 1, 1, 1], method="lac")
    >>> calibration.predict_set([[0.95, 0.05], [0.45, 0.55]], coverage=0.8)
    array([[ True, False],
           [ True,  True]])
    """
    check_choice("method", method, METHODS)
    proba, codes = check_oof(oof_proba, y)
    true = np.arange(len(codes)), codes
    scores = nonconformity(proba, method, np.zeros(len(codes)))[true][:, None]
    if method != "lac":
        parts = (np.arange(_N_COPIES) + 0.5) / _N_COPIES
        scores = scores + parts * proba[true][:, None]
    return ConformalCalibration(
        scores=scores,
        y=codes,
        n_classes=proba.shape[1],
        method=method,
        class_conditional=class_conditional,
        random_state=random_state,
    )


def nonconformity(
    proba: NDArray[np.float64], method: str, u: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the nonconformity score of each label, of shape (n_samples, n_classes).

    In "aps" and "raps", `u` is the part of a label's own probability that counts, one per sample.
    """
    if method == "lac":
        return 1.0 - proba
    order = np.argsort(-proba, axis=1, kind="stable")
    descending = np.take_along_axis(proba, order, axis=1)
    ranked = np.cumsum(descending, axis=1) - descending + u[:, None] * descending
    if method == "raps":
        ranked += _PENALTY * np.maximum(np.arange(1, proba.shape[1] + 1) - _UNPENALIZED_RANKS, 0)
    scores = np.empty_like(proba)
    np.put_along_axis(scores, order, ranked, axis=1)
    return scores


def uniform_of_rows(proba: NDArray[np.float64], random_state: int) -> NDArray[np.float64]:
    """Return a number between 0 and 1 for each row, a hash of its values and the seed."""
    bits = np.ascontiguousarray(proba, np.float64).view(np.uint64)
    state = np.full(len(proba), np.uint64(random_state % 2**64))
    for column in range(bits.shape[1]):
        state = _mix(state ^ bits[:, column])
    return np.asarray((state >> np.uint64(11)).astype(np.float64) / 2.0**53)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the next output of SplitMix64, a bijection whose output bits look random."""
    with np.errstate(over="ignore"):
        z = state + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def quantile_rank(n_samples: int, coverage: float) -> int:
    """Return the rank, from 1, of the score that is the threshold for a coverage."""
    # Without the tolerance, 100 * 0.29 would be rounded up to 30.
    return math.ceil((n_samples + 1) * coverage - 1e-9)


def conformal_quantile(scores: NDArray[np.float64], coverage: float) -> float:
    """Return the threshold of scores for a coverage; infinity if there are too few samples.

    Scores have one row per sample; each of its columns counts as a part of a sample.
    """
    n_samples, n_copies = scores.shape
    rank = quantile_rank(n_samples, coverage)
    if rank > n_samples:
        return math.inf
    last = rank * n_copies - 1
    return float(np.partition(scores, last, axis=None)[last])


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
