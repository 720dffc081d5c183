import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cordwood.rules._records import WordRules
from cordwood.rules.column_generation import bound_costs
from cordwood.rules.master_lp import Master, measure_margin


def draw_rules(n_rules, n_words, seed):
    rng = np.random.default_rng(seed)
    votes = rng.normal(size=(2, n_rules)).clip(-1, 1)
    words = rng.integers(0, n_words, n_rules).astype(np.int32)
    return WordRules(words, *votes, np.ones(n_rules))


def solve_primal(votes, sign, lower, upper):
    """Maximise over mixtures the worst mean margin: rho, slack and weights, straight on."""
    m, n = votes.shape
    # Variables: weights a, slack xi >= 0, surplus eta >= 0, rho; margins = rho - xi + eta.
    cost = np.concatenate([np.zeros(n), upper, -lower, [-1.0]])
    equal = np.hstack([sign[:, None] * votes, np.eye(m), -np.eye(m), -np.ones((m, 1))])
    total = np.concatenate([np.ones(n), np.zeros(2 * m + 1)])
    found = linprog(
        cost,
        A_eq=np.vstack([equal, total]),
        b_eq=np.append(np.zeros(m), 1.0),
        bounds=[(0, None)] * (n + 2 * m) + [(None, None)],
    )
    assert found.status == 0
    return -found.fun, found.x[:n]


@pytest.mark.parametrize("beta", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("nu", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("min_cost", [0, 10, 50])
@pytest.mark.parametrize("bound_scaling", ["geometric", "paper"])
def test_the_optimum_is_that_of_linprog_on_the_primal(
    tasks, unfold, beta, nu, min_cost, bound_scaling
):
    task = tasks(n_docs=40, n_words=10, seed=2)
    bounds = bound_costs(task, beta=beta, nu=nu, min_cost=min_cost, bound_scaling=bound_scaling)
    rules = draw_rules(15, 10, seed=4)
    master = Master(task, bounds.lower, bounds.upper)
    master.add(rules)
    optimum = master.solve()
    votes = np.where(unfold(task)[:, rules.word], rules.present, rules.absent)
    value, weights = solve_primal(votes, task.sign, bounds.lower, bounds.upper)
    assert optimum.value == pytest.approx(value, abs=1e-7)
    if min_cost:  # otherwise several mixtures are best; the last line certifies ours
        np.testing.assert_allclose(optimum.weights, weights, atol=1e-7)
    assert optimum.costs.sum() == pytest.approx(1)
    assert (optimum.costs >= bounds.lower - 1e-9).all()
    assert (optimum.costs <= bounds.upper + 1e-9).all()
    assert (votes * task.sign[:, None] * optimum.costs[:, None]).sum(0).max() == pytest.approx(
        value, abs=1e-7
    )
    margins = votes @ optimum.weights * task.sign
    assert measure_margin(margins, bounds.lower, bounds.upper)[1] == pytest.approx(value, abs=1e-7)


def test_warm_and_cold_solutions_agree(tasks):
    task = tasks(n_docs=200, n_words=40, seed=5)
    bounds = bound_costs(task, beta=4.0, nu=0.1, min_cost=0, bound_scaling="geometric")
    master = Master(task, bounds.lower, bounds.upper)
    rules = draw_rules(60, 40, seed=6)
    values = []
    for first in range(0, 60, 5):
        master.add(rules.take(slice(first, first + 5)))
        warm, cold = master.solve(), master.start_again().solve()
        assert warm.value == pytest.approx(cold.value, abs=1e-9)
        values.append(warm.value)
    assert np.diff(values).min() > -1e-9
    assert values[0] < values[-1]


def test_rules_with_equal_votes_are_constants(tasks):
    task = tasks()
    bounds = bound_costs(task, beta=1.0, nu=0.5, min_cost=0, bound_scaling="paper")
    master = Master(task, bounds.lower, bounds.upper)
    votes = np.array([1.0, -1.0])
    master.add(WordRules(np.zeros(2, np.int32), votes, votes, np.ones(2)))
    optimum = master.solve()
    # The small side can be given up to half of the cost, and then neither constant has an edge.
    assert optimum.value == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(optimum.weights, 0.5, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=12),
    st.floats(1, 5),
    st.floats(0, 1),
)
def test_the_margin_is_that_of_a_programme_over_costs(margins, room, share):
    m = len(margins)
    lower, upper = np.full(m, share / m), np.full(m, room / m)
    upper = np.maximum(upper, lower)
    margin, objective = measure_margin(np.array(margins), lower, upper)
    bounds = list(zip(lower, upper, strict=True))
    found = linprog(margins, A_eq=np.ones((1, m)), b_eq=[1.0], bounds=bounds)
    assert objective == pytest.approx(found.fun, abs=2e-7)  # twice its tolerance
    assert margin in margins
    # rho maximises rho less the costs of missing it and plus what keeping it earns.
    gaps = np.array(margins) - margin
    soft = margin - upper @ np.maximum(-gaps, 0) + lower @ np.maximum(gaps, 0)
    assert soft == pytest.approx(objective, abs=1e-9)
