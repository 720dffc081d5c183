"""Formulas of boosted forests: errors, estimator weights, and updates of the sample weights.

Arguments of the same name have the same meaning in all functions:

predictions : int32 array of shape (n_trees, n_samples)
    Class code that each tree of a forest predicts; -1 where a tree does not vote on a sample.
votes : float64 array of shape (n_samples, n_classes)
    Votes of the forest, summed over its trees; zero for samples without votes.
y : array of shape (n_samples,)
    Class codes.
weights : float64 array of shape (n_samples,)
    Sample weights with mean one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UPDATES = ("aggregate", "majority", "per_tree")

# Lower bound of the error of a forest, so that a forest without errors has a finite weight.
MIN_ERROR = 1e-5

# Lower bound of a sample weight. Such a sample is practically never drawn, but regains weight
# within a few rounds once it is misclassified.
MIN_WEIGHT = 1e-12


class BoostingParams(NamedTuple):
    """Parameters of `BoostedForestClassifier` that select among the formulas."""

    update: str
    oob_error: bool
    oob_updates: bool
    samme: bool
    tree_weights: bool
    learning_rate: float

    @property
    def needs_tree_errors(self) -> bool:
        """Whether any formula depends on the errors of single trees."""
        return self.tree_weights or self.update == "per_tree"


@dataclass(frozen=True)
class ForestVotes:
    """Predictions of the trees of a forest and their summed votes."""

    predictions: NDArray[np.int32]
    votes: NDArray[np.float64]

    @cached_property
    def has_votes(self) -> NDArray[np.bool_]:
        """Mask of the samples that at least one tree votes on."""
        return np.asarray((self.predictions >= 0).any(axis=0))

    def find_misclassified(self, y: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return the mask of samples with votes whose most voted class is wrong."""
        return np.asarray(self.has_votes & (self.votes.argmax(axis=1) != y))

    def error_signs(self, y: NDArray[np.uint32]) -> NDArray[np.int8]:
        """Return +1 where a tree is wrong, -1 where it is right, 0 where it does not vote."""
        is_wrong = (self.predictions != y).view(np.int8)
        return np.asarray((2 * is_wrong - 1) * (self.predictions >= 0).view(np.int8))


def compute_tree_errors(
    predictions: NDArray[np.int32], y: NDArray[np.uint32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weighted error of each tree; one for trees without votes."""
    voted = np.where(predictions >= 0, weights, 0.0).sum(axis=1)
    correct = np.where(predictions == y, weights, 0.0).sum(axis=1)
    return np.asarray(1.0 - np.divide(correct, voted, where=voted > 0, out=np.zeros(len(voted))))


def compute_forest_error(
    votes: ForestVotes, y: NDArray[np.uint32], weights: NDArray[np.float64]
) -> float:
    """Return the weighted error over the samples with votes; NaN if there are none."""
    total = weights[votes.has_votes].sum()
    return float(weights[votes.find_misclassified(y)].sum() / total) if total > 0 else float("nan")


def compute_max_error(params: BoostingParams, n_classes: int) -> float:
    """Return the error at which the weight of a forest is zero."""
    return 1.0 - 1.0 / n_classes if params.samme else 0.5


def compute_estimator_weight(params: BoostingParams, error: float, n_classes: int) -> float:
    """Return the weight of a forest: its log-odds of being right, plus log(K - 1) with SAMME."""
    error = max(error, MIN_ERROR)
    samme_term = np.log(n_classes - 1) if params.samme else 0.0
    return float(params.learning_rate * (np.log((1.0 - error) / error) + samme_term))


def compute_tree_weights(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each tree within its forest."""
    return np.exp(1.0 - errors)


def compute_log_factors(
    params: BoostingParams,
    votes: ForestVotes,
    y: NDArray[np.uint32],
    estimator_weight: float,
    tree_errors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the logarithms of the factors on the sample weights."""
    if params.update == "aggregate":  # the samples that the forest misclassifies
        return np.where(votes.find_misclassified(y), estimator_weight, 0.0)
    if params.update == "majority":  # those that more trees misclassify than classify correctly
        return np.where(votes.error_signs(y).sum(axis=0) > 0, estimator_weight, 0.0)
    # Add the odds of each tree that misclassifies a sample, subtract those of the others. The odds
    # of a tree without errors are set to one, as in the authors' code.
    odds = np.divide(
        1.0 - tree_errors, tree_errors, where=tree_errors > 0, out=np.ones_like(tree_errors)
    )
    return np.asarray(params.learning_rate * odds @ votes.error_signs(y).astype(np.float64))


def normalize(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale weights to mean one, with `MIN_WEIGHT` as lower bound; ones stay exactly one."""
    scaled = np.maximum(weights * (len(weights) / weights.sum()), MIN_WEIGHT)
    return np.asarray(scaled * (len(scaled) / scaled.sum()))


def update_weights(
    weights: NDArray[np.float64], log_factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Multiply weights by ``exp(log_factors)`` without overflow, and normalize them."""
    logs = np.log(weights) + log_factors
    return normalize(np.exp(logs - logs.max()))
