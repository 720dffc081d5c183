"""Binary scores of one category, and the decision threshold that maximizes its F1."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_TINY = 1e-300  # in place of a denominator of zero

DEFAULT_THRESHOLD = 0.5
"""Decision threshold of a probability if none is tuned."""


class CategoryScores(NamedTuple):
    """Binary scores of a category; a score whose denominator is zero is 0.0.

    Parameters
    ----------
    f1, precision, recall : float
        As scikit-learn's functions of the same names with ``zero_division=0.0``.
    """

    f1: float
    precision: float
    recall: float


def category_scores(
    y_true: NDArray[np.bool_], y_pred: NDArray[np.bool_], sample_weight: ArrayLike | None = None
) -> CategoryScores:
    """Compute F1, precision and recall of a category.

    Parameters
    ----------
    y_true : bool array of shape (n_samples,)
        Whether a sample belongs to the category.
    y_pred : bool array of shape (n_samples,)
        Whether it is predicted to belong to it.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; None means equal weights.

    Returns
    -------
    CategoryScores

    Examples
    --------
    >>> category_scores(np.array([True, True, False, False]), np.array([True, False, True, True]))
    CategoryScores(f1=0.4, precision=0.3333333333333333, recall=0.5)
    """
    weights = np.ones(len(y_true)) if sample_weight is None else np.asarray(sample_weight, float)
    n_true, n_pred = float(weights @ y_true), float(weights @ y_pred)
    n_correct = float(weights @ (y_true & y_pred))
    return CategoryScores(
        f1=2 * n_correct / (n_true + n_pred) if n_true + n_pred else 0.0,
        precision=n_correct / n_pred if n_pred else 0.0,
        recall=n_correct / n_true if n_true else 0.0,
    )


def category_proba(
    proba: NDArray[Any], classes: NDArray[Any], category: str | None
) -> NDArray[np.float64]:
    """Return the probabilities of a category.

    Parameters
    ----------
    proba : array of shape (n_samples, n_classes)
        From `predict_proba`.
    classes : array of shape (n_classes,)
        From `classes_`.
    category : str or None
        The label.

    Returns
    -------
    float array of shape (n_samples,)
        Zeros if the training set had no sample of the category.

    Examples
    --------
    >>> category_proba(np.array([[0.7, 0.3]]), np.array(["(others)", "tin"]), "tin").tolist()
    [0.3]
    >>> category_proba(np.array([[1.0]]), np.array(["(others)"]), "tin").tolist()
    [0.0]
    """
    column = np.flatnonzero(classes == category)
    return proba[:, column[0]].astype(np.float64) if len(column) else np.zeros(len(proba))


def find_best_threshold(
    y_true: NDArray[np.bool_],
    proba: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
) -> float:
    """Find the threshold above which predicting the category maximizes F1.

    Parameters
    ----------
    y_true : bool array of shape (n_samples,)
        Whether a sample belongs to the category.
    proba : float array of shape (n_samples,)
        Its probability of belonging to it.
    sample_weight : float array of shape (n_samples,), default=None
        Sample weights; None means equal weights.

    Returns
    -------
    float
        Midpoint between two adjacent probabilities. Of equally good thresholds, the one nearest to
        `DEFAULT_THRESHOLD`; `DEFAULT_THRESHOLD` itself if every threshold has an F1 of zero.

    Examples
    --------
    >>> float(find_best_threshold(np.array([True, True, False]), np.array([0.9, 0.3, 0.1])))
    0.2
    """
    weights = np.ones(len(proba)) if sample_weight is None else sample_weight
    order = np.argsort(-proba, kind="stable")
    ranked = proba[order].astype(np.float64)
    n_correct = np.cumsum((weights * y_true)[order])
    f1 = 2 * n_correct / np.maximum(weights @ y_true + np.cumsum(weights[order]), _TINY)
    lower = np.append(ranked[1:], 0.0)
    f1[ranked <= lower] = 0.0  # no threshold separates equal probabilities
    best = f1.max(initial=0.0)
    if best == 0.0:
        return DEFAULT_THRESHOLD
    candidates = np.flatnonzero(f1 >= best * (1 - 1e-12))
    low, high = lower[candidates], ranked[candidates]
    if ((low <= DEFAULT_THRESHOLD) & (DEFAULT_THRESHOLD < high)).any():
        return DEFAULT_THRESHOLD
    midpoints = (low + high) / 2
    return float(midpoints[np.argmin(np.abs(midpoints - DEFAULT_THRESHOLD))])
