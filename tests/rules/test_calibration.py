import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from cordwood.rules.calibration import (
    divide_by_temperatures,
    fit_multiclass_temperatures,
    fit_signed_temperatures,
)


def test_temperatures_match_logistic_regression_for_each_sign():
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=4000)
    is_positive = rng.random(4000) < expit(decisions * np.where(decisions < 0, 3.0, 1.5))
    temperatures = fit_signed_temperatures(decisions, is_positive, np.ones(4000))
    for temperature, mask in zip(temperatures, (decisions < 0, decisions > 0), strict=True):
        model = LogisticRegression(C=np.inf, fit_intercept=False)
        model.fit(decisions[mask, None], is_positive[mask])
        assert temperature == pytest.approx(1 / model.coef_[0, 0], rel=0.02)


def test_integer_weights_are_equivalent_to_duplicates():
    rng = np.random.default_rng(1)
    decisions, is_positive = rng.normal(size=50), rng.random(50) < 0.5
    weights = rng.integers(1, 4, 50)
    copies = np.repeat(np.arange(50), weights)
    weighted = fit_signed_temperatures(decisions, is_positive, weights.astype(float))
    repeated = fit_signed_temperatures(decisions[copies], is_positive[copies], np.ones(len(copies)))
    # Not equal, because the mean absolute decision value, used for smoothing, is unweighted.
    np.testing.assert_allclose(1 / weighted, 1 / repeated, rtol=0.2)


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_probabilities_of_few_samples_are_smoothed(n):
    decisions, is_positive = np.full(n, 2.0), np.ones(n, bool)
    temperatures = fit_signed_temperatures(decisions, is_positive, np.ones(n))
    negative, positive = expit([-2.0, 2.0] / temperatures)
    assert 0.5 < positive <= (n + 1) / (n + 2) + 1e-3
    assert positive == pytest.approx((n + 1) / (n + 2), abs=2e-3)
    assert 0 < negative < 0.5


def test_probabilities_preserve_order_and_threshold():
    decisions = np.array([[-3.0], [-1e-3], [0.0], [1e-3], [4.0]])
    probabilities = expit(divide_by_temperatures(decisions, np.array([[0.5, 2.0]])))[:, 0]
    assert (np.diff(probabilities) > 0).all()
    assert probabilities[2] == 0.5


def draw_multiclass(temperatures, n_samples, seed=0):
    """Draw votes, and classes from their probabilities."""
    rng = np.random.default_rng(seed)
    votes = rng.normal(scale=temperatures[:, 0], size=(n_samples, len(temperatures)))
    cumulative = softmax(divide_by_temperatures(votes, temperatures), axis=1).cumsum(axis=1)
    return votes, (rng.random((n_samples, 1)) > cumulative).sum(axis=1)


def test_temperatures_that_multiclass_labels_are_drawn_from_are_recovered():
    expected = np.array([[1.0, 0.5], [10.0, 3.0], [0.02, 0.01]])
    temperatures = fit_multiclass_temperatures(*draw_multiclass(expected, 8000), np.ones(8000))
    np.testing.assert_allclose(temperatures, expected, rtol=0.15)


def test_multiclass_temperatures_treat_integer_weights_as_duplicates():
    votes, columns = draw_multiclass(np.ones((4, 2)), 200, seed=1)
    weights = np.random.default_rng(2).integers(1, 4, 200)
    copies = np.repeat(np.arange(200), weights)
    weighted = fit_multiclass_temperatures(votes, columns, weights.astype(float))
    repeated = fit_multiclass_temperatures(votes[copies], columns[copies], np.ones(len(copies)))
    np.testing.assert_allclose(weighted, repeated, rtol=0.01)


def test_multiclass_temperatures_ignore_unknown_votes():
    votes, columns = draw_multiclass(np.ones((3, 2)), 400, seed=3)
    expected = fit_multiclass_temperatures(votes, columns, np.ones(400))
    unknown = np.column_stack([votes, np.full(400, np.nan)])
    temperatures = fit_multiclass_temperatures(unknown, columns, np.ones(400))
    np.testing.assert_allclose(temperatures[:3], expected, rtol=0.01)


def test_multiclass_probabilities_of_separable_samples_are_smoothed():
    votes = np.where(np.eye(3, dtype=bool), 1.0, -1.0)
    temperatures = fit_multiclass_temperatures(votes, np.arange(3), np.full(3, 10.0))
    confidence = softmax(divide_by_temperatures(votes, temperatures), axis=1).max(axis=1)
    np.testing.assert_allclose(confidence, (30 + 1 / 3) / 31, atol=1e-3)


def test_multiclass_temperatures_of_zero_votes_are_one():
    temperatures = fit_multiclass_temperatures(np.zeros((3, 3)), np.arange(3), np.ones(3))
    np.testing.assert_array_equal(temperatures, 1.0)
