import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from cordwood.rules.weak_learners import (
    WEAK_LEARNERS,
    CostSums,
    cost_sensitive_loss,
    find_best_rule,
    find_factors,
    max_vote,
    score_rules,
    sum_costs,
)

cost_sum = st.floats(0, 1).map(lambda value: value if value > 1e-9 else 0.0)


def score_naively(present, sign, costs, weak_learner, beta):
    """Return votes, loss and edge of one feature by sums over samples."""
    smoothing = 1 / len(sign)
    kind, criterion = weak_learner.split(".")
    votes = []
    for group in (present, ~present):
        positive = sum(costs[i] for i in np.flatnonzero(group) if sign[i] > 0)
        negative = sum(costs[i] for i in np.flatnonzero(group) if sign[i] < 0)
        vote = 0.5 * np.log((positive + smoothing) / (negative + smoothing))
        if kind == "disc":
            vote = 1.0 if positive > negative else -1.0
        votes.append((vote, positive, negative))
    h = np.where(present, votes[0][0], votes[1][0])
    edge = sum(costs * sign * h)
    if criterion == "lp":
        return votes[0][0], votes[1][0], -edge, edge
    if criterion == "mh":
        z = 2 * sum(np.sqrt(positive * negative) for _, positive, negative in votes)
        return votes[0][0], votes[1][0], (z if kind == "real" else np.sqrt(1 - edge**2)), edge
    b = np.where(sign > 0, 1 / beta, 1.0)

    def cost_sensitive_z(alpha):
        return sum(costs * np.exp(-b * alpha * sign * h))

    if kind == "real":
        return votes[0][0], votes[1][0], cost_sensitive_z(1.0), edge
    bound = max_vote(len(sign))
    options = {"xatol": 1e-11}
    loss = minimize_scalar(cost_sensitive_z, bounds=(-bound, bound), options=options).fun
    return votes[0][0], votes[1][0], loss, edge


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
@pytest.mark.parametrize("seed", range(5))
def test_scores_match_naive_implementation(make_problem, to_dense, weak_learner, seed):
    problem = make_problem(n_samples=50, n_features=10, seed=seed)
    rng = np.random.default_rng(seed)
    costs = rng.random(len(problem.weight))
    costs /= costs.sum()
    n_samples, beta = len(costs), 3.0
    sums = sum_costs(problem, costs)
    scored = score_rules(sums, weak_learner, beta, n_samples)
    expected = np.array(
        [
            score_naively(column, problem.sign, costs, weak_learner, beta)
            for column in to_dense(problem).T
        ]
    ).T
    np.testing.assert_allclose(scored.present, expected[0], atol=1e-12)
    np.testing.assert_allclose(scored.absent, expected[1], atol=1e-12)
    np.testing.assert_allclose(scored.edge, expected[3], atol=1e-12)
    assert np.argmin(scored.loss) == np.argmin(expected[2].round(7))
    best = find_best_rule(sums, weak_learner, beta, n_samples)
    chosen = scored.take([int(np.argmin(scored.loss))])
    assert [array.tolist() for array in best] == [array.tolist() for array in chosen]
    if weak_learner != "disc.mh":  # its loss is a monotone function of Z
        np.testing.assert_allclose(scored.loss, expected[2], atol=1e-7)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(cost_sum, cost_sum, cost_sum, cost_sum), min_size=1, max_size=5),
    st.floats(1, 20),
)
def test_factors_of_disc_u_minimize_cost_sensitive_loss(cells, beta):
    sums = CostSums(*np.array(cells).T)
    present = np.where(sums.present_positive > sums.present_negative, 1.0, -1.0)
    absent = np.where(sums.absent_positive > sums.absent_negative, 1.0, -1.0)
    bound = max_vote(1000)
    factors = find_factors(sums, present, absent, beta, bound)
    assert (np.abs(factors) <= bound).all()
    losses = cost_sensitive_loss(sums, factors * present, factors * absent, beta)
    for j in range(len(cells)):
        one = CostSums(*(array[[j]] for array in sums))

        def loss(factor, one=one, j=j):
            votes = factor * present[[j]], factor * absent[[j]]
            return float(cost_sensitive_loss(one, *votes, beta)[0])

        expected = minimize_scalar(loss, bounds=(-bound, bound), options={"xatol": 1e-10})
        assert losses[j] <= expected.fun + 1e-9


@settings(deadline=None, max_examples=100)
@given(st.tuples(cost_sum, cost_sum, cost_sum, cost_sum), st.floats(1, 20))
def test_factor_of_disc_u_solves_equation_of_paper(cells, beta):
    sums = CostSums(*np.array([cells]).T)
    factor = find_factors(sums, np.ones(1), -np.ones(1), beta, 5.0)[0]
    if abs(factor) < 4.999:
        c1, c2 = sums.present_positive / beta, sums.absent_positive / beta
        c3, c4, root = sums.present_negative, sums.absent_negative, np.exp(factor)
        left = c3 * root**2 + c2 * root ** (1 + 1 / beta) - c1 * root ** (1 - 1 / beta) - c4
        assert abs(left[0]) < 1e-8 * root**2


def test_disc_u_with_beta_one_equals_disc_mh():
    sums = CostSums(*np.array([[0.3, 0.1], [0.1, 0.2], [0.2, 0.3], [0.4, 0.4]]))
    disc_mh, disc_u = (score_rules(sums, name, 1.0, 1e12) for name in ("disc.mh", "disc.u"))
    np.testing.assert_allclose(disc_u.factor, disc_mh.factor, atol=1e-9)
    np.testing.assert_allclose(disc_u.loss, np.sqrt(1 - disc_mh.edge**2), atol=1e-9)


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_smoothing_bounds_votes_and_factors(weak_learner):
    perfect = CostSums(*np.array([[0.5], [0.0], [0.0], [0.5]]))
    scored = score_rules(perfect, weak_learner, 2.0, 100)
    for values in (scored.present, scored.absent, scored.factor):
        assert np.abs(values).max() <= max(max_vote(100), 1.0)
    assert scored.present[0] > 0 > scored.absent[0]


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_first_of_equal_features_is_chosen(weak_learner):
    sums = CostSums(*np.tile([[0.1], [0.2], [0.3], [0.4]], 4))
    assert find_best_rule(sums, weak_learner, 2.0, 10).feature.tolist() == [0]
