import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from cordwood.multilabel import _label_pool
from cordwood.multilabel._label_pool import _fit_logistic, fit_label_pool


def test_logistic_regression_equals_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 500))
    y = rng.random(500) < expit(scores[0] - 0.5 * scores[1] + 0.3)
    alpha = np.array([1.0, 1.0, 1.0, 0.0])
    found = _fit_logistic(scores, y, np.ones(500), np.zeros(4), alpha)
    # The penalty of scikit-learn is |w|**2 / (2 C).
    reference = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(scores.T, y)
    assert np.allclose(found, np.append(reference.coef_[0], reference.intercept_), atol=1e-3)


def test_weights_equal_repeated_samples():
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=(2, 60)), rng.random(60) < 0.4
    counts = rng.integers(1, 4, 60)
    alpha, center = np.array([1.0, 1.0, 0.1]), np.array([0.5, 0.5, 0.0])
    weighted = _fit_logistic(scores, y, counts.astype(float), center, alpha)
    repeated = _fit_logistic(
        np.repeat(scores, counts, axis=1),
        np.repeat(y, counts),
        np.ones(counts.sum()),
        center,
        alpha,
    )
    assert np.allclose(weighted, repeated, atol=1e-4)


def make_members(n_samples=2000, n_labels=6, seed=0):
    """A calibrated member, an overconfident one, and noise."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=2.0, size=(n_samples, n_labels)) - 1
    Y = rng.random(logits.shape) < expit(logits)
    noise = rng.normal(scale=2.0, size=logits.shape)
    return np.stack([expit(logits), expit(3 * logits), expit(noise)]), Y


def test_a_calibrated_member_keeps_its_probabilities():
    probas, Y = make_members()
    pool = fit_label_pool(probas[:1], Y, seed=0)
    assert np.abs(pool.predict_proba(probas[:1]) - probas[0]).mean() < 0.03


def test_an_overconfident_member_is_calibrated_and_noise_gets_no_weight():
    probas, Y = make_members()
    pool = fit_label_pool(probas[1:], Y, seed=0)
    assert np.abs(pool.predict_proba(probas[1:]) - probas[0]).mean() < 0.05
    assert np.abs(pool.coef[1]).max() < 0.1


def test_weights_of_a_rare_label_are_those_of_all_labels():
    probas, Y = make_members(500)
    Y[:, 0] = False
    Y[3, 0] = True
    pool = fit_label_pool(probas[:2], Y, seed=0)
    spread = np.abs(pool.coef[:, 0] - pool.coef[:, 1:].mean(axis=1)).max()
    assert spread < 0.5


def test_a_subsample_of_pairs_is_nearly_equivalent(monkeypatch):
    probas, Y = make_members(4000)
    whole = fit_label_pool(probas[1:], Y, seed=0)
    monkeypatch.setattr(_label_pool, "_MAX_PAIRS", 10_000)
    part = fit_label_pool(probas[1:], Y, seed=0)
    assert not np.array_equal(part.coef, whole.coef)
    assert part.coef == pytest.approx(whole.coef, abs=0.02)


def test_weights_of_a_pool_equal_repeated_samples():
    probas, Y = make_members(200)
    counts = np.random.default_rng(0).integers(0, 3, 200)
    weighted = fit_label_pool(probas, Y, 0, counts.astype(float))
    repeated = fit_label_pool(np.repeat(probas, counts, axis=1), np.repeat(Y, counts, axis=0), 0)
    assert np.allclose(weighted.coef, repeated.coef, atol=1e-3)
    assert np.allclose(weighted.intercept, repeated.intercept, atol=1e-3)
