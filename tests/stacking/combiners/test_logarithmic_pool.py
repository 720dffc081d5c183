import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.stacking.combiners import LogarithmicPool, MultiResponseRegression
from cordwood.stacking.oob_stacking import OOBStackingClassifier


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_match_logistic_regression_on_log_odds(weighted, simulate):
    X, y = simulate(n=600, n_classes=2, n_members=3)
    weights = np.linspace(0.1, 2, len(y)) if weighted else None
    model = LogarithmicPool(alpha=1e-9, floor=1e-12, class_alpha=None)
    model.fit(X, y, sample_weight=weights)
    odds = np.log(X[:, 1::2]) - np.log(X[:, ::2])
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(odds, y, weights)
    assert (reference.coef_ > 0.01).all()  # otherwise the bound would be active
    for column in model.coef_.T:
        np.testing.assert_allclose(column, reference.coef_[0], rtol=2e-3, atol=2e-3)
    intercept = model.intercept_[1] - model.intercept_[0]
    np.testing.assert_allclose(intercept, reference.intercept_[0], atol=2e-3)
    expected = reference.predict_proba(odds)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-3)


def test_class_weights_match_logistic_regression_on_logarithms(simulate):
    X, y = simulate(n=600, n_classes=2, n_members=2)
    model = LogarithmicPool(alpha=1e-6, class_alpha=1e-6, floor=1e-12).fit(X, y)
    signs = [-1, 1, -1, 1]  # evidence for the first class is evidence against the second
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(signs * np.log(X), y)
    np.testing.assert_allclose(model.coef_.ravel(), reference.coef_[0], rtol=0.01, atol=0.01)
    expected = reference.predict_proba(signs * np.log(X))
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=2e-3)


@pytest.mark.parametrize("class_alpha", [None, 2.0])
@pytest.mark.parametrize(("shrinkage", "target"), [(0.0, None), (600.0, [0.0, 0.0, 1.0, 0.0, 0.5])])
def test_weights_minimize_the_penalized_loss(class_alpha, shrinkage, target, simulate):
    X, y = simulate(n=300, n_classes=4, n_members=5)
    params = {"alpha": 0.5, "class_alpha": class_alpha, "shrinkage": shrinkage, "target": target}
    model = LogarithmicPool(**params).fit(X, y)
    factor = 1 + shrinkage / 300
    goal = np.full(5, 0.2) if target is None else np.array(target)
    logs = np.log(np.maximum(X, 1e-3)).reshape(len(X), 5, 4)
    spread = ((logs - logs.mean(axis=2, keepdims=True)) ** 2).mean(axis=(0, 2))

    def loss(coef, intercept):
        scores = np.exp((logs * coef).sum(axis=1) + intercept)
        likely = np.log(scores[np.arange(len(y)), y] / scores.sum(axis=1))
        means = coef.mean(axis=1)
        penalty = 0.5 * ((spread * (means - goal) ** 2).sum() + (intercept**2).sum())
        penalty += (class_alpha or 0) * (spread * (coef.T - means) ** 2).sum()
        return -likely.sum() + factor * penalty

    least = loss(model.coef_, model.intercept_)
    assert least < loss(np.full((5, 4), 0.2), np.zeros(4))
    rng = np.random.default_rng(0)
    n_columns = 1 if class_alpha is None else 4
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(50):
            coef = np.maximum(model.coef_ + size * rng.normal(size=(5, n_columns)), 0)
            assert loss(coef, model.intercept_ + size * rng.normal(size=4)) > least - 1e-6


def test_large_class_alpha_gives_one_weight_per_base_estimator(simulate):
    X, y = simulate(n=300, n_classes=3, n_members=3)
    held, one = (LogarithmicPool(class_alpha=alpha).fit(X, y) for alpha in (1e4, None))
    assert (one.coef_ > 0.01).all()
    np.testing.assert_allclose(held.coef_, one.coef_, rtol=0.01)
    free = LogarithmicPool(class_alpha=1e-3).fit(X, y)
    assert np.ptp(free.coef_, axis=1).min() > 0.01


def test_members_that_contradict_the_labels_get_no_weight(simulate):
    X, y = simulate(n=200, n_classes=2, n_members=2)
    X[:, 2:] = X[:, 3:1:-1]  # the second one predicts the wrong class
    model = LogarithmicPool().fit(X, y)
    assert (model.coef_[0] > 0.5).all()
    np.testing.assert_array_equal(model.coef_[1], 0)


def test_few_samples_leave_the_weights_near_the_target(simulate):
    X, y = simulate(n=1000, n_classes=2, n_members=3)
    few, many = (
        LogarithmicPool(target=[0, 1, 0]).fit(X[:n], y[:n]).coef_.mean(axis=1) for n in (10, 1000)
    )
    np.testing.assert_allclose(few, [0, 1, 0], atol=0.1)
    assert many.min() > 0.3


def test_weights_of_samples_count_like_repetitions(simulate):
    X, y = simulate(n=60, n_classes=3, n_members=2)
    weighted = LogarithmicPool().fit(X, y, sample_weight=np.full(len(y), 3))
    repeated = LogarithmicPool().fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_overconfident_base_estimator_does_not_dominate():
    X, y = load_digits(return_X_y=True)
    members = [("forest", RandomForestClassifier(100, random_state=0)), ("bayes", MultinomialNB())]
    scores = {}
    for combiner in (LogarithmicPool(), MultiResponseRegression()):
        stack = OOBStackingClassifier(members, combiner, check_leakage=False, random_state=0)
        stack.fit(X[::2], y[::2])
        scores[type(combiner)] = stack.score(X[1::2], y[1::2])
    forest = stack.named_estimators_["forest"].score(X[1::2], y[1::2])
    assert scores[MultiResponseRegression] < forest - 0.01
    assert scores[LogarithmicPool] >= forest - 0.005


def test_no_base_estimator_can_exclude_a_class(simulate):
    X, y = simulate(n=300, n_classes=3, n_members=4)
    model = LogarithmicPool().fit(X, y)
    row = np.tile([0.0, 0.01, 0.99], 4)[None].copy()
    row[0, :3] = [1.0, 0.0, 0.0]
    assert (model.predict_proba(row) > 0).all()


def test_duplicate_base_estimators_share_their_weight(simulate):
    X, y = simulate(n=400, n_classes=3, n_members=1)
    once, twice = (
        LogarithmicPool(alpha=1e-6, class_alpha=1e-6).fit(np.tile(X, n), y) for n in (2, 4)
    )
    np.testing.assert_allclose(twice.coef_.sum(axis=0), once.coef_.sum(axis=0), rtol=1e-3)
    np.testing.assert_allclose(twice.coef_[0], twice.coef_[1], rtol=1e-3)


@pytest.mark.parametrize(
    "params",
    [
        *({"floor": 0}, {"floor": 1.0}, {"alpha": 0.0}, {"alpha": "a"}, {"class_alpha": 0.0}),
        *({"shrinkage": -1.0}, {"target": [1.0]}, {"target": [1.0, -1.0]}, {"target": 0.5}),
    ],
)
def test_invalid_parameters_raise(params, simulate):
    X, y = simulate(n=50, n_classes=2, n_members=2)
    with pytest.raises(ValueError, match=f"^{next(iter(params))} must "):
        LogarithmicPool(**params).fit(X, y)
