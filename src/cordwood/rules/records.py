"""Records of the rule learners: a binary problem, and sets of rules."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.csr import MAX_DENSE_FEATURES, take_columns

Float64Array = NDArray[np.float64]


class BinaryProblem(NamedTuple):
    """Binarized samples of two classes, the positive class first.

    The positive class is the one with the higher misclassification cost.
    """

    # (n_features, n_positive): ones where a feature is present in a sample, in CSR format, one row
    # per feature.
    positive: sp.csr_matrix
    negative: sp.csr_matrix  # (n_features, n_negative): the same for the negative class
    # (n_positive + n_negative,): sample weights: the number of duplicates of each sample.
    weight: Float64Array

    @property
    def n_positive(self) -> int:
        """Number of unique samples of the positive class."""
        return int(self.positive.shape[1])

    @property
    def sign(self) -> Float64Array:
        """1.0 for samples of the positive class, -1.0 for samples of the negative class."""
        return np.repeat([1.0, -1.0], [self.n_positive, int(self.negative.shape[1])])

    @property
    def total_weight(self) -> float:
        """Number of samples, duplicates included."""
        return float(self.weight.sum())

    def samples_with(self, feature: int) -> NDArray[np.int32]:
        """Return the indices of the samples in which a feature is present."""
        positive, negative = (
            part.indices[part.indptr[feature] : part.indptr[feature + 1]]
            for part in (self.positive, self.negative)
        )
        return np.concatenate([positive, negative + np.int32(self.n_positive)])


class RuleSet(NamedTuple):
    """Arrays of rules, each of which votes by the presence of one feature."""

    feature: NDArray[np.int32]  # (n_rules,): index of the feature
    present: Float64Array  # (n_rules,): vote if the feature is present
    absent: Float64Array  # (n_rules,): vote if the feature is absent
    weight: Float64Array  # (n_rules,): factor of both votes

    def take(self, indices: Any) -> "RuleSet":
        """Return the rules in a mask, an array of indices or a slice."""
        return RuleSet._make(array[indices] for array in self)

    def rename_features(self, columns: NDArray[np.int32] | None) -> "RuleSet":
        """Return the rules where feature i is called `columns[i]`; None changes nothing."""
        return self if columns is None else self._replace(feature=columns[self.feature])

    def negate(self) -> "RuleSet":
        """Return the rules with votes of the opposite sign."""
        return self._replace(present=-self.present, absent=-self.absent)


def concatenate_rules(parts: list[RuleSet]) -> RuleSet:
    """Concatenate sets of rules."""
    return RuleSet._make(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def make_constant_rule(vote: float) -> RuleSet:
    """Return one rule that casts the same vote for every sample."""
    votes = np.array([vote])
    return RuleSet(np.zeros(1, np.int32), votes, votes.copy(), np.ones(1))


def check_rules(rules: RuleSet, n_features: int) -> RuleSet:
    """Validate rules from an untrusted source; return them, or raise ValueError."""
    if not isinstance(rules, RuleSet):
        raise ValueError(f"rules must be a RuleSet; got {type(rules).__name__}.")
    dtypes = (np.int32, np.float64, np.float64, np.float64)
    for name, array, dtype in zip(rules._fields, rules, dtypes, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(
                f"The array {name!r} of the rules must be a 1-d array of {np.dtype(dtype).name}."
            )
        if len(array) != len(rules.feature) or not np.isfinite(array).all():
            raise ValueError(
                f"The array {name!r} of the rules must be finite and have one entry per rule."
            )
    if len(rules.feature) and not 0 <= rules.feature.min() <= rules.feature.max() < n_features:
        raise ValueError(f"The array 'feature' of the rules exceeds the {n_features} features.")
    return rules


def sum_votes(rule_sets: list[RuleSet], present: Any) -> Float64Array:
    """Sum the weighted votes of several sets of rules."""
    lengths = [len(rules.feature) for rules in rule_sets]
    rules, column = concatenate_rules(rule_sets), np.repeat(np.arange(len(rule_sets)), lengths)
    feature: NDArray[Any] = rules.feature
    if present.shape[1] > MAX_DENSE_FEATURES:
        features, feature = np.unique(rules.feature, return_inverse=True)
        present = take_columns(present, features)
    difference = sp.csr_matrix(
        (rules.weight * (rules.present - rules.absent), (feature, column)),
        shape=(present.shape[1], len(rule_sets)),
    )
    base = np.bincount(column, rules.weight * rules.absent, minlength=len(rule_sets))
    votes: Float64Array = np.asarray((present @ difference).todense()) + base
    return votes
