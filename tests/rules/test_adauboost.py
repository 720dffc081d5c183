import numpy as np
import pytest

from cordwood.rules import adauboost as boosting
from cordwood.rules._documents import find_present, merge, set_task
from cordwood.rules._records import add_votes
from cordwood.rules.adauboost import boost
from cordwood.rules.weak_learners import LEARNERS, weigh

DEFAULTS = {"learner": "real.mh", "update": "damped", "max_iter": 30, "tol": 1e-9}


def decide(rules, X):
    return add_votes([rules], find_present(X))[:, 0]


def adaboost(X, sign, beta, n_rounds, update="damped"):
    """AdaUBoost of Real.MH rules, document by document and word by word."""
    m, n_words = X.shape
    costs = np.where(sign > 0, beta, 1.0)
    costs = costs / costs.sum()
    f, chosen = np.zeros(m), []
    for _ in range(n_rounds):
        best = None
        for word in range(n_words):
            z, h = 0.0, np.zeros(m)
            for value in (True, False):
                group = X[:, word] == value
                plus, minus = costs[group & (sign > 0)].sum(), costs[group & (sign < 0)].sum()
                z += 2 * np.sqrt(plus * minus)
                h[group] = 0.5 * np.log((plus + 1 / m) / (minus + 1 / m))
            if best is None or z < best[0] - 1e-12:
                best = z, word, h
        _, word, h = best
        b = np.where(sign > 0, 1 / beta, 1.0)
        if update == "aggressive":
            b = np.where((sign > 0) & (h < 0), beta, b)
        costs = costs * np.exp(-b * sign * h)
        costs /= costs.sum()
        f += h
        chosen.append(word)
    return f, chosen


@pytest.mark.parametrize("beta", [1.0, 4.0])
@pytest.mark.parametrize("update", ["damped", "aggressive"])
def test_it_takes_the_words_and_votes_of_a_plain_loop(tasks, unfold, beta, update):
    task = tasks(n_docs=80, n_words=30, seed=3)
    X = unfold(task)
    assert (task.weight == 1).all()  # so that the plain loop may ignore weights
    f, chosen = adaboost(X, task.sign, beta, 50, update)
    found = boost(task, **{**DEFAULTS, "beta": beta, "max_iter": 50, "update": update})
    assert found.rules.word.tolist() == chosen
    np.testing.assert_allclose(decide(found.rules, X), f, atol=1e-9)


def test_sums_that_are_kept_in_step_are_those_made_anew(tasks):
    task = tasks(n_docs=300, n_words=60, share=0.2, seed=6)
    rng = np.random.default_rng(0)
    tally = boosting._Tally(task, 4.0)
    for _ in range(31):  # the next round would make them anew
        word = int(rng.integers(60))
        factors = np.exp(rng.normal(scale=2.0, size=(2, 2)))
        tally.update(word, tuple(factors[0]), tuple(factors[1]))
        costs = np.concatenate(tally._costs)
        assert costs.sum() == pytest.approx(1)
        for ours, anew in zip(tally.masses, weigh(task, costs), strict=True):
            np.testing.assert_allclose(ours, anew, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_training_error_is_below_the_product_of_z(tasks, unfold, seed, learner):
    task = tasks(seed=seed)
    found = boost(task, **{**DEFAULTS, "beta": 1.0, "learner": learner})
    X = unfold(task)
    bounds = np.cumprod(found.shrinkage)
    for n_rounds in (1, 5, len(bounds)):
        wrong = decide(found.rules.take(slice(n_rounds)), X) * task.sign <= 0
        assert task.weight @ wrong / task.size <= bounds[n_rounds - 1] + 1e-12
    assert bounds[-1] < 1


def test_a_perfect_word_ends_it_in_one_round():
    X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
    documents = merge(find_present(X), X[:, :1] > 0, np.ones(5))
    for learner in LEARNERS:
        task = set_task(documents, documents.labels[:, 0])
        found = boost(task, **{**DEFAULTS, "beta": 2.0, "learner": learner})
        assert found.rules.word.tolist() == [0]
        assert found.converged


@pytest.mark.parametrize("learner", LEARNERS)
def test_where_no_word_says_anything_one_rule_says_which_side_is_larger(learner):
    documents = merge(
        find_present(np.ones((2, 3))), np.array([[True], [False]]), np.array([1.0, 4.0])
    )
    task = set_task(documents, documents.labels[:, 0])
    found = boost(task, **{**DEFAULTS, "beta": 1.0, "learner": learner})
    assert (decide(found.rules, np.ones((1, 3))) < 0).all()


def test_a_greater_beta_finds_more_of_the_small_side(tasks, unfold):
    task = tasks(n_docs=300, n_words=8, share=0.1, seed=1)
    X = unfold(task)
    found = [
        (decide(boost(task, **{**DEFAULTS, "beta": beta}).rules, X)[: task.n_plus] > 0).sum()
        for beta in (1.0, 3.0, 9.0)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1]
