"""The rules by which forests are boosted, as functions on arrays.

They share the names of their arguments:

answers : int32 array of shape (n_trees, n_rows)
    Classes that the trees of one forest answer; -1 where a tree has no vote on a row.
votes : float64 array of shape (n_rows, n_classes)
    The forest's votes, summed over its trees; zero on rows without any.
codes : array of shape (n_rows,)
    The rows' classes.
weights : float64 array of shape (n_rows,)
    The rows' weights, whose mean is one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# A lesser error is taken for this one, so that a forest without error has no infinite weight.
LEAST_ERROR = 1e-5

# The least weight of a row. It is as good as never drawn, but comes back within a few rounds once
# it is answered wrongly.
LEAST_WEIGHT = 1e-12


class Scheme(NamedTuple):
    """Which of the rules hold; names and meanings are those of `BoostedForestClassifier`."""

    update: str
    oob_error: bool
    oob_updates: bool
    samme: bool
    tree_weights: bool
    learning_rate: float

    @property
    def needs_tree_errors(self) -> bool:
        """Tell whether the error of each tree has a say in anything."""
        return self.tree_weights or self.update == "per_tree"


@dataclass(frozen=True)
class Ballot:
    """What the trees of a forest say of rows, each and together."""

    answers: NDArray[np.int32]
    votes: NDArray[np.float64]

    @cached_property
    def is_heard(self) -> NDArray[np.bool_]:
        """Tell on which rows any tree has a vote."""
        return np.asarray((self.answers >= 0).any(axis=0))

    @cached_property
    def leaders(self) -> NDArray[np.intp]:
        """Give the class of the most votes for each row."""
        return np.asarray(self.votes.argmax(axis=1))

    def find_wrong(self, codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Find the rows that the forest answers wrongly."""
        return np.asarray(self.is_heard & (self.leaders != codes))

    def find_signs(self, codes: NDArray[np.uint32]) -> NDArray[np.int8]:
        """Give one where a tree is wrong, minus one where it is right, zero where it is silent."""
        is_wrong = (self.answers != codes).view(np.int8)
        return np.asarray((2 * is_wrong - 1) * (self.answers >= 0).view(np.int8))


def judge_trees(
    answers: NDArray[np.int32], codes: NDArray[np.uint32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give each tree's weighted error; one for a tree without votes, of which no good is known.

    Examples
    --------
    >>> judge_trees(np.array([[0, 1, -1], [-1, -1, -1]]), np.array([0, 0, 0]), np.array([3, 1, 1]))
    array([0.25, 1.  ])
    """
    heard = np.where(answers >= 0, weights, 0.0).sum(axis=1)
    right = np.where(answers == codes, weights, 0.0).sum(axis=1)
    return np.asarray(1.0 - np.divide(right, heard, where=heard > 0, out=np.zeros(len(heard))))


def judge_forest(ballot: Ballot, codes: NDArray[np.uint32], weights: NDArray[np.float64]) -> float:
    """Give the forest's weighted error over the rows with votes; NaN where there are none."""
    total = weights[ballot.is_heard].sum()
    return float(weights[ballot.find_wrong(codes)].sum() / total) if total > 0 else float("nan")


def find_chance(scheme: Scheme, n_classes: int) -> float:
    """Find the error from which on a forest's weight is not positive."""
    return 1.0 - 1.0 / n_classes if scheme.samme else 0.5


def weigh_forest(scheme: Scheme, error: float, n_classes: int) -> float:
    """Give a forest's weight: the logarithm of its odds, and of those of chance.

    Examples
    --------
    >>> scheme = Scheme("aggregate", True, True, True, False, learning_rate=1.0)
    >>> round(weigh_forest(scheme, 0.5, n_classes=3), 4)
    0.6931
    """
    error = max(error, LEAST_ERROR)
    term = np.log(n_classes - 1) if scheme.samme else 0.0
    return float(scheme.learning_rate * (np.log((1.0 - error) / error) + term))


def weigh_trees(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the weight of each tree within its forest."""
    return np.exp(1.0 - errors)


def raise_by_forest(
    scheme: Scheme,
    ballot: Ballot,
    codes: NDArray[np.uint32],
    weight: float,
    tree_errors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Raise the rows that the forest answers wrongly, by its weight."""
    return np.where(ballot.find_wrong(codes), weight, 0.0)


def raise_by_majority(
    scheme: Scheme,
    ballot: Ballot,
    codes: NDArray[np.uint32],
    weight: float,
    tree_errors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Raise the rows that more trees answer wrongly than rightly, by the forest's weight."""
    return np.where(ballot.find_signs(codes).sum(axis=0) > 0, weight, 0.0)


def shift_by_trees(
    scheme: Scheme,
    ballot: Ballot,
    codes: NDArray[np.uint32],
    weight: float,
    tree_errors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Raise a row by the odds of each tree that is wrong, and lower it by those of the others.

    The odds of a tree without error are taken for one, as the method's authors have it.
    """
    odds = np.divide(
        1.0 - tree_errors, tree_errors, where=tree_errors > 0, out=np.ones_like(tree_errors)
    )
    return np.asarray(scheme.learning_rate * odds @ ballot.find_signs(codes).astype(np.float64))


# Each gives the logarithms of the factors on the rows' weights.
UPDATES: Mapping[str, Callable[..., NDArray[np.float64]]] = {
    "aggregate": raise_by_forest,
    "majority": raise_by_majority,
    "per_tree": shift_by_trees,
}


def normalize(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring weights to a mean of one, none below `LEAST_WEIGHT`; ones stay ones.

    Examples
    --------
    >>> normalize(np.array([1.0, 3.0, 0.0]))
    array([7.50e-01, 2.25e+00, 1.00e-12])
    """
    scaled = np.maximum(weights * (len(weights) / weights.sum()), LEAST_WEIGHT)
    return np.asarray(scaled * (len(scaled) / scaled.sum()))


def reweigh(weights: NDArray[np.float64], log_factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply weights by factors that are given as logarithms, however large, and normalise.

    Examples
    --------
    >>> reweigh(np.ones(2), np.array([0.0, 1e6]))
    array([1.e-12, 2.e+00])
    """
    logs = np.log(weights) + log_factors
    return normalize(np.exp(logs - logs.max()))
