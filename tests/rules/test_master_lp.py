import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cordwood.rules.column_generation import compute_cost_bounds
from cordwood.rules.master_lp import MasterLP, soft_margin
from cordwood.rules.records import RuleSet


def draw_rules(n_rules, n_features, seed):
    rng = np.random.default_rng(seed)
    votes = rng.normal(size=(2, n_rules)).clip(-1, 1)
    features = rng.integers(0, n_features, n_rules).astype(np.int32)
    return RuleSet(features, *votes, np.ones(n_rules))


def solve_primal(votes, sign, lower, upper):
    """Solve the primal problem over the weights of the rules with scipy."""
    m, n = votes.shape
    # Variables: weights a, slack xi >= 0, surplus eta >= 0, rho; margins = rho - xi + eta.
    cost = np.concatenate([np.zeros(n), upper, -lower, [-1.0]])
    equal = np.hstack([sign[:, None] * votes, np.eye(m), -np.eye(m), -np.ones((m, 1))])
    total = np.concatenate([np.ones(n), np.zeros(2 * m + 1)])
    result = linprog(
        cost,
        A_eq=np.vstack([equal, total]),
        b_eq=np.append(np.zeros(m), 1.0),
        bounds=[(0, None)] * (n + 2 * m) + [(None, None)],
    )
    assert result.status == 0
    return -result.fun, result.x[:n]


@pytest.mark.parametrize("beta", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("nu", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("min_cost", [0.0, 0.1, 0.02])
@pytest.mark.parametrize("bound_scaling", ["geometric", "paper"])
def test_solution_matches_scipy_on_the_primal(
    make_problem, to_dense, beta, nu, min_cost, bound_scaling
):
    problem = make_problem(n_samples=40, n_features=10, seed=2)
    bounds = compute_cost_bounds(
        problem, beta=beta, nu=nu, min_cost=min_cost, bound_scaling=bound_scaling
    )
    rules = draw_rules(15, 10, seed=4)
    master = MasterLP(problem, bounds.lower, bounds.upper)
    master.add(rules)
    solution = master.solve()
    votes = np.where(to_dense(problem)[:, rules.feature], rules.present, rules.absent)
    value, weights = solve_primal(votes, problem.sign, bounds.lower, bounds.upper)
    assert solution.value == pytest.approx(value, abs=1e-7)
    if min_cost:  # otherwise the weights are not unique; the last assertion certifies them
        np.testing.assert_allclose(solution.weights, weights, atol=1e-7)
    assert solution.costs.sum() == pytest.approx(1)
    assert (solution.costs >= bounds.lower - 1e-9).all()
    assert (solution.costs <= bounds.upper + 1e-9).all()
    assert (votes * problem.sign[:, None] * solution.costs[:, None]).sum(0).max() == pytest.approx(
        value, abs=1e-7
    )
    margins = votes @ solution.weights * problem.sign
    assert soft_margin(margins, bounds.lower, bounds.upper)[1] == pytest.approx(value, abs=1e-7)


def test_warm_and_cold_starts_agree(make_problem):
    problem = make_problem(n_samples=200, n_features=40, seed=5)
    bounds = compute_cost_bounds(problem, beta=4.0, nu=0.1, min_cost=0.0, bound_scaling="geometric")
    master = MasterLP(problem, bounds.lower, bounds.upper)
    rules = draw_rules(60, 40, seed=6)
    values = []
    for first in range(0, 60, 5):
        master.add(rules.take(slice(first, first + 5)))
        warm, cold = master.solve(), master.copy_unsolved().solve()
        assert warm.value == pytest.approx(cold.value, abs=1e-9)
        values.append(warm.value)
    assert np.diff(values).min() > -1e-9
    assert values[0] < values[-1]


def test_rules_with_equal_votes_are_constants(make_problem):
    problem = make_problem()
    bounds = compute_cost_bounds(problem, beta=1.0, nu=0.5, min_cost=0.0, bound_scaling="paper")
    master = MasterLP(problem, bounds.lower, bounds.upper)
    votes = np.array([1.0, -1.0])
    master.add(RuleSet(np.zeros(2, np.int32), votes, votes, np.ones(2)))
    solution = master.solve()
    # The rare class can have half of the cost; then both constant rules have edge zero.
    assert solution.value == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(solution.weights, 0.5, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=12),
    st.floats(1, 5),
    st.floats(0, 1),
)
def test_soft_margin_matches_linear_program_over_costs(margins, max_cost, min_cost):
    m = len(margins)
    lower, upper = np.full(m, min_cost / m), np.full(m, max_cost / m)
    upper = np.maximum(upper, lower)
    margin, objective = soft_margin(np.array(margins), lower, upper)
    bounds = list(zip(lower, upper, strict=True))
    result = linprog(margins, A_eq=np.ones((1, m)), b_eq=[1.0], bounds=bounds)
    assert objective == pytest.approx(result.fun, abs=2e-7)  # twice the solver's tolerance
    assert margin in margins
    # rho maximizes the soft-margin objective: rho minus penalties below, plus rewards above it.
    gaps = np.array(margins) - margin
    soft = margin - upper @ np.maximum(-gaps, 0) + lower @ np.maximum(gaps, 0)
    assert soft == pytest.approx(objective, abs=1e-9)
