import numpy as np
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

rng = np.random.default_rng(0)
LOGS = np.log(rng.dirichlet(np.ones(4), size=(30, 3)))
CODES = rng.integers(4, size=30)
WEIGHTS = rng.uniform(0.5, 2.0, 30)
COEF = rng.uniform(0.0, 2.0, (4, 4))  # the last row are intercepts


def expected_loss(coef):
    *weights, intercept = coef.reshape(4, 4)
    scores = (LOGS * np.array(weights)).sum(axis=1) + intercept
    return -WEIGHTS @ log_softmax(scores, axis=1)[np.arange(30), CODES]


def test_loss_and_gradient(kernels):
    gradient = np.full((4, 4), np.nan)
    loss = kernels.pool_loss.pool_loss(LOGS, CODES, WEIGHTS, COEF, gradient)
    np.testing.assert_allclose(loss, expected_loss(COEF))
    expected = approx_fprime(COEF.ravel(), expected_loss).reshape(4, 4)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


def test_large_scores_do_not_overflow(kernels):
    gradient = np.empty((4, 4))
    coef = 1e4 * COEF
    loss = kernels.pool_loss.pool_loss(LOGS, CODES, WEIGHTS, coef, gradient)
    np.testing.assert_allclose(loss, expected_loss(coef))
    assert np.isfinite(gradient).all()
