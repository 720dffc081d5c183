import numpy as np
import pytest

from cordwood.rules._samples import binarize, merge_duplicates, one_vs_rest
from cordwood.rules.adauboost import CostState, boost
from cordwood.rules.records import sum_votes
from cordwood.rules.weak_learners import WEAK_LEARNERS, sum_costs

DEFAULTS = {"weak_learner": "real.mh", "update": "damped", "max_iter": 30, "tol": 1e-9}


def decide(rules, X):
    return sum_votes([rules], binarize(X))[:, 0]


def naive_adauboost(X, sign, beta, n_rounds, update="damped"):
    """AdaUBoost of Real.MH rules in plain loops over samples and features."""
    m, n_features = X.shape
    costs = np.where(sign > 0, beta, 1.0)
    costs = costs / costs.sum()
    f, chosen = np.zeros(m), []
    for _ in range(n_rounds):
        best = None
        for feature in range(n_features):
            z, h = 0.0, np.zeros(m)
            for value in (True, False):
                group = X[:, feature] == value
                positive = costs[group & (sign > 0)].sum()
                negative = costs[group & (sign < 0)].sum()
                z += 2 * np.sqrt(positive * negative)
                h[group] = 0.5 * np.log((positive + 1 / m) / (negative + 1 / m))
            if best is None or z < best[0] - 1e-12:
                best = z, feature, h
        _, feature, h = best
        b = np.where(sign > 0, 1 / beta, 1.0)
        if update == "aggressive":
            b = np.where((sign > 0) & (h < 0), beta, b)
        costs = costs * np.exp(-b * sign * h)
        costs /= costs.sum()
        f += h
        chosen.append(feature)
    return f, chosen


@pytest.mark.parametrize("beta", [1.0, 4.0])
@pytest.mark.parametrize("update", ["damped", "aggressive"])
def test_boost_matches_naive_implementation(make_problem, to_dense, beta, update):
    problem = make_problem(n_samples=80, n_features=30, seed=3)
    X = to_dense(problem)
    assert (problem.weight == 1).all()  # the naive implementation has no weights
    f, chosen = naive_adauboost(X, problem.sign, beta, 50, update)
    result = boost(problem, **{**DEFAULTS, "beta": beta, "max_iter": 50, "update": update})
    assert result.rules.feature.tolist() == chosen
    np.testing.assert_allclose(decide(result.rules, X), f, atol=1e-9)


def test_incremental_cost_sums_equal_recomputed_sums(make_problem):
    problem = make_problem(n_samples=300, n_features=60, positive_fraction=0.2, seed=6)
    rng = np.random.default_rng(0)
    state = CostState(problem, 4.0)
    for _ in range(31):  # the 32nd round recomputes the sums
        feature = int(rng.integers(60))
        factors = np.exp(rng.normal(scale=2.0, size=(2, 2)))
        state.update(feature, tuple(factors[0]), tuple(factors[1]))
        costs = np.concatenate(state._costs)
        assert costs.sum() == pytest.approx(1)
        for incremental, expected in zip(state.sums, sum_costs(problem, costs), strict=True):
            np.testing.assert_allclose(incremental, expected, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_training_error_is_bounded_by_product_of_normalizers(
    make_problem, to_dense, seed, weak_learner
):
    problem = make_problem(seed=seed)
    result = boost(problem, **{**DEFAULTS, "beta": 1.0, "weak_learner": weak_learner})
    X = to_dense(problem)
    bounds = np.cumprod(result.normalizers)
    for n_rounds in (1, 5, len(bounds)):
        wrong = decide(result.rules.take(slice(n_rounds)), X) * problem.sign <= 0
        error = problem.weight @ wrong / problem.total_weight
        assert error <= bounds[n_rounds - 1] + 1e-12
    assert bounds[-1] < 1


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_perfect_rule_stops_boosting(weak_learner):
    X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
    samples = merge_duplicates(binarize(X), X[:, :1] > 0, np.ones(5))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    result = boost(problem, **{**DEFAULTS, "beta": 2.0, "weak_learner": weak_learner})
    assert result.rules.feature.tolist() == [0]
    assert result.converged


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_uninformative_features_predict_majority_class(weak_learner):
    labels = np.array([[True], [False]])
    samples = merge_duplicates(binarize(np.ones((2, 3))), labels, np.array([1.0, 4.0]))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    result = boost(problem, **{**DEFAULTS, "beta": 1.0, "weak_learner": weak_learner})
    assert (decide(result.rules, np.ones((1, 3))) < 0).all()


def test_higher_beta_increases_recall_of_rare_class(make_problem, to_dense):
    problem = make_problem(n_samples=300, n_features=8, positive_fraction=0.1, seed=1)
    X = to_dense(problem)[: problem.n_positive]
    n_detected = [
        (decide(boost(problem, **{**DEFAULTS, "beta": beta}).rules, X) > 0).sum()
        for beta in (1.0, 3.0, 9.0)
    ]
    assert n_detected == sorted(n_detected)
    assert n_detected[0] < n_detected[-1]
