"""Functions of scores, and their mean gradients between two vectors of scores."""

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.special import log_softmax, logit, logsumexp, softmax

from cordwood.explain import _path_integrals
from cordwood.explain._path_integrals import log_odds, log_softmax_weights, rescale_multipliers


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1e-9, 1e-5, 0.1, 3.0, 40.0])
def test_weights_of_log_softmax_are_mean_gradients(n_classes, scale):
    rng = np.random.default_rng(0)
    for _ in range(10):
        start = rng.normal(size=n_classes)
        end = start + scale * rng.normal(size=n_classes)
        weights = log_softmax_weights(start, end)

        def gradient(t, start=start, end=end):
            return np.eye(n_classes) - softmax(start + t * (end - start))

        np.testing.assert_allclose(weights, quad_vec(gradient, 0, 1)[0], atol=1e-6)
        change = log_softmax(end) - log_softmax(start)
        np.testing.assert_allclose(weights @ (end - start), change, atol=1e-12 * (1 + scale))


def test_functions_of_scores_are_those_of_scipy():
    scores = np.random.default_rng(0).normal(scale=5, size=(20, 4))
    np.testing.assert_allclose(_path_integrals.softmax(scores), softmax(scores, axis=1))
    np.testing.assert_allclose(_path_integrals.logsumexp(scores), logsumexp(scores, axis=1))
    for each in scores:
        np.testing.assert_allclose(log_odds(each), logit(softmax(each)))
    assert log_odds(np.array([0.0, 1000.0])).tolist() == [-1000, 1000]


def test_rescale_rule():
    start, end = np.array([1.0, 2.0]), np.array([1.0, 4.0])
    found = rescale_multipliers(start, end, (start**2, end**2), 2 * end)
    assert found.tolist() == [2, 6]  # the derivative where the arguments are equal
