import numpy as np
import pytest
from sklearn.utils import compute_class_weight

from cordwood._base.class_weight import balanced_class_weights


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_equals_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, 50))
    expected = compute_class_weight("balanced", classes=np.arange(n_classes), y=y)
    np.testing.assert_allclose(balanced_class_weights(y, np.ones(len(y)), n_classes), expected)


def test_a_weight_is_a_number_of_samples():
    rng = np.random.default_rng(0)
    y, weights = np.arange(60) % 4, rng.integers(0, 4, 60)
    repeated = balanced_class_weights(np.repeat(y, weights), np.ones(weights.sum()), 4)
    np.testing.assert_allclose(balanced_class_weights(y, weights.astype(float), 4), repeated)


def test_classes_without_weight_are_like_classes_without_samples():
    y = np.array([0, 0, 1, 2, 2, 2])
    weights = np.where(y == 1, 0.0, 1.5)
    expected = balanced_class_weights(y[y != 1], weights[y != 1], 3)
    balanced = balanced_class_weights(y, weights, 3)
    assert np.array_equal(balanced, expected)
    assert balanced[1] == 0
    totals = np.bincount(y, balanced[y] * weights)
    np.testing.assert_allclose(totals[[0, 2]], weights.sum() / 2)
