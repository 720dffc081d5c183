"""Boosting by a linear programme: LPBoost, and LPUBoost for uneven sides.

Rules are columns of the programme over mixtures and so rows of its dual, which `master` solves.
A round prices all words at the dual's costs and adds the rules that violate it; when none does,
the mixture is the best there is.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.rules._records import Floats, Task, WordRules, add_votes
from cordwood.rules.master_lp import Master, measure_margin
from cordwood.rules.weak_learners import DECIMALS, Candidates, greatest_vote, judge, weigh

BOUND_SCALINGS = ("geometric", "paper")

_LEAST_WEIGHT = 1e-9
# What a learner likes need not move the programme: under `disc.u` the first 150 rounds on interest
# of Reuters add 1,500 rules that gain nothing, each round dearer than the last. After this many
# rounds in vain words go by their edge, which takes a twentieth of the time. Other learners wait so
# long at very few settings of the paper's grid, and on the largest of its categories.
_PATIENCE = 20
_LEAST_GAIN = 1e-9
_COLD_TOLERANCE = 1e-7


class Bounds(NamedTuple):
    """How dear documents may be, and how dear they are at first.

    Parameters
    ----------
    lower, upper, start : float64 arrays of shape (n_docs,)
    """

    lower: Floats
    upper: Floats
    start: Floats


class Solution(NamedTuple):
    """What boosting came to.

    Parameters
    ----------
    rules : WordRules
        Those with a weight; weights sum to one, and votes are between -1 and 1.
    margin : float
        The margin of the soft-margin programme: rho.
    objective : float
        It less the costs of missing it.
    gap : float
        What the best rule that the weak learner knows could still add to the objective, at most.
    n_iter : int
        Rounds in which rules were added.
    converged : bool
        Whether no rule would have added more than the tolerance.
    stages : list of WordRules
        The mixture after each round, if it was asked for.
    """

    rules: WordRules
    margin: float
    objective: float
    gap: float
    n_iter: int
    converged: bool
    stages: list[WordRules]


def bound_costs(
    task: Task, *, beta: float, nu: float, min_cost: float, bound_scaling: str
) -> Bounds:
    """Bound the costs of documents by ``nu``, by ``min_cost`` and by their side.

    Parameters
    ----------
    task : Task
    beta : float
        How many times the others' upper bound that of the plus side is.
    nu : float
        The upper bound is ``1 / (nu * n)`` times the document's weight.
    min_cost : float
        The lower bound is ``1 / (min_cost * m)``, m documents in all; zero if `min_cost` is zero.
    bound_scaling : {"geometric", "paper"}
        What n is. Literally it is m, and costs start equal. Then the documents of a small side
        can never be dear enough together for a rule that finds them to be better than one that
        finds none. Geometrically it is twice the geometric mean of the sizes of the two sides,
        which is m where they are even, and costs start as high as they may be.

    Raises
    ------
    ValueError
        If the upper bounds sum to less than one.
    """
    share = task.weight / task.size
    plus = float(share[: task.n_plus].sum())
    even = 1.0 if bound_scaling == "paper" else 2.0 * np.sqrt(plus * (1.0 - plus))
    upper = share * np.where(task.sign > 0, beta, 1.0) / (nu * even)
    room = float(upper.sum())
    if room < 1.0:
        raise ValueError(
            f"nu={nu:g} leaves no feasible costs of documents: their upper bounds sum to "
            f"{room:.3g}, and costs to one; make it at most {nu * room:.3g}"
        )
    lower = share / min_cost if min_cost else np.zeros_like(share)
    start = share if bound_scaling == "paper" else upper / room
    return Bounds(lower, np.maximum(upper, lower), start)


def generate(
    task: Task,
    bounds: Bounds,
    *,
    beta: float,
    learner: str,
    columns_per_iter: int,
    max_iter: int,
    tol: float,
    keep_stages: bool = False,
) -> Solution:
    """Generate rules until none improves the mixture.

    Parameters
    ----------
    task : Task
    bounds : Bounds
    beta : float
        What the weak learners ``real.u`` and ``disc.u`` go by.
    learner : str
        One of `weak.LEARNERS`.
    columns_per_iter : int
        Number of rules that a round may add.
    max_iter : int
        Number of rounds.
    tol : float
        Stop when no rule's edge is greater than the programme's value by more.
    keep_stages : bool
        Whether to keep the mixture of each round.
    """
    pricing = _Pricing(task, beta, learner)
    candidates = pricing.judge(bounds.start)
    chosen = _best(candidates.loss, columns_per_iter)
    master = Master(task, bounds.lower, bounds.upper)
    stages: list[WordRules] = []
    n_iter = n_idle = 0
    value = -np.inf
    while True:
        if chosen:
            master.add(candidates.take(chosen, pricing.scale))
            n_iter += 1
        optimum = master.solve()
        if n_idle < _PATIENCE:
            n_idle = n_idle + 1 if optimum.value <= value + _LEAST_GAIN else 0
        value = optimum.value
        if chosen and keep_stages:
            stages.append(_keep_used(master.rules, optimum.weights))
        candidates = pricing.judge(optimum.costs)
        best_edge = float(candidates.edge.max()) * pricing.scale
        converged = best_edge <= optimum.value + tol
        chosen = []
        if not converged and n_iter < max_iter:
            violated = candidates.edge * pricing.scale > optimum.value + tol
            loss = candidates.loss if n_idle < _PATIENCE else -candidates.edge.round(DECIMALS)
            chosen = _best(loss, columns_per_iter, violated)
            continue
        # A warm start of HiGHS has been seen to end beside the optimum; a cold one decides.
        fresh = master.start_again()
        cold = fresh.solve()
        if abs(cold.value - optimum.value) <= _COLD_TOLERANCE:
            break
        master = fresh
    rules = _keep_used(master.rules, cold.weights)
    present = sp.hstack([task.plus, task.minus]).T
    margins = add_votes([rules], sp.csr_matrix(present))[:, 0] * task.sign
    margin, objective = measure_margin(margins, bounds.lower, bounds.upper)
    # Rounding can leave the bound a hair below what it bounds.
    gap = max(max(best_edge, cold.value) - objective, 0.0)
    return Solution(rules, margin, objective, gap, n_iter, converged, stages)


class _Pricing(NamedTuple):
    task: Task
    beta: float
    learner: str

    @property
    def scale(self) -> float:
        """What brings votes to between -1 and 1; otherwise the programme would favour loud ones."""
        if self.learner.startswith("disc"):
            return 1.0
        return 1.0 / greatest_vote(self.task.size)

    def judge(self, costs: Floats) -> Candidates:
        return judge(weigh(self.task, costs), self.learner, self.beta, self.task.size)


def _best(loss: Floats, n: int, among: NDArray[np.bool_] | None = None) -> list[int]:
    """Give the words of least loss, among those under a mask."""
    words = np.arange(len(loss)) if among is None else np.flatnonzero(among)
    order = np.argsort(loss[words], kind="stable")
    chosen: list[int] = words[order[:n]].tolist()
    return chosen


def _keep_used(rules: WordRules, weights: Floats) -> WordRules:
    used = weights > _LEAST_WEIGHT
    kept = rules.take(used)
    return kept._replace(weight=weights[used] / weights[used].sum())
