import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from cordwood.rules.weak_learners import (
    LEARNERS,
    Masses,
    find_best,
    find_factors,
    greatest_vote,
    judge,
    uneven_loss,
    weigh,
)

mass = st.floats(0, 1).map(lambda value: value if value > 1e-9 else 0.0)


def brute_force(present, sign, costs, learner, beta):
    """One word: votes, factor, criterion and edge by sums over documents."""
    ease = 1 / len(sign)
    kind, criterion = learner.split(".")
    votes = []
    for group in (present, ~present):
        plus = sum(costs[i] for i in np.flatnonzero(group) if sign[i] > 0)
        minus = sum(costs[i] for i in np.flatnonzero(group) if sign[i] < 0)
        real = 0.5 * np.log((plus + ease) / (minus + ease))
        votes.append((real if kind == "real" else 1.0 if plus > minus else -1.0, plus, minus))
    h = np.where(present, votes[0][0], votes[1][0])
    edge = sum(costs * sign * h)
    if criterion == "lp":
        return votes[0][0], votes[1][0], -edge, edge
    if criterion == "mh":
        z = 2 * sum(np.sqrt(plus * minus) for _, plus, minus in votes)
        return votes[0][0], votes[1][0], (z if kind == "real" else np.sqrt(1 - edge**2)), edge
    b = np.where(sign > 0, 1 / beta, 1.0)

    def uneven(alpha):
        return sum(costs * np.exp(-b * alpha * sign * h))

    if kind == "real":
        return votes[0][0], votes[1][0], uneven(1.0), edge
    most = greatest_vote(len(sign))
    return (
        votes[0][0],
        votes[1][0],
        minimize_scalar(uneven, bounds=(-most, most), options={"xatol": 1e-11}).fun,
        edge,
    )


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_what_brute_force_finds(tasks, unfold, learner, seed):
    task = tasks(n_docs=50, n_words=10, seed=seed)
    rng = np.random.default_rng(seed)
    costs = rng.random(len(task.weight))
    costs /= costs.sum()
    size, beta = len(costs), 3.0
    found = judge(weigh(task, costs), learner, beta, size)
    expected = np.array(
        [brute_force(column, task.sign, costs, learner, beta) for column in unfold(task).T]
    ).T
    np.testing.assert_allclose(found.present, expected[0], atol=1e-12)
    np.testing.assert_allclose(found.absent, expected[1], atol=1e-12)
    np.testing.assert_allclose(found.edge, expected[3], atol=1e-12)
    assert np.argmin(found.loss) == np.argmin(expected[2].round(7))
    best = find_best(weigh(task, costs), learner, beta, size)
    chosen = found.take([int(np.argmin(found.loss))])
    assert [array.tolist() for array in best] == [array.tolist() for array in chosen]
    if learner != "disc.mh":  # which ranks by the edge, and so in the same order
        np.testing.assert_allclose(found.loss, expected[2], atol=1e-7)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(mass, mass, mass, mass), min_size=1, max_size=5), st.floats(1, 20))
def test_the_factor_of_disc_u_is_the_least_of_a_scalar_minimiser(cells, beta):
    masses = Masses(*np.array(cells).T)
    present = np.where(masses.with_plus > masses.with_minus, 1.0, -1.0)
    absent = np.where(masses.without_plus > masses.without_minus, 1.0, -1.0)
    most = greatest_vote(1000)
    factors = find_factors(masses, present, absent, beta, most)
    assert (np.abs(factors) <= most).all()
    ours = uneven_loss(masses, factors * present, factors * absent, beta)
    for word in range(len(cells)):
        one = Masses(*(array[[word]] for array in masses))

        def loss(factor, one=one, word=word):
            votes = factor * present[[word]], factor * absent[[word]]
            return float(uneven_loss(one, *votes, beta)[0])

        theirs = minimize_scalar(loss, bounds=(-most, most), options={"xatol": 1e-10})
        assert ours[word] <= theirs.fun + 1e-9


@settings(deadline=None, max_examples=100)
@given(st.tuples(mass, mass, mass, mass), st.floats(1, 20))
def test_the_factor_of_disc_u_solves_the_equation_of_the_paper(cells, beta):
    masses = Masses(*np.array([cells]).T)
    factor = find_factors(masses, np.ones(1), -np.ones(1), beta, 5.0)[0]
    if abs(factor) < 4.999:
        c1, c2 = masses.with_plus / beta, masses.without_plus / beta
        c3, c4, root = masses.with_minus, masses.without_minus, np.exp(factor)
        left = c3 * root**2 + c2 * root ** (1 + 1 / beta) - c1 * root ** (1 - 1 / beta) - c4
        assert abs(left[0]) < 1e-8 * root**2


def test_even_costs_make_disc_u_disc_mh():
    masses = Masses(*np.array([[0.3, 0.1], [0.1, 0.2], [0.2, 0.3], [0.4, 0.4]]))
    even, uneven = (judge(masses, name, 1.0, 1e12) for name in ("disc.mh", "disc.u"))
    np.testing.assert_allclose(uneven.factor, even.factor, atol=1e-9)
    np.testing.assert_allclose(uneven.loss, np.sqrt(1 - even.edge**2), atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_smoothing_bounds_votes_and_factors(learner):
    perfect = Masses(*np.array([[0.5], [0.0], [0.0], [0.5]]))
    found = judge(perfect, learner, 2.0, 100)
    for values in (found.present, found.absent, found.factor):
        assert np.abs(values).max() <= max(greatest_vote(100), 1.0)
    assert found.present[0] > 0 > found.absent[0]


def test_the_first_of_equal_words_is_taken():
    masses = Masses(*np.tile([[0.1], [0.2], [0.3], [0.4]], 4))
    for learner in LEARNERS:
        assert np.argmin(judge(masses, learner, 2.0, 10).loss) == 0
