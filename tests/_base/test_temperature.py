import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from cordwood._base.temperature import HeldOutMargins, fit_temperature


def draw_margins(temperature, n_samples=20_000, n_classes=4, seed=2):
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=(n_samples, n_classes))
    odds = np.exp(margins / temperature)
    cumulative = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    columns = (rng.random((n_samples, 1)) > cumulative).sum(axis=1)
    return HeldOutMargins(margins, columns, np.ones(n_samples))


@pytest.mark.parametrize("temperature", [0.4, 1.5])
def test_temperature_of_generated_labels_is_recovered(temperature):
    assert fit_temperature([draw_margins(temperature)]) == pytest.approx(temperature, rel=0.05)


def test_temperature_minimizes_smoothed_log_loss():
    rng = np.random.default_rng(0)
    folds = [
        HeldOutMargins(rng.normal(size=(n, k)), rng.integers(0, k, n), rng.uniform(0.5, 2, n))
        for n, k in [(30, 3), (20, 2)]
    ]

    def loss(log_temperature):
        total = 0.0
        for margins, columns, weights in folds:
            targets = np.eye(margins.shape[1])[columns] * 50 + 1
            targets /= targets.sum(axis=1, keepdims=True)
            logs = log_softmax(margins / np.exp(log_temperature), axis=1)
            total -= weights @ (targets * logs).sum(axis=1)
        return total

    expected = minimize_scalar(loss, bounds=(-7, 7), method="bounded").x
    assert loss(np.log(fit_temperature(folds))) <= loss(expected) + 1e-6


def test_integer_weights_equal_duplicates():
    margins, columns, _ = draw_margins(1.0, n_samples=60)
    weights = np.random.default_rng(1).integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weights)
    weighted = fit_temperature(
        [HeldOutMargins(margins, columns, weights.astype(float))], n_samples=float(weights.sum())
    )
    repeated = fit_temperature(
        [HeldOutMargins(margins[copies], columns[copies], np.ones(len(copies)))]
    )
    assert weighted == pytest.approx(repeated, rel=1e-3)


def test_temperature_scales_with_margins():
    margins, columns, weights = draw_margins(1.0, n_samples=500)
    expected = fit_temperature([HeldOutMargins(margins, columns, weights)])
    for factor in (1e-8, 1e8):
        scaled = fit_temperature([HeldOutMargins(factor * margins, columns, weights)])
        assert scaled == pytest.approx(factor * expected)


def test_temperature_is_one_without_information():
    empty = HeldOutMargins(np.empty((0, 3)), np.empty(0, int), np.empty(0))
    zeros = HeldOutMargins(np.zeros((5, 3)), np.zeros(5, int), np.ones(5))
    assert fit_temperature([]) == fit_temperature([empty]) == fit_temperature([zeros]) == 1.0
