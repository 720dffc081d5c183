import numpy as np
import pytest
from scipy.optimize import linprog

from cordwood.rules import column_generation as generation
from cordwood.rules._documents import find_present, merge, set_task
from cordwood.rules._records import add_votes
from cordwood.rules.column_generation import bound_costs, generate
from cordwood.rules.master_lp import Master
from cordwood.rules.weak_learners import LEARNERS

PARAMETERS = {"beta": 2.0, "nu": 0.2, "min_cost": 0, "bound_scaling": "geometric"}


def run(task, *, learner="disc.lp", columns_per_iter=10, max_iter=500, tol=1e-9, **others):
    parameters = {**PARAMETERS, **{k: v for k, v in others.items() if k in PARAMETERS}}
    rest = {k: v for k, v in others.items() if k not in PARAMETERS}
    bounds = bound_costs(task, **parameters)
    solution = generate(
        task,
        bounds,
        beta=parameters["beta"],
        learner=learner,
        columns_per_iter=columns_per_iter,
        max_iter=max_iter,
        tol=tol,
        **rest,
    )
    return solution, bounds


def best_of_all(X, sign, bounds):
    """The least greatest edge over all rules of ±1 votes, by one programme that has them all."""
    columns = np.where(X, 1.0, -1.0)
    votes = np.hstack([columns, -columns, np.ones((len(X), 1)), -np.ones((len(X), 1))])
    m = len(X)
    found = linprog(
        np.append(np.zeros(m), 1.0),
        A_ub=np.hstack([(votes * sign[:, None]).T, -np.ones((votes.shape[1], 1))]),
        b_ub=np.zeros(votes.shape[1]),
        A_eq=np.append(np.ones(m), 0.0)[None],
        b_eq=[1.0],
        bounds=[*zip(bounds.lower, bounds.upper, strict=True), (None, None)],
    )
    return found.fun


@pytest.mark.parametrize("beta", [1.0, 4.0])
@pytest.mark.parametrize("nu", [0.1, 0.3])
@pytest.mark.parametrize("min_cost", [0, 10, 100])
@pytest.mark.parametrize("columns_per_iter", [1, 10])
def test_it_ends_at_the_best_mixture_of_all_rules(
    tasks, unfold, beta, nu, min_cost, columns_per_iter
):
    task = tasks(n_docs=80, n_words=12, seed=7)
    solution, bounds = run(
        task, beta=beta, nu=nu, min_cost=min_cost, columns_per_iter=columns_per_iter
    )
    best = best_of_all(unfold(task), task.sign, bounds)
    assert solution.objective == pytest.approx(best, abs=1e-7)
    assert solution.converged
    assert solution.gap == pytest.approx(0, abs=1e-7)
    assert solution.rules.weight.sum() == pytest.approx(1)
    assert (solution.rules.weight > 0).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_gap_bounds_what_is_missing(tasks, learner):
    task = tasks(n_docs=120, n_words=25, seed=8)
    solution, _ = run(task, learner=learner, tol=1e-3, beta=4.0)
    assert solution.converged
    assert 0 <= solution.gap <= 1e-3 + 1e-7
    few, _ = run(task, learner=learner, columns_per_iter=1, max_iter=2, tol=1e-3, beta=4.0)
    assert few.n_iter == 2
    assert not few.converged
    assert few.gap > 1e-3


def test_beta_of_one_is_the_even_algorithm(tasks):
    """With even costs the bounds are those of LPBoost, and so is all that follows."""
    task = tasks(n_docs=90, seed=9)
    bounds = bound_costs(task, beta=1.0, nu=0.2, min_cost=0, bound_scaling="paper")
    np.testing.assert_allclose(bounds.upper, task.weight / (0.2 * task.size))
    np.testing.assert_allclose(bounds.start, task.weight / task.size)
    learners = [
        run(task, beta=1.0, bound_scaling="paper", learner=f"disc.{n}")[0] for n in ("lp", "u")
    ]
    assert learners[0].objective == pytest.approx(learners[1].objective, abs=1e-7)


def test_both_readings_agree_where_sides_are_even():
    X = np.random.default_rng(0).random((40, 8)) < 0.5
    y = np.arange(40) % 2 == 0
    documents = merge(find_present(X), y[:, None], np.ones(40))
    task = set_task(documents, documents.labels[:, 0])
    uppers = [
        bound_costs(task, beta=3.0, nu=0.2, min_cost=0, bound_scaling=bound_scaling).upper
        for bound_scaling in ("paper", "geometric")
    ]
    np.testing.assert_allclose(*uppers)


def test_only_the_geometric_reading_does_not_give_up_a_small_side():
    """Each of two words finds half of the four, among ten times as many others."""
    rng = np.random.default_rng(1)
    X = rng.random((2000, 10)) < 0.3
    y = np.arange(2000) < 4
    X[:, 0] = np.isin(np.arange(2000), [0, 1]) | (np.arange(2000) % 100 == 50)
    X[:, 1] = np.isin(np.arange(2000), [2, 3]) | (np.arange(2000) % 100 == 60)
    documents = merge(find_present(X), y[:, None], np.ones(2000))
    task = set_task(documents, documents.labels[:, 0])
    found = {}
    for bound_scaling in ("paper", "geometric"):
        solution, _ = run(
            task, learner="real.mh", beta=8.0, nu=0.1, bound_scaling=bound_scaling, tol=1e-3
        )
        found[bound_scaling] = (add_votes([solution.rules], find_present(X[:4])) > 0).sum()
    assert found == {"paper": 0, "geometric": 4}


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_perfect_word_is_the_only_rule(learner):
    X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]])
    documents = merge(find_present(X), X[:, :1] > 0, np.ones(6))
    task = set_task(documents, documents.labels[:, 0])
    solution, _ = run(task, learner=learner, columns_per_iter=1, tol=1e-3)
    assert solution.rules.word.tolist() == [0]
    assert solution.margin > 0
    if learner.startswith("disc"):  # others find the same word again, with surer votes
        assert solution.n_iter == 1
        assert solution.margin == pytest.approx(1)


def test_an_infeasible_nu_is_named(tasks):
    task = tasks()
    with pytest.raises(ValueError, match=r"nu=5 leaves no feasible costs.*at most"):
        bound_costs(task, beta=1.0, nu=5.0, min_cost=0, bound_scaling="paper")
    bound_costs(task, beta=1.0, nu=1.0, min_cost=0, bound_scaling="paper")


def test_rules_that_gain_nothing_end_the_learners_choice_but_not_the_search(tasks, monkeypatch):
    task = tasks(n_docs=300, n_words=200, seed=4)
    settings = {"learner": "disc.u", "beta": 8.0, "nu": 0.1, "columns_per_iter": 1}
    impatient, _ = run(task, **settings)
    monkeypatch.setattr(generation, "_PATIENCE", np.inf)
    patient, _ = run(task, **settings)
    assert impatient.n_iter < 0.7 * patient.n_iter
    assert impatient.objective == pytest.approx(patient.objective, abs=1e-8)


def test_the_same_task_gives_the_same_solution(tasks):
    task = tasks(n_docs=150, n_words=30, seed=11)
    first, second = (run(task, learner="real.mh", tol=1e-4)[0] for _ in range(2))
    for ours, theirs in zip(first.rules, second.rules, strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_stages_end_with_the_solution(tasks):
    task = tasks(n_docs=100, n_words=20, seed=12)
    solution, _ = run(task, columns_per_iter=2, keep_stages=True)
    assert len(solution.stages) == solution.n_iter > 1
    for stage in solution.stages:
        assert stage.weight.sum() == pytest.approx(1)
    X = np.eye(20)
    last, final = (
        add_votes([rules], find_present(X)) for rules in (solution.stages[-1], solution.rules)
    )
    np.testing.assert_allclose(last, final, atol=1e-6)


class LyingMaster(Master):
    """Ends beside the optimum, once, after a warm start."""

    lies = 0

    def solve(self):
        optimum = super().solve()
        if len(self._rules) == 3 and not LyingMaster.lies:
            LyingMaster.lies += 1
            return optimum._replace(value=optimum.value + 2.0)
        return optimum


def test_a_cold_solution_overrules_a_wrong_warm_one(tasks, unfold, monkeypatch):
    task = tasks(n_docs=80, n_words=12, seed=7)
    monkeypatch.setattr(generation, "Master", LyingMaster)
    solution, bounds = run(task, columns_per_iter=1)
    assert LyingMaster.lies == 1
    best = best_of_all(unfold(task), task.sign, bounds)
    assert solution.objective == pytest.approx(best, abs=1e-7)
