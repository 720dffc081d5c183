"""LPUBoost: soft-margin boosting of rules by column generation.

Rules are columns of the linear program over combinations of rules, and constraints of its dual,
the master linear program. Each iteration prices all features at the costs of the dual solution and
adds the most violated constraints that the weak learner finds.

If there are none, the weak learners of ±1 votes have found the optimum over all rules with votes in
[-1, 1], because each of these is a convex combination of rules with ±1 votes. The real votes of a
weak learner depend on the costs, and rules with other votes may still improve the combination; the
duality gap bounds by how much.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.rules.master_lp import MasterLP, soft_margin
from cordwood.rules.records import BinaryProblem, Float64Array, RuleSet, sum_votes
from cordwood.rules.weak_learners import (
    DECIMALS,
    CandidateRules,
    max_edges,
    max_vote,
    score_rules,
    sum_costs,
)

BOUND_SCALINGS = ("geometric", "paper")

_MIN_WEIGHT = 1e-9
# The criterion of a weak learner may prefer rules that do not improve the linear program: with
# `disc.u`, the first 150 iterations on the Reuters category `interest` add 1,500 useless rules.
# After this many iterations without improvement, features are chosen by their edge, which takes a
# twentieth of the time there. Other weak learners reach the limit only at few settings of the
# paper's grid, and on its largest categories.
_MAX_IDLE_ITERATIONS = 20
_MIN_IMPROVEMENT = 1e-9
_VERIFICATION_TOLERANCE = 1e-7


class CostBounds(NamedTuple):
    """Bounds of the costs of the samples, and initial costs."""

    lower: Float64Array  # (n_samples,)
    upper: Float64Array  # (n_samples,)
    initial: Float64Array  # (n_samples,)


class LPBoostResult(NamedTuple):
    """Result of `generate_columns`."""

    rules: RuleSet  # rules of positive weight; weights sum to one, and votes are in [-1, 1]
    margin: float  # soft margin (rho)
    objective: float  # the margin minus the penalties of the samples below it
    gap: float  # upper bound of the improvement that any rules with votes in [-1, 1] could yield
    n_iter: int  # number of iterations that added rules
    # Whether the weak learner finds no rule whose edge exceeds the value of the linear program by
    # more than the tolerance.
    converged: bool
    stages: list[RuleSet]  # rules after each iteration, if they were kept


def compute_cost_bounds(
    problem: BinaryProblem, *, beta: float, nu: float, min_cost: float, bound_scaling: str
) -> CostBounds:
    """Compute the bounds of the costs of the samples."""
    # The upper bound of the negative class is 1 / (nu * n) times the sample weight, that of the
    # positive class `beta` times as large; the lower bound is min_cost / m for m samples. With
    # "paper", n is m, and the initial costs are equal; the samples of a rare class can then never
    # have enough cost together for a rule that detects them to be better than a constant rule. With
    # "geometric", n is twice the geometric mean of the class sizes, which is m for balanced
    # classes, and the initial costs are proportional to the upper bounds.
    fraction = problem.weight / problem.total_weight
    positive = float(fraction[: problem.n_positive].sum())
    scaling = 1.0 if bound_scaling == "paper" else 2.0 * np.sqrt(positive * (1.0 - positive))
    upper = fraction * np.where(problem.sign > 0, beta, 1.0) / (nu * scaling)
    total = float(upper.sum())
    if total < 1.0:
        raise ValueError(
            f"nu={nu:g} leaves no feasible costs: the upper bounds of the sample costs sum to "
            f"{total:.3g}, which is less than 1. Set nu to at most {nu * total:.3g}."
        )
    # Divide by the parameter of the paper, d_lb = 1 / min_cost, to round as its formula does.
    lower = fraction / (1.0 / min_cost) if min_cost else np.zeros_like(fraction)
    initial = fraction if bound_scaling == "paper" else upper / total
    return CostBounds(lower, np.maximum(upper, lower), initial)


def generate_columns(
    problem: BinaryProblem,
    bounds: CostBounds,
    *,
    beta: float,
    weak_learner: str,
    columns_per_iter: int,
    max_iter: int,
    tol: float,
    keep_stages: bool = False,
) -> LPBoostResult:
    """Fit a combination of rules of maximum soft margin."""
    # It ends when the weak learner finds no rule whose edge exceeds the value of the linear program
    # by more than `tol`.
    pricing = _Pricing(problem, beta, weak_learner)
    candidates, _ = pricing.score(bounds.initial)
    chosen = _best_features(candidates.loss, columns_per_iter)
    master = MasterLP(problem, bounds.lower, bounds.upper)
    stages: list[RuleSet] = []
    n_iter = n_idle = 0
    value, bound = -np.inf, np.inf
    while True:
        if chosen:
            master.add(candidates.take(chosen, pricing.scale))
            n_iter += 1
        solution = master.solve()
        if n_idle < _MAX_IDLE_ITERATIONS:
            n_idle = n_idle + 1 if solution.value <= value + _MIN_IMPROVEMENT else 0
        value = solution.value
        if chosen and keep_stages:
            stages.append(_select_used(master.rules, solution.weights))
        candidates, max_edge = pricing.score(solution.costs)
        # The largest edge of any rule bounds the optimum at all feasible costs, not only the last.
        bound = min(bound, max_edge)
        best_edge = float(candidates.edge.max()) * pricing.scale
        converged = best_edge <= solution.value + tol
        chosen = []
        if not converged and n_iter < max_iter:
            violated = candidates.edge * pricing.scale > solution.value + tol
            is_idle = n_idle >= _MAX_IDLE_ITERATIONS
            loss = -candidates.edge.round(DECIMALS) if is_idle else candidates.loss
            chosen = _best_features(loss, columns_per_iter, violated)
            continue
        # Warm-started HiGHS sometimes stops at a wrong optimum, so verify it by a cold start.
        verification = master.copy_unsolved()
        verified = verification.solve()
        if abs(verified.value - solution.value) <= _VERIFICATION_TOLERANCE:
            break
        master = verification
    rules = _select_used(master.rules, verified.weights)
    present = sp.hstack([problem.positive, problem.negative]).T
    margins = sum_votes([rules], sp.csr_matrix(present))[:, 0] * problem.sign
    margin, objective = soft_margin(margins, bounds.lower, bounds.upper)
    # Rounding errors can make the difference negative.
    gap = max(max(bound, verified.value) - objective, 0.0)
    return LPBoostResult(rules, margin, objective, gap, n_iter, converged, stages)


class _Pricing(NamedTuple):
    """The pricing problem: find rules that violate the dual constraints."""

    problem: BinaryProblem
    beta: float
    weak_learner: str

    @property
    def scale(self) -> float:
        """Factor that maps votes to [-1, 1]; the program would prefer rules of large votes."""
        if self.weak_learner.startswith("disc"):
            return 1.0
        return 1.0 / max_vote(self.problem.total_weight)

    def score(self, costs: Float64Array) -> tuple[CandidateRules, float]:
        """Return the rules of the weak learner, and the largest edge of any votes in [-1, 1]."""
        sums = sum_costs(self.problem, costs)
        candidates = score_rules(sums, self.weak_learner, self.beta, self.problem.total_weight)
        return candidates, float(max_edges(sums).max())


def _best_features(loss: Float64Array, n: int, mask: NDArray[np.bool_] | None = None) -> list[int]:
    """Return the n features of smallest loss in a mask."""
    features = np.arange(len(loss)) if mask is None else np.flatnonzero(mask)
    order = np.argsort(loss[features], kind="stable")
    chosen: list[int] = features[order[:n]].tolist()
    return chosen


def _select_used(rules: RuleSet, weights: Float64Array) -> RuleSet:
    """Return the rules of positive weight, with weights that sum to one."""
    used = weights > _MIN_WEIGHT
    return rules.take(used)._replace(weight=weights[used] / weights[used].sum())
