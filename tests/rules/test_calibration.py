import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from cordwood.rules._calibration import apply_common, apply_sides, fit_common, fit_sides


def test_slopes_are_those_of_logistic_regression_side_by_side():
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=4000)
    is_plus = rng.random(4000) < expit(decisions * np.where(decisions < 0, 3.0, 1.5))
    slopes = fit_sides(decisions, is_plus, np.ones(4000))
    for slope, side in zip(slopes, (decisions < 0, decisions > 0), strict=True):
        model = LogisticRegression(C=np.inf, fit_intercept=False)
        model.fit(decisions[side, None], is_plus[side])
        assert slope == pytest.approx(model.coef_[0, 0], rel=0.02)


def test_weights_are_copies():
    rng = np.random.default_rng(1)
    decisions, is_plus = rng.normal(size=50), rng.random(50) < 0.5
    weights = rng.integers(1, 4, 50)
    copies = np.repeat(np.arange(50), weights)
    ours = fit_sides(decisions, is_plus, weights.astype(float))
    theirs = fit_sides(decisions[copies], is_plus[copies], np.ones(len(copies)))
    np.testing.assert_allclose(ours, theirs, rtol=0.2)  # the usual size is a mean of documents


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_a_few_documents_never_make_certain(n):
    decisions, is_plus = np.full(n, 2.0), np.ones(n, bool)
    slopes = fit_sides(decisions, is_plus, np.ones(n))
    below, above = expit(slopes * [-2.0, 2.0])
    assert 0.5 < above <= (n + 1) / (n + 2) + 1e-3
    assert above == pytest.approx((n + 1) / (n + 2), abs=2e-3)
    assert 0 < below < 0.5


def test_sides_keep_the_order_and_the_half():
    decisions = np.array([[-3.0], [-1e-3], [0.0], [1e-3], [4.0]])
    probabilities = apply_sides(decisions, np.array([[2.0, 0.5]]))[:, 0]
    assert (np.diff(probabilities) > 0).all()
    assert probabilities[2] == 0.5


def test_the_common_slope_is_found_again():
    rng = np.random.default_rng(2)
    decisions = rng.normal(size=(20_000, 4))
    odds = np.exp(2.5 * decisions)
    shares = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    codes = (rng.random((20_000, 1)) > shares).sum(axis=1)
    slope = fit_common(decisions, codes, np.ones(20_000))
    assert slope == pytest.approx(2.5, rel=0.05)
    probabilities = apply_common(decisions, slope)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(probabilities.argmax(axis=1), decisions.argmax(axis=1))


def test_without_documents_the_common_slope_is_one():
    assert fit_common(np.empty((0, 3)), np.empty(0, int), np.empty(0)) == 1.0
