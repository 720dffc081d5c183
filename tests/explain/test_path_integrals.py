"""Mean gradients between two vectors of scores."""

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.special import log_softmax, softmax

from cordwood.explain._path_integrals import log_softmax_weights


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
