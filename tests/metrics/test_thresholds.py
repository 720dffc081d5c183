"""Thresholds and class weights against exhaustive searches."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from cordwood.metrics.thresholds import (
    find_class_weights,
    find_f1_threshold,
    find_precision_threshold,
)


def noisy_probabilities(seed, n_samples=200, n_classes=3):
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, n_samples, p=[0.7, 0.2, 0.1][:n_classes])
    logits = rng.normal(size=(n_samples, n_classes)) + np.log([0.7, 0.2, 0.1][:n_classes])
    logits[np.arange(n_samples), codes] += 1.0
    proba = np.exp(logits)
    return proba / proba.sum(axis=1, keepdims=True), codes


def draw_weights(rng, n_samples, seed):
    """Return equal weights for even seeds, else random ones."""
    return np.ones(n_samples) if seed % 2 == 0 else rng.integers(0, 4, n_samples) / 2


@pytest.mark.parametrize("seed", range(5))
def test_f1_threshold_equals_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(150) < 0.2
    proba = (rng.random(150) + 0.4 * is_positive).round(2) / 1.5
    weights = draw_weights(rng, 150, seed)
    threshold, found = find_f1_threshold(proba, is_positive, weights)
    scores = [f1_score(is_positive, proba >= t, sample_weight=weights) for t in proba]
    assert found == pytest.approx(max(scores))
    assert found == pytest.approx(f1_score(is_positive, proba > threshold, sample_weight=weights))


@pytest.mark.parametrize("seed", range(5))
def test_precision_threshold_equals_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(150) < 0.3
    proba = (rng.random(150) + 0.5 * is_positive).round(2) / 1.5
    weights = draw_weights(rng, 150, seed)
    threshold, recall = find_precision_threshold(proba, is_positive, weights, 0.8)

    def smoothed_precision(predicted):
        n_more, share = 2, np.average(is_positive, weights=weights)
        n_correct, n_predicted = weights @ (is_positive & predicted), weights @ predicted
        return (n_correct + n_more * share) / (n_predicted + n_more)

    expected = max(
        recall_score(is_positive, proba >= t, sample_weight=weights)
        for t in proba
        if smoothed_precision(proba >= t) >= 0.8
    )
    assert recall == pytest.approx(expected)
    assert precision_score(is_positive, proba > threshold, sample_weight=weights) >= 0.8


@pytest.mark.parametrize("seed", range(3))
def test_class_weights_are_nearly_as_good_as_an_exhaustive_search(seed):
    proba, codes = noisy_probabilities(seed)
    sample_weight = draw_weights(np.random.default_rng(seed), len(codes), seed)
    weights, found = find_class_weights(proba, codes, sample_weight)

    def macro_f1(class_weights):
        predicted = (proba * class_weights).argmax(axis=1)
        return f1_score(codes, predicted, average="macro", sample_weight=sample_weight)

    assert found == pytest.approx(macro_f1(weights))
    grid = np.exp(np.linspace(-3, 3, 21))
    best = max(macro_f1([1.0, a, b]) for a, b in product(grid, grid))
    assert found > best - 0.015
    assert found >= macro_f1(np.ones(3))


def test_all_thresholds_are_candidates_also_of_constant_probabilities():
    is_positive = np.array([True, False, True])
    assert find_f1_threshold(np.full(3, 0.4), is_positive, np.ones(3)) == (0.2, pytest.approx(0.8))
    assert find_f1_threshold(np.zeros(3), is_positive, np.ones(3)) == (0.0, pytest.approx(0.8))


def test_of_equal_thresholds_the_highest_is_chosen():
    """The first sample, of the other class, costs as much as the positive one after it gains."""
    proba = np.array([0.9, 0.6, 0.6, 0.5])
    is_positive = np.array([True, False, False, True])
    threshold, f1 = find_f1_threshold(proba, is_positive, np.ones(4))
    assert f1 == pytest.approx(2 / 3)
    assert threshold == pytest.approx(0.75)


@pytest.mark.parametrize("seed", range(4))
def test_weights_equal_repeated_samples(seed):
    rng = np.random.default_rng(seed)
    proba, codes = noisy_probabilities(seed)
    counts = rng.integers(1, 4, len(codes))
    repeated = np.repeat(proba, counts, axis=0), np.repeat(codes, counts)
    ones, weights = np.ones(counts.sum()), counts.astype(float)
    for find, extra in ((find_f1_threshold, ()), (find_precision_threshold, (0.5,))):
        expected = find(repeated[0][:, 1], repeated[1] == 1, ones, *extra)
        assert find(proba[:, 1], codes == 1, weights, *extra) == pytest.approx(expected)
    found, score = find_class_weights(proba, codes, weights)
    expected, expected_score = find_class_weights(*repeated, ones)
    assert score == pytest.approx(expected_score)
    assert found == pytest.approx(expected)


def test_a_precision_that_cannot_be_reached_is_an_error():
    with pytest.raises(ValueError, match="no threshold has an out-of-fold precision of 0.99"):
        find_precision_threshold(np.full(9, 0.5), np.arange(9) < 4, np.ones(9), 0.99)
