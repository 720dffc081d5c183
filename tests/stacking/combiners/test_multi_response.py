import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from cordwood.stacking.combiners import MultiResponseRegression
from cordwood.stacking.combiners import multi_response as module


def reference(X, indicator, weights, nonnegative):
    """Return coefficients by scikit-learn."""
    return (
        LinearRegression(positive=nonnegative, fit_intercept=False)
        .fit(X, indicator, sample_weight=weights)
        .coef_
    )


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_class_matches_linear_regression(nonnegative, n_classes, weighted, simulate):
    X, y = simulate(n_classes=n_classes, n_members=4)
    weights = np.linspace(0.1, 2, len(y)) if weighted else None
    model = MultiResponseRegression(nonnegative=nonnegative).fit(X, y, sample_weight=weights)
    assert model.coef_.shape == (n_classes, X.shape[1])
    for code in range(n_classes):
        same_class = np.arange(code, X.shape[1], n_classes)
        expected = np.zeros(X.shape[1])
        expected[same_class] = reference(X[:, same_class], y == code, weights, nonnegative)
        np.testing.assert_allclose(model.coef_[code], expected, atol=1e-10)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("n_samples", [20, 600])
def test_all_features_match_linear_regression(nonnegative, n_samples, simulate):
    # Features are collinear, so that coefficients are not unique.
    X, y = simulate(n=n_samples, n_members=12)
    model = MultiResponseRegression("all", nonnegative=nonnegative).fit(X, y)
    for code in range(3):
        best = reference(X, y == code, None, nonnegative)
        np.testing.assert_allclose(X @ model.coef_[code], X @ best, atol=1e-6)
    assert not nonnegative or (model.coef_ >= 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 5), st.integers(5, 40))
@settings(deadline=None, max_examples=40)
def test_coefficients_satisfy_the_kkt_conditions(seed, n_members, n_classes, n_samples):
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.full(n_classes, 0.3), size=(n_samples, n_members)).round(1)
    X = (members / members.sum(axis=2, keepdims=True)).reshape(n_samples, -1)
    y = rng.integers(n_classes, size=n_samples)
    y[:n_classes] = np.arange(n_classes)
    model = MultiResponseRegression("all").fit(X, y)
    for code in range(n_classes):
        gradient = X.T @ (X @ model.coef_[code] - (y == code))
        used = model.coef_[code] > 0
        np.testing.assert_allclose(gradient[used], 0, atol=1e-8)
        assert (gradient[~used] > -1e-8).all()


def test_batches_do_not_change_coefficients(simulate, monkeypatch):
    X, y = simulate()
    expected = MultiResponseRegression("all", nonnegative=False).fit(X, y)
    monkeypatch.setattr(module, "_BATCH_SIZE", 50)
    batched = MultiResponseRegression("all", nonnegative=False).fit(X, y)
    np.testing.assert_allclose(batched.coef_, expected.coef_, atol=1e-10)


def test_two_classes_have_two_regressions(simulate):
    # A single regression with threshold 0, as the authors have it, predicts one class only.
    X, y = simulate(n_classes=2)
    weights = reference(X, y == 1, None, nonnegative=True)
    assert ((X @ weights > 0) == 1).all()
    model = MultiResponseRegression().fit(X, y)
    assert model.coef_.shape == (2, 6)
    assert abs(model.predict(X).mean() - 0.5) < 0.05
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("features", ["same_class", "all"])
def test_random_base_estimator_gets_no_weight(features, simulate):
    X, y = simulate(n=3000, n_members=1, skill=2.0)
    noise, _ = simulate(n=3000, n_members=1, skill=0.0, seed=1)
    coef = MultiResponseRegression(features).fit(np.hstack([X, noise]), y).coef_
    assert (np.diag(coef[:, :3]) > 0.8).all()
    assert (coef[:, 3:] < 0.05).all()


@pytest.mark.parametrize("features", ["same_class", "all"])
def test_probabilities_do_not_depend_on_the_scale(features, simulate):
    X, y = simulate()
    model = MultiResponseRegression(features).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(0.37 * X), model.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 9))), [[1 / 3] * 3])


def test_all_accepts_any_number_of_features(simulate):
    X, y = simulate()
    passed_through = np.random.default_rng(0).normal(size=(len(X), 2))
    model = MultiResponseRegression("all").fit(np.hstack([X, passed_through]), y)
    assert model.score(np.hstack([X, passed_through]), y) > 0.7
