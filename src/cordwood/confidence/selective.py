"""Selective classification: a confidence threshold that bounds the error of the decided samples."""

from __future__ import annotations  # `help` shows the short names

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from cordwood.confidence.conformal import check_oof
from cordwood.exceptions import DataError

# Candidate thresholds, and how many of them start a sequence of tests.
_N_CANDIDATES = 100
_N_STARTS = 8
# Error rates that are tried if the requested one cannot be shown.
_BOUNDS = [*(i / 1000 for i in range(1, 100)), *(i / 100 for i in range(10, 100))]


@dataclass(frozen=True)
class ConfidenceThreshold:
    """Lowest confidence at which a prediction is kept, and what is known of the kept ones.

    Made by `choose_confidence`.

    Parameters
    ----------
    confidence : float
        Samples whose predicted label has at least this probability are decided.
    max_error : float
        Bound of the error rate of the decided samples.
    delta : float
        Probability that the error rate of the decided samples exceeds `max_error`.
    error : float
        Share of errors among the decided training samples, out of fold.
    error_bound : float
        Upper confidence limit of that share (Clopper-Pearson), at most `max_error`.
    decided : float
        Share of the training samples that are decided.
    n_samples : int
        Number of training samples.
    """

    confidence: float
    max_error: float
    delta: float
    error: float
    error_bound: float
    decided: float
    n_samples: int


def choose_confidence(
    oof_proba: ArrayLike,
    y: ArrayLike,
    max_error: float,
    *,
    predicted: ArrayLike | None = None,
    delta: float = 0.1,
) -> ConfidenceThreshold:
    r"""Choose the lowest confidence at which the error rate is below a bound.

    Parameters
    ----------
    oof_proba : array-like of shape (n_samples, n_classes)
        Out-of-fold probabilities of the training samples, such as `OOFPredictions.proba`. Samples
        with NaN are ignored.
    y : array-like of int, shape (n_samples,)
        Class codes: columns of `oof_proba`.
    max_error : float
        Largest error rate of the samples that are decided, between 0 and 1.
    predicted : array-like of int, shape (n_samples,), default=None
        Codes of the predicted classes; by default the most probable ones.
    delta : float, default=0.1
        Probability that the error rate of the decided samples exceeds `max_error`, over the random
        choice of the training samples.

    Returns
    -------
    ConfidenceThreshold
        The threshold, and how many of the training samples are decided with it.

    Raises
    ------
    DataError
        If no threshold has this error rate, or there are too few samples to show it.

    Notes
    -----
    For each of 100 candidate thresholds, equally spaced in the number of decided samples, the
    hypothesis that the error rate is above `max_error` is rejected if its upper Clopper-Pearson
    limit is at most `max_error`. To test many of them, the thresholds are tested in the order of
    falling confidence until the first that is not rejected, from eight starting points with
    ``delta / 8`` each, which bounds the probability of any false rejection by `delta` (learn then
    test [1]_, fixed sequence testing). Selective classification with a bounded error is from [2]_.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan, Lei (2021). Learn then test: calibrating predictive
       algorithms to achieve risk control. arXiv:2110.01052.
    .. [2] Geifman, El-Yaniv (2017). Selective classification for deep neural networks. NeurIPS.

    Examples
    --------
    Half of the samples have a confidence of 0.9, and all of them are correct; of the others, every
    second one is wrong:

    >>> oof_proba = np.array([[0.9, 0.1], [0.6, 0.4]] * 200)
    >>> y = np.array([0, 0, 0, 1] * 100)
    >>> threshold = choose_confidence(oof_proba, y, max_error=0.05)
    >>> threshold.confidence, threshold.decided, threshold.error
    (0.9, 0.5, 0.0)
    """
    for name, value in (("max_error", max_error), ("delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be between 0 and 1, such as 0.05; got {value!r}")
    given = np.asarray(oof_proba, np.float64)
    proba, codes = check_oof(given, y)
    if predicted is None:
        chosen = proba.argmax(axis=1)
    else:
        chosen = np.asarray(predicted)[~np.isnan(given).any(axis=1)]
    confidence = proba[np.arange(len(proba)), chosen]
    order = np.argsort(-confidence, kind="stable")
    confidence = confidence[order]
    n_errors = np.cumsum((chosen != codes)[order])
    share = delta / _N_STARTS
    found = _choose_size(confidence, n_errors, max_error, share)
    if found is None:
        raise DataError(_explain_failure(confidence, n_errors, max_error, share))
    size, bound = found
    return ConfidenceThreshold(
        confidence=float(confidence[size - 1]),
        max_error=float(max_error),
        delta=float(delta),
        error=float(n_errors[size - 1] / size),
        error_bound=bound,
        decided=size / len(codes),
        n_samples=len(codes),
    )


def error_limit(
    n_errors: NDArray[np.integer], n_samples: NDArray[np.integer], delta: float
) -> NDArray[np.float64]:
    """Return the upper Clopper-Pearson limit of an error rate, at the level 1 - delta.

    Examples
    --------
    >>> error_limit(np.array([0, 2]), np.array([100, 100]), 0.05).round(4)
    array([0.0295, 0.0616])
    """
    limit = betaincinv(n_errors + 1, np.maximum(n_samples - n_errors, 1), 1 - delta)
    return np.where(n_errors >= n_samples, 1.0, limit)


def _choose_size(
    confidence: NDArray[np.float64], n_errors: NDArray[np.intp], max_error: float, delta: float
) -> tuple[int, float] | None:
    """Return how many samples are decided at most, and the upper limit of their error rate.

    `n_errors` are the errors up to each sample, in the order of falling confidence.
    """
    sizes = _list_candidates(confidence, max_error, delta)
    bounds = error_limit(n_errors[sizes - 1], sizes, delta)
    chosen = _test_in_sequence(sizes, bounds <= max_error)
    return None if chosen is None else (int(sizes[chosen]), float(bounds[chosen]))


def _list_candidates(
    confidence: NDArray[np.float64], max_error: float, delta: float
) -> NDArray[np.intp]:
    """Return the numbers of decided samples of the candidate thresholds, in ascending order.

    Samples of the same confidence are decided together. With fewer samples than the first
    candidate, the error rate could not be shown to be below the bound even without any error.
    """
    n_samples = len(confidence)
    smallest = math.ceil(math.log(delta) / math.log1p(-max_error) - 1e-9)
    if smallest > n_samples:
        return np.empty(0, np.intp)
    wanted = np.unique(np.linspace(smallest, n_samples, _N_CANDIDATES).astype(np.intp))
    # The number of samples with at least the confidence of the wanted last one.
    return np.unique(np.searchsorted(-confidence, -confidence[wanted - 1], side="right"))


def _test_in_sequence(sizes: NDArray[np.intp], is_rejected: NDArray[np.bool_]) -> int | None:
    """Return the last candidate that is rejected by a sequence of tests from any start.

    Starts are at equal ratios of the number of decided samples: among few samples, single errors
    may prevent a rejection; among many, the error rate may be too high.
    """
    if not len(sizes):
        return None
    starts = np.searchsorted(sizes, np.geomspace(sizes[0], sizes[-1], _N_STARTS).astype(np.intp))
    last = None
    for start in np.unique(starts).tolist():
        length = int(np.argmin(np.append(is_rejected[start:], False)))
        if length:
            last = start + length - 1
    return last


def _explain_failure(
    confidence: NDArray[np.float64], n_errors: NDArray[np.intp], max_error: float, delta: float
) -> str:
    n_samples = len(confidence)
    needed = math.ceil(math.log(delta) / math.log1p(-max_error) - 1e-9)
    if needed > n_samples:
        return (
            f"max_error={max_error:g} needs at least {needed:,} training samples, even if all "
            f"predictions are correct; there are {n_samples:,}"
        )
    # Not the lowest limit of a candidate: it may be below max_error where no sequence reaches it.
    shown = (
        f"set max_error to {each:g}, the lowest that they show, or "
        for each in _BOUNDS
        if each > max_error and _choose_size(confidence, n_errors, each, delta)
    )
    return (
        f"no confidence has an error rate of at most {max_error:g}, as far as {n_samples:,} "
        f"training samples show; {next(shown, '')}train on more samples"
    )
