"""Scores of one category among all rows, and the threshold that is best for its F1."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

HALF = 0.5
"""The threshold of a probability where none is sought."""


class CategoryScores(NamedTuple):
    """How well a category was found; each is zero where there is nothing to divide by."""

    f1: float
    precision: float
    recall: float


def category_scores(truth: NDArray[np.bool_], found: NDArray[np.bool_]) -> CategoryScores:
    """Compare the rows that are of a category with those that were said to be.

    Examples
    --------
    >>> category_scores(np.array([True, True, False, False]), np.array([True, False, True, True]))
    CategoryScores(f1=0.4, precision=0.3333333333333333, recall=0.5)
    """
    both, either = int((truth & found).sum()), int(truth.sum()) + int(found.sum())
    return CategoryScores(
        f1=2 * both / either if either else 0.0,
        precision=both / int(found.sum()) if found.any() else 0.0,
        recall=both / int(truth.sum()) if truth.any() else 0.0,
    )


def take_votes(
    votes: NDArray[Any], classes: NDArray[Any], category: str | None
) -> NDArray[np.float64]:
    """Take the votes for a category; none where a learner has never seen it.

    Examples
    --------
    >>> take_votes(np.array([[0.7, 0.3]]), np.array(["(others)", "tin"]), "tin").tolist()
    [0.3]
    >>> take_votes(np.array([[1.0]]), np.array(["(others)"]), "tin").tolist()
    [0.0]
    """
    column = np.flatnonzero(classes == category)
    return votes[:, column[0]].astype(np.float64) if len(column) else np.zeros(len(votes))


def find_threshold(truth: NDArray[np.bool_], votes: NDArray[np.float64]) -> float:
    """Find the threshold above which votes have the best F1; the nearest to one half of equals.

    Parameters
    ----------
    truth : bool array of shape (n_rows,)
        Which rows are of the category.
    votes : float array of shape (n_rows,)
        Probabilities of it.

    Returns
    -------
    float
        Half-way between two votes; one half if no vote finds anything.

    Examples
    --------
    >>> float(find_threshold(np.array([True, True, False]), np.array([0.9, 0.3, 0.1])))
    0.2
    """
    order = np.argsort(-votes, kind="stable")
    ranked = votes[order].astype(np.float64)
    hits = np.cumsum(truth[order])
    f1 = 2 * hits / (truth.sum() + np.arange(1, len(votes) + 1))
    lower = np.append(ranked[1:], 0.0)
    f1[ranked <= lower] = 0.0  # no threshold parts equal votes
    best = f1.max(initial=0.0)
    if best == 0.0:
        return HALF
    chosen = np.flatnonzero(f1 >= best * (1 - 1e-12))
    low, high = lower[chosen], ranked[chosen]
    if ((low <= HALF) & (HALF < high)).any():
        return HALF
    middles = (low + high) / 2
    return float(middles[np.argmin(np.abs(middles - HALF))])
