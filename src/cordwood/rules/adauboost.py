"""AdaUBoost: boosting of rules with exponential, class-dependent costs."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.rules.records import BinaryProblem, Float64Array, RuleSet, concatenate_rules
from cordwood.rules.weak_learners import CostSums, complete_sums, find_best_rule

UPDATES = ("damped", "aggressive")

# Factors of the costs of samples in which the feature is present, and absent.
CostFactors = tuple[float, float]

# Incrementally updated sums accumulate rounding errors. They are recomputed every so many rounds,
# and in rounds where this is about as fast: if more than one sample in eight has the feature.
_RECOMPUTE_PERIOD = 32
_SPARSE_UPDATE_RATIO = 8


class BoostingResult(NamedTuple):
    """Result of `boost`."""

    rules: RuleSet  # one rule per round
    # (n_rounds,): sum of the costs after the update of each round, before normalization (Z).
    normalizers: Float64Array
    converged: bool  # whether boosting stopped because no rule could improve the result


def boost(
    problem: BinaryProblem,
    *,
    beta: float,
    weak_learner: str,
    update: str,
    max_iter: int,
    tol: float,
) -> BoostingResult:
    """Fit rules by AdaUBoost."""
    # There is at least one rule, and a rule that classifies all samples correctly is the last one.
    # The update "damped" divides the votes of the positive class by `beta`; "aggressive" divides
    # correct votes by `beta` and multiplies wrong votes by it. Boosting stops when the votes of the
    # best rule are not larger than `tol`.
    state = CostState(problem, beta)
    found: list[RuleSet] = []
    normalizers: list[float] = []
    converged = False
    while len(found) < max_iter and not converged:
        rule = find_best_rule(state.sums, weak_learner, beta, problem.total_weight)
        votes = tuple(float(rule.weight[0] * vote[0]) for vote in (rule.present, rule.absent))
        if max(map(abs, votes)) <= tol:
            converged = True
            if found:
                break
        found.append(rule)
        normalizers.append(state.update(int(rule.feature[0]), *_cost_factors(votes, beta, update)))
        converged = converged or _is_perfect(problem, rule)
    return BoostingResult(concatenate_rules(found), np.array(normalizers), converged)


class CostState:
    """Costs of the samples and their sums per feature, updated incrementally.

    A round multiplies the costs of all samples without a feature by one factor and those of all
    samples with it by another. The sums are therefore scaled by the first factor and corrected for
    the samples with the feature, which are few, instead of being recomputed over all samples.
    """

    def __init__(self, problem: BinaryProblem, beta: float) -> None:
        self._by_feature = (problem.positive, problem.negative)
        self._by_sample = tuple(sp.csr_matrix(part.T) for part in self._by_feature)
        costs = problem.weight * np.where(problem.sign > 0, beta, 1.0)
        self._costs = np.split(costs / costs.sum(), [problem.n_positive])
        self._sums = [
            part @ costs for part, costs in zip(self._by_feature, self._costs, strict=True)
        ]
        self._n_rounds = 0

    @property
    def sums(self) -> CostSums:
        """Costs of the samples with and without each feature."""
        return complete_sums(*self._sums, *(float(costs.sum()) for costs in self._costs))

    def update(self, feature: int, positive: CostFactors, negative: CostFactors) -> float:
        """Multiply the costs of both classes by factors; normalize them and return their sum."""
        self._n_rounds += 1
        for side, factors in enumerate((positive, negative)):
            self._multiply(side, feature, *factors)
        total = float(sum(costs.sum() for costs in self._costs))
        for costs, sums in zip(self._costs, self._sums, strict=True):
            costs /= total
            sums /= total
        return total

    def _multiply(self, side: int, feature: int, present: float, absent: float) -> None:
        by_feature, costs = self._by_feature[side], self._costs[side]
        samples = by_feature.indices[by_feature.indptr[feature] : by_feature.indptr[feature + 1]]
        before = costs[samples]
        costs *= absent
        costs[samples] = present * before
        is_sparse = len(samples) * _SPARSE_UPDATE_RATIO < len(costs)
        if self._n_rounds % _RECOMPUTE_PERIOD and is_sparse:
            self._sums[side] *= absent
            self._sums[side] += (present - absent) * _sum_by_feature(
                self._by_sample[side], samples, before
            )
        else:
            self._sums[side] = by_feature @ costs


def _sum_by_feature(
    by_sample: sp.csr_matrix, samples: NDArray[np.int32], costs: Float64Array
) -> Float64Array:
    """Return ``costs @ by_sample[samples]``, in a third of the time."""
    starts = by_sample.indptr[samples]
    lengths = by_sample.indptr[samples + 1] - starts
    ends = np.cumsum(lengths)
    entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - (ends - lengths), lengths
    )
    features, n_features = by_sample.indices[entries], by_sample.shape[1]
    sums = np.bincount(features, np.repeat(costs, lengths), n_features)
    return sums.astype(np.float64, copy=False)


def _cost_factors(
    votes: tuple[float, ...], beta: float, update: str
) -> tuple[CostFactors, CostFactors]:
    """Return the factors of the costs of the positive and of the negative class."""
    wrong = beta if update == "aggressive" else 1.0 / beta
    positive = [math.exp(-vote * (wrong if vote < 0 else 1.0 / beta)) for vote in votes]
    return (positive[0], positive[1]), (math.exp(votes[0]), math.exp(votes[1]))


def _is_perfect(problem: BinaryProblem, rule: RuleSet) -> bool:
    """Return whether a rule alone classifies all samples correctly."""
    feature = int(rule.feature[0])
    n_present = [
        int(part.indptr[feature + 1] - part.indptr[feature])
        for part in (problem.positive, problem.negative)
    ]
    present, absent = rule.weight[0] * rule.present[0], rule.weight[0] * rule.absent[0]
    if present > 0 > absent:
        return n_present == [problem.n_positive, 0]
    n_negative = len(problem.weight) - problem.n_positive
    return bool(present < 0 < absent) and n_present == [0, n_negative]
