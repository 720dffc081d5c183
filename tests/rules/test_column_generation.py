import numpy as np
import pytest
from scipy.optimize import linprog

from cordwood.rules import column_generation
from cordwood.rules._samples import binarize, merge_duplicates, one_vs_rest
from cordwood.rules.column_generation import compute_cost_bounds, generate_columns
from cordwood.rules.master_lp import MasterLP
from cordwood.rules.records import sum_votes
from cordwood.rules.weak_learners import WEAK_LEARNERS

BOUND_PARAMS = {"beta": 2.0, "nu": 0.2, "min_cost": 0.0, "bound_scaling": "geometric"}


def fit(problem, *, weak_learner="disc.lp", columns_per_iter=10, max_iter=500, tol=1e-9, **others):
    bound_params = {**BOUND_PARAMS, **{k: v for k, v in others.items() if k in BOUND_PARAMS}}
    rest = {k: v for k, v in others.items() if k not in BOUND_PARAMS}
    bounds = compute_cost_bounds(problem, **bound_params)
    result = generate_columns(
        problem,
        bounds,
        beta=bound_params["beta"],
        weak_learner=weak_learner,
        columns_per_iter=columns_per_iter,
        max_iter=max_iter,
        tol=tol,
        **rest,
    )
    return result, bounds


def solve_with_all_rules(X, sign, bounds):
    """Return the optimum of the linear program with all rules of ±1 votes."""
    columns = np.where(X, 1.0, -1.0)
    votes = np.hstack([columns, -columns, np.ones((len(X), 1)), -np.ones((len(X), 1))])
    m = len(X)
    solution = linprog(
        np.append(np.zeros(m), 1.0),
        A_ub=np.hstack([(votes * sign[:, None]).T, -np.ones((votes.shape[1], 1))]),
        b_ub=np.zeros(votes.shape[1]),
        A_eq=np.append(np.ones(m), 0.0)[None],
        b_eq=[1.0],
        bounds=[*zip(bounds.lower, bounds.upper, strict=True), (None, None)],
    )
    return solution.fun


@pytest.mark.parametrize("beta", [1.0, 4.0])
@pytest.mark.parametrize("nu", [0.1, 0.3])
@pytest.mark.parametrize("min_cost", [0.0, 0.1, 0.01])
@pytest.mark.parametrize("columns_per_iter", [1, 10])
def test_result_is_optimal_among_all_rules(
    make_problem, to_dense, beta, nu, min_cost, columns_per_iter
):
    problem = make_problem(n_samples=80, n_features=12, seed=7)
    result, bounds = fit(
        problem, beta=beta, nu=nu, min_cost=min_cost, columns_per_iter=columns_per_iter
    )
    expected = solve_with_all_rules(to_dense(problem), problem.sign, bounds)
    assert result.objective == pytest.approx(expected, abs=1e-7)
    assert result.converged
    assert result.gap == pytest.approx(0, abs=1e-7)
    assert result.rules.weight.sum() == pytest.approx(1)
    assert (result.rules.weight > 0).all()


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_gap_bounds_improvement_by_any_rules(make_problem, to_dense, weak_learner):
    problem = make_problem(n_samples=120, n_features=25, seed=8)
    params = {"weak_learner": weak_learner, "tol": 1e-3, "beta": 4.0}
    result, bounds = fit(problem, **params)
    assert result.converged
    optimum = solve_with_all_rules(to_dense(problem), problem.sign, bounds)
    assert result.objective - 1e-9 <= optimum <= result.objective + result.gap + 1e-9
    if weak_learner.startswith("disc"):
        assert 0 <= result.gap <= 1e-3 + 1e-7
    stopped, _ = fit(problem, **params, columns_per_iter=1, max_iter=2)
    assert stopped.n_iter == 2
    assert not stopped.converged
    assert stopped.gap > 1e-3


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
@pytest.mark.parametrize("columns_per_iter", [1, 4])
def test_gap_does_not_claim_a_suboptimal_combination_to_be_optimal(weak_learner, columns_per_iter):
    """Real votes depend on the costs, so that the result depends on the number of columns."""
    rng = np.random.RandomState(74)
    X, y = rng.rand(12, 4) < 0.5, rng.rand(12) < 0.4
    samples = merge_duplicates(binarize(X), y[:, None], np.ones(12))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    params = {"beta": 1.0, "nu": 0.3, "bound_scaling": "paper", "tol": 1e-9}
    result, bounds = fit(
        problem, **params, weak_learner=weak_learner, columns_per_iter=columns_per_iter
    )
    X_merged = samples.present.toarray()[np.argsort(~samples.labels[:, 0], kind="stable")] > 0
    optimum = solve_with_all_rules(X_merged, problem.sign, bounds)
    assert result.converged
    assert result.objective + result.gap >= optimum - 1e-9
    if weak_learner.startswith("disc"):
        assert result.objective == pytest.approx(optimum, abs=1e-9)
        assert result.gap == pytest.approx(0, abs=1e-9)
    else:
        assert result.objective < optimum - 0.01


def test_beta_one_is_lpboost(make_problem):
    problem = make_problem(n_samples=90, seed=9)
    bounds = compute_cost_bounds(problem, beta=1.0, nu=0.2, min_cost=0.0, bound_scaling="paper")
    np.testing.assert_allclose(bounds.upper, problem.weight / (0.2 * problem.total_weight))
    np.testing.assert_allclose(bounds.initial, problem.weight / problem.total_weight)
    disc_lp, disc_u = (
        fit(problem, beta=1.0, bound_scaling="paper", weak_learner=weak_learner)[0]
        for weak_learner in ("disc.lp", "disc.u")
    )
    assert disc_lp.objective == pytest.approx(disc_u.objective, abs=1e-7)


@pytest.mark.parametrize("min_cost", [0.0, 0.02, 1.0])
def test_min_cost_is_a_fraction_of_the_mean_cost(make_problem, min_cost):
    problem = make_problem(n_samples=90, seed=9)
    bounds = compute_cost_bounds(
        problem, beta=2.0, nu=0.2, min_cost=min_cost, bound_scaling="geometric"
    )
    expected = min_cost * problem.weight / problem.total_weight
    np.testing.assert_allclose(bounds.lower, expected)
    assert (bounds.upper >= bounds.lower).all()
    result, _ = fit(problem, min_cost=min_cost)
    assert result.converged


def test_bound_scalings_agree_for_balanced_classes():
    X = np.random.default_rng(0).random((40, 8)) < 0.5
    y = np.arange(40) % 2 == 0
    samples = merge_duplicates(binarize(X), y[:, None], np.ones(40))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    params = {"beta": 3.0, "nu": 0.2, "min_cost": 0.0}
    uppers = [
        compute_cost_bounds(problem, **params, bound_scaling=bound_scaling).upper
        for bound_scaling in ("paper", "geometric")
    ]
    np.testing.assert_allclose(*uppers)


def test_geometric_bound_scaling_detects_a_rare_class():
    """Each of two features is present in half of the class, and in ten times as many others."""
    rng = np.random.default_rng(1)
    X = rng.random((2000, 10)) < 0.3
    y = np.arange(2000) < 4
    X[:, 0] = np.isin(np.arange(2000), [0, 1]) | (np.arange(2000) % 100 == 50)
    X[:, 1] = np.isin(np.arange(2000), [2, 3]) | (np.arange(2000) % 100 == 60)
    samples = merge_duplicates(binarize(X), y[:, None], np.ones(2000))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    n_detected = {}
    for bound_scaling in ("paper", "geometric"):
        params = {"weak_learner": "real.mh", "beta": 8.0, "nu": 0.1, "tol": 1e-3}
        result, _ = fit(problem, **params, bound_scaling=bound_scaling)
        n_detected[bound_scaling] = (sum_votes([result.rules], binarize(X[:4])) > 0).sum()
    assert n_detected == {"paper": 0, "geometric": 4}


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_perfect_feature_is_the_only_rule(weak_learner):
    X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]])
    samples = merge_duplicates(binarize(X), X[:, :1] > 0, np.ones(6))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    result, _ = fit(problem, weak_learner=weak_learner, columns_per_iter=1, tol=1e-3)
    assert result.rules.feature.tolist() == [0]
    assert result.margin > 0
    if weak_learner.startswith("disc"):  # real votes are refined in further iterations
        assert result.n_iter == 1
        assert result.margin == pytest.approx(1)


def test_infeasible_nu_raises(make_problem):
    problem = make_problem()
    params = {"beta": 1.0, "min_cost": 0.0, "bound_scaling": "paper"}
    with pytest.raises(ValueError, match=r"nu=5 leaves no feasible costs.*at most"):
        compute_cost_bounds(problem, nu=5.0, **params)
    compute_cost_bounds(problem, nu=1.0, **params)


def test_idle_iterations_switch_to_selection_by_edge(make_problem, monkeypatch):
    problem = make_problem(n_samples=300, n_features=200, seed=4)
    params = {"weak_learner": "disc.u", "beta": 8.0, "nu": 0.1, "columns_per_iter": 1}
    switched, _ = fit(problem, **params)
    monkeypatch.setattr(column_generation, "_MAX_IDLE_ITERATIONS", np.inf)
    unswitched, _ = fit(problem, **params)
    assert switched.n_iter < 0.7 * unswitched.n_iter
    assert switched.objective == pytest.approx(unswitched.objective, abs=1e-8)


def test_result_is_deterministic(make_problem):
    problem = make_problem(n_samples=150, n_features=30, seed=11)
    first, second = (fit(problem, weak_learner="real.mh", tol=1e-4)[0] for _ in range(2))
    for array, repeated in zip(first.rules, second.rules, strict=True):
        assert array.tobytes() == repeated.tobytes()


def test_last_stage_equals_the_result(make_problem):
    problem = make_problem(n_samples=100, n_features=20, seed=12)
    result, _ = fit(problem, columns_per_iter=2, keep_stages=True)
    assert len(result.stages) == result.n_iter > 1
    for stage in result.stages:
        assert stage.weight.sum() == pytest.approx(1)
    X = np.eye(20)
    last, final = (sum_votes([rules], binarize(X)) for rules in (result.stages[-1], result.rules))
    np.testing.assert_allclose(last, final, atol=1e-6)


class WrongOnceMasterLP(MasterLP):
    """Returns a wrong optimum once, after a warm start."""

    n_errors = 0

    def solve(self):
        solution = super().solve()
        if len(self._rules) == 3 and not WrongOnceMasterLP.n_errors:
            WrongOnceMasterLP.n_errors += 1
            return solution._replace(value=solution.value + 2.0)
        return solution


def test_cold_start_detects_wrong_warm_solution(make_problem, to_dense, monkeypatch):
    problem = make_problem(n_samples=80, n_features=12, seed=7)
    monkeypatch.setattr(column_generation, "MasterLP", WrongOnceMasterLP)
    result, bounds = fit(problem, columns_per_iter=1)
    assert WrongOnceMasterLP.n_errors == 1
    expected = solve_with_all_rules(to_dense(problem), problem.sign, bounds)
    assert result.objective == pytest.approx(expected, abs=1e-7)
