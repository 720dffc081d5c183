"""The linear programme over the rules found so far, kept alive in HiGHS.

Costs are solved for in units of their mean, so that the solver's tolerances, which are absolute,
are small beside them however many documents there are.
"""

from typing import NamedTuple

import highspy
import numpy as np

from cordwood.rules._records import Floats, Task, WordRules, join

_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    # Rows that are added leave the last basis feasible for the dual simplex, and for that alone.
    "solver": "simplex",
    "simplex_strategy": 1,
    "presolve": "off",
    # One thread and one seed: the same rows in the same order always end in the same corner, also
    # where several are optimal.
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}
_N_FIXED_ROWS = 2


class Optimum(NamedTuple):
    """The solution of the programme.

    Parameters
    ----------
    costs : float64 array of shape (n_docs,)
        The costs under which the best of the rules is worst; they sum to one.
    value : float
        The edge of that rule: g.
    weights : float64 array of shape (n_rules,)
        Lagrange multipliers of the rules; they sum to one.
    """

    costs: Floats
    value: float
    weights: Floats


class Master:
    """A programme to which rules can be added.

    Parameters
    ----------
    task : Task
    lower, upper : float64 arrays of shape (n_docs,)
        Bounds of the costs. Lower ones may sum to at most one, upper ones to no less.
    """

    def __init__(self, task: Task, lower: Floats, upper: Floats) -> None:
        self.task, self.lower, self.upper = task, lower, upper
        self._rules: list[WordRules] = []
        self._sign = task.sign
        n = self._n_docs = len(task.weight)
        self._model = model = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in _OPTIONS.items():
            model.setOptionValue(name, value)
        free = [highspy.kHighsInf, highspy.kHighsInf]
        model.addVars(
            n + 2, np.concatenate([n * lower, np.negative(free)]), np.concatenate([n * upper, free])
        )
        model.changeColCost(n + 1, 1.0)
        documents = np.arange(n, dtype=np.int32)
        model.addRow(n, n, n, documents, np.ones(n))
        model.addRow(
            0.0, 0.0, n + 1, np.append(documents, np.int32(n)), np.append(self._sign, -1.0)
        )

    @property
    def rules(self) -> WordRules:
        """The rules, in the order in which they were added."""
        return join(self._rules)

    def add(self, rules: WordRules) -> None:
        """Add rules, whatever their weights; the next solution starts from the last one."""
        indices, values, starts = [], [], [0]
        n = self._n_docs
        for word, present, absent in zip(rules.word, rules.present, rules.absent, strict=True):
            documents = self.task.find(int(word)) if present != absent else np.empty(0, np.int32)
            indices.append(np.append(documents, np.array([n, n + 1], np.int32)))
            values.append(np.append((present - absent) * self._sign[documents], [absent, -1.0]))
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

    def solve(self) -> Optimum:
        """Solve the programme, from the last solution on if there is one."""
        self._model.run()
        status = self._model.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            told = self._model.modelStatusToString(status)
            raise RuntimeError(f"HiGHS did not solve the linear programme of the rules: {told}")
        solution = self._model.getSolution()
        n = self._n_docs
        values = np.asarray(solution.col_value)
        costs = np.clip(values[:n] / n, self.lower, self.upper)
        weights = np.maximum(-np.asarray(solution.row_dual)[_N_FIXED_ROWS:], 0.0)
        return Optimum(costs / costs.sum(), float(values[n + 1]) / n, weights / weights.sum())

    def start_again(self) -> "Master":
        """Give a programme of the same rules that has never been solved."""
        fresh = Master(self.task, self.lower, self.upper)
        fresh.add(self.rules)
        return fresh


def measure_margin(margins: Floats, lower: Floats, upper: Floats) -> tuple[float, float]:
    """Find the margin that the soft-margin objective is best at, and that objective.

    The objective of a mixture of rules is the least mean of its documents' margins over all costs
    within bounds: costs go to the documents with the least margins first, as far as they may.
    Sorting finds it, so that it certifies a solution without the solver that found it.

    Parameters
    ----------
    margins : float64 array of shape (n_docs,)
        Votes, positive where they are right.
    lower, upper : float64 arrays of shape (n_docs,)
        Bounds of the costs.

    Returns
    -------
    margin : float
        The margin that all documents have, but for those that are allowed to miss it.
    objective : float
        It less the costs of missing it.

    Examples
    --------
    >>> measure_margin(np.array([-1.0, 0.5, 1.0]), np.zeros(3), np.full(3, 0.5))
    (0.5, -0.25)
    """
    order = np.argsort(margins, kind="stable")
    room = np.cumsum((upper - lower)[order])
    left = 1.0 - lower.sum()
    last = min(int(np.searchsorted(room, left * (1 - 1e-12))), len(order) - 1)
    costs = lower[order]
    costs[:last] = upper[order][:last]
    costs[last] += left - (room[last - 1] if last else 0.0)
    return float(margins[order[last]]), float(costs @ margins[order])
