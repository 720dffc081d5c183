"""Diversity measures: how differently the members of an ensemble err.

Every measure takes the `predictions` of the members and the true labels `y`. Predictions are a
mapping or a data frame from names to predicted labels, or a sequence of arrays of predicted labels,
e.g. an array of shape (n_members, n_samples). If only the correctness of predictions is known, pass
it as predictions, with an array of True as `y`.

Pairwise measures return a symmetric matrix of shape (n_members, n_members), in the order of the
members; its diagonal compares each member with itself. `mean_over_pairs` reduces it to one number
for the ensemble. A quotient 0 / 0 is NaN, and so are means over it.
"""

from cordwood.stacking.diversity.pairwise import (
    combination_potential,
    correlation,
    disagreement,
    double_fault,
    kappa,
    mean_over_pairs,
    normalized_disagreement,
    oracle_accuracy,
    q_statistic,
)
from cordwood.stacking.diversity.pareto import pareto_front

__all__ = [
    "combination_potential",
    "correlation",
    "disagreement",
    "double_fault",
    "kappa",
    "mean_over_pairs",
    "normalized_disagreement",
    "oracle_accuracy",
    "pareto_front",
    "q_statistic",
]
