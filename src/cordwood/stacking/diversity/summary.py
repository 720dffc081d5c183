"""Diversity of a whole ensemble: means over its pairs, and what all members know together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cordwood.exceptions import CordwoodError
from cordwood.stacking.diversity import pairs
from cordwood.stacking.diversity._predictions import Answers, find_right


@dataclass(frozen=True)
class EnsembleDiversity:
    """How accurate the members of an ensemble are, and how differently they err.

    Parameters
    ----------
    n_members, n_rows : int
        Number of members, and of rows that they answered.
    mean_accuracy, best_accuracy : float
        Of the members on their own.
    oracle_accuracy : float
        Share of rows that at least one of all members gets right.
    combination_potential : float
        Accuracy of the oracle in relation to the best member's; NaN if all are always wrong.
    disagreement, normalized_disagreement, double_fault, q_statistic, correlation, kappa : float
        Means over all pairs; NaN if a pair's is.
    """

    n_members: int
    n_rows: int
    mean_accuracy: float
    best_accuracy: float
    oracle_accuracy: float
    combination_potential: float
    disagreement: float
    normalized_disagreement: float
    double_fault: float
    q_statistic: float
    correlation: float
    kappa: float


def measure_ensemble(answers: Answers, y: ArrayLike) -> EnsembleDiversity:
    """Take all measures of an ensemble.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave; at least two members.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    EnsembleDiversity

    Examples
    --------
    >>> answers = {"rf": list("abaa"), "svm": list("aaba"), "nb": list("bbaa")}
    >>> found = measure_ensemble(answers, list("abba"))
    >>> found.oracle_accuracy, round(found.double_fault, 3), round(found.disagreement, 3)
    (1.0, 0.083, 0.5)
    """
    right = find_right(answers, y)
    truth = np.ones(right.shape[1], dtype=bool)
    accuracies = right.mean(axis=1)
    best, oracle = float(accuracies.max()), float(right.any(axis=0).mean())
    return EnsembleDiversity(
        n_members=len(right),
        n_rows=right.shape[1],
        mean_accuracy=float(accuracies.mean()),
        best_accuracy=best,
        oracle_accuracy=oracle,
        combination_potential=oracle / best if best else float("nan"),
        disagreement=mean_over_pairs(pairs.disagreement(right, truth)),
        normalized_disagreement=mean_over_pairs(pairs.normalized_disagreement(right, truth)),
        double_fault=mean_over_pairs(pairs.double_fault(right, truth)),
        q_statistic=mean_over_pairs(pairs.q_statistic(right, truth)),
        correlation=mean_over_pairs(pairs.correlation(right, truth)),
        kappa=mean_over_pairs(pairs.kappa(answers)),
    )


def mean_over_pairs(matrix: ArrayLike) -> float:
    """Average a measure over all pairs of different members.

    Parameters
    ----------
    matrix : array-like of shape (n_members, n_members)
        What a measure of pairs gives; at least two members.

    Returns
    -------
    float
        NaN if any pair's is: the mean of the others would speak of another ensemble.

    Examples
    --------
    >>> mean_over_pairs([[0.0, 0.1, 0.2], [0.1, 0.0, 0.6], [0.2, 0.6, 0.0]])
    0.3
    """
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise CordwoodError(
            f"matrix is of shape {table.shape}; give one of n_members rows and columns"
        )
    if len(table) < 2:
        raise CordwoodError("there is but one member, and no pair; give at least two")
    return float(table[np.triu_indices(len(table), k=1)].mean())
