import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from cordwood.rules._calibration import apply_signed_temperatures, fit_signed_temperatures


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
    probabilities = apply_signed_temperatures(decisions, np.array([[0.5, 2.0]]))[:, 0]
    assert (np.diff(probabilities) > 0).all()
    assert probabilities[2] == 0.5
