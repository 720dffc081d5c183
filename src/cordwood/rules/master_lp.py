"""The restricted master linear program of LPUBoost, solved with warm starts in HiGHS.

The dual of the soft-margin problem is solved for the costs :math:`u_i` of the samples. It minimizes
the largest edge g of the rules found so far; the multipliers of the rules' constraints are the
weights of the rules::

                           u_1 ... u_m     S      g
    sum of the costs         1 ...  1                  =  1
    sum of the signed costs y_1 ... y_m   -1           =  0
    rule (j, c1, c0)       (c1 - c0) y_i  c0    -1    <=  0     one entry per sample with feature j
    bounds                  lower_i <= u_i <= upper_i          minimize g

The auxiliary variable :math:`S = \\sum_i u_i y_i` keeps the constraint of a rule as sparse as its
feature; without it, the constraint would have an entry for every sample. Costs are scaled by the
number of samples, because the tolerances of the solver are absolute.
"""

from typing import NamedTuple

import highspy
import numpy as np

from cordwood.rules.records import BinaryProblem, Float64Array, RuleSet, concatenate_rules

_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    # After constraints are added, the previous basis is still feasible for the dual simplex.
    "solver": "simplex",
    "simplex_strategy": 1,
    "presolve": "off",
    # Reproducible results, also if there are several optimal vertices.
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}
_N_FIXED_CONSTRAINTS = 2


class LPSolution(NamedTuple):
    """Solution of the linear program."""

    costs: Float64Array  # (n_samples,): costs of the samples, which sum to one
    value: float  # largest edge of the rules under these costs (g)
    weights: Float64Array  # (n_rules,): weights of the rules, which sum to one


class MasterLP:
    """Linear program to which rules can be added; the bounds must allow costs that sum to one."""

    def __init__(self, problem: BinaryProblem, lower: Float64Array, upper: Float64Array) -> None:
        self.problem, self.lower, self.upper = problem, lower, upper
        self._rules: list[RuleSet] = []
        self._sign = problem.sign
        n = self._n_samples = len(problem.weight)
        self._model = model = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            model.setOptionValue(name, value)
        free = [highspy.kHighsInf, highspy.kHighsInf]
        model.addVars(
            n + 2, np.concatenate([n * lower, np.negative(free)]), np.concatenate([n * upper, free])
        )
        model.changeColCost(n + 1, 1.0)
        samples = np.arange(n, dtype=np.int32)
        model.addRow(n, n, n, samples, np.ones(n))
        model.addRow(0.0, 0.0, n + 1, np.append(samples, np.int32(n)), np.append(self._sign, -1.0))

    @property
    def rules(self) -> RuleSet:
        """All rules, in the order in which they were added."""
        return concatenate_rules(self._rules)

    def add(self, rules: RuleSet) -> None:
        """Add rules; their weights are ignored."""
        indices, values, starts = [], [], [0]
        n = self._n_samples
        for feature, present, absent in zip(
            rules.feature, rules.present, rules.absent, strict=True
        ):
            samples = np.empty(0, np.int32)
            if present != absent:
                samples = self.problem.samples_with(int(feature))
            indices.append(np.append(samples, np.array([n, n + 1], np.int32)))
            values.append(np.append((present - absent) * self._sign[samples], [absent, -1.0]))
            starts.append(starts[-1] + len(indices[-1]))
        self._model.addRows(
            len(indices),
            np.full(len(indices), -highspy.kHighsInf),
            np.zeros(len(indices)),
            starts[-1],
            np.array(starts[:-1], np.int32),
            np.concatenate(indices),
            np.concatenate(values),
        )
        self._rules.append(rules)

    def solve(self) -> LPSolution:
        """Solve the linear program, starting from the previous solution."""
        self._model.run()
        status = self._model.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            name = self._model.modelStatusToString(status)
            raise RuntimeError(f"HiGHS did not solve the linear program of LPUBoost: {name}.")
        solution = self._model.getSolution()
        n = self._n_samples
        values = np.asarray(solution.col_value)
        costs = np.clip(values[:n] / n, self.lower, self.upper)
        weights = np.maximum(-np.asarray(solution.row_dual)[_N_FIXED_CONSTRAINTS:], 0.0)
        return LPSolution(costs / costs.sum(), float(values[n + 1]) / n, weights / weights.sum())

    def copy_unsolved(self) -> "MasterLP":
        """Return a linear program with the same rules and without a previous solution."""
        copy = MasterLP(self.problem, self.lower, self.upper)
        copy.add(self.rules)
        return copy


def soft_margin(
    margins: Float64Array, lower: Float64Array, upper: Float64Array
) -> tuple[float, float]:
    """Compute the soft margin and the primal objective of a combination of rules.

    The soft margin (rho) is the largest margin of a sample whose cost is above its lower bound; the
    objective is the margin minus the penalties of the samples below it.
    """
    # The objective is the smallest cost-weighted mean of the margins over all costs within the
    # bounds: the samples with the smallest margins get the largest costs. It is found by sorting,
    # so it certifies a solution independently of the solver.
    order = np.argsort(margins, kind="stable")
    capacity = np.cumsum((upper - lower)[order])
    remaining = 1.0 - lower.sum()
    last = min(int(np.searchsorted(capacity, remaining * (1 - 1e-12))), len(order) - 1)
    costs = lower[order]
    costs[:last] = upper[order][:last]
    costs[last] += remaining - (capacity[last - 1] if last else 0.0)
    return float(margins[order[last]]), float(costs @ margins[order])
