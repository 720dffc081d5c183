"""How differently the members of an ensemble err, for pairs of members and for all together.

Every measure takes the members' `answers` and the true labels `y`. The answers are a mapping or a
data frame with the labels that each member gave, by its name, or a sequence of these without
names, such as an array of shape (n_members, n_rows). Where only right and wrong are known, these
are the answers, and `y` is True throughout.

The measures of `pairs` give a matrix of shape (n_members, n_members), in the order of the members.
It is symmetric, and its diagonal compares a member with itself. `mean_over_pairs` makes it the
measure of an ensemble, and `measure_ensemble` takes all of them at once. What is zero divided by
zero is NaN, and so is each mean that it is part of.
"""

from cordwood.stacking.diversity.pairs import (
    combination_potential,
    correlation,
    disagreement,
    double_fault,
    kappa,
    normalized_disagreement,
    oracle_accuracy,
    q_statistic,
)
from cordwood.stacking.diversity.pareto import pareto_front
from cordwood.stacking.diversity.summary import EnsembleDiversity, mean_over_pairs, measure_ensemble

__all__ = [
    "EnsembleDiversity",
    "combination_potential",
    "correlation",
    "disagreement",
    "double_fault",
    "kappa",
    "mean_over_pairs",
    "measure_ensemble",
    "normalized_disagreement",
    "oracle_accuracy",
    "pareto_front",
    "q_statistic",
]
