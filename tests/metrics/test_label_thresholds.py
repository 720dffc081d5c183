import numpy as np
import pytest
from sklearn.metrics import f1_score

from cordwood.metrics.thresholds import _GRID, choose_label_thresholds


def make_problem(seed, n_samples=300, shares=(0.4, 0.1, 0.05, 0.01)):
    rng = np.random.default_rng(seed)
    Y = rng.random((n_samples, len(shares))) < shares
    Y[0] = True  # each label occurs
    scores = rng.normal(size=Y.shape) + 1.5 * Y - 1
    return 1 / (1 + np.exp(-scores)), Y


def brute_force(proba, y):
    return max(f1_score(y, proba >= threshold, zero_division=0.0) for threshold in _GRID)


@pytest.mark.parametrize("seed", range(5))
def test_without_smoothing_f1_equals_that_of_an_exhaustive_search(seed):
    proba, Y = make_problem(seed)
    thresholds = choose_label_thresholds(proba, Y, prior_strength=0.0)
    counts = np.random.default_rng(seed).integers(0, 3, len(Y))
    weighted = choose_label_thresholds(proba, Y, counts.astype(float))
    repeated = choose_label_thresholds(
        np.repeat(proba, counts, axis=0), np.repeat(Y, counts, axis=0)
    )
    assert np.array_equal(weighted, repeated)
    for label in range(Y.shape[1]):
        found = f1_score(Y[:, label], proba[:, label] >= thresholds[label])
        assert found == pytest.approx(brute_force(proba[:, label], Y[:, label]))


def test_much_smoothing_gives_similar_labels_the_same_threshold():
    proba, Y = make_problem(0, shares=(0.05, 0.05, 0.05))
    pooled = choose_label_thresholds(proba, Y, prior_strength=1e9)
    # Labels of exactly the same frequency would have exactly the same threshold.
    assert np.ptp(pooled) < np.ptp(choose_label_thresholds(proba, Y, prior_strength=0.0)) + 1e-12
    expected = max(
        f1_score(Y.ravel(), (proba >= threshold).ravel(), zero_division=0.0) for threshold in _GRID
    )
    found = f1_score(Y.ravel(), (proba >= pooled).ravel())
    assert found == pytest.approx(expected, abs=0.02)


def test_smoothing_protects_a_label_with_one_sample():
    """Alone, the threshold of a label follows its only positive sample wherever it is."""
    proba, Y = make_problem(1, shares=(0.01,) * 10)
    Y[:, 0] = False
    Y[7, 0] = True
    proba[:, 0] = 0.002
    proba[7, 0] = 0.003
    alone = choose_label_thresholds(proba, Y, prior_strength=0.0)
    assert alone[0] <= 0.003
    assert choose_label_thresholds(proba, Y)[0] > 0.1


def test_labels_without_samples_are_never_predicted():
    proba, Y = make_problem(0)
    Y[:, 3] = False
    assert choose_label_thresholds(proba, Y)[3] == 1.0
