import functools
import re

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from cordwood.confidence.selective import choose_confidence, error_limit
from cordwood.exceptions import DataError


def draw(n_samples, seed):
    """Draw calibrated probabilities of two classes, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, n_samples)
    return np.column_stack([1 - p, p]), (rng.random(n_samples) < p).astype(int)


@functools.cache
def error_curve():
    """Return confidences, and the error rates of the samples above them."""
    confidences = np.linspace(0.5, 1.0, 2001)
    found = np.sort(draw(1_000_000, seed=123456)[0].max(axis=1))[::-1]
    means = np.cumsum(1 - found) / np.arange(1, len(found) + 1)
    return confidences, means[np.searchsorted(-found, -confidences, side="right") - 1]


def true_error(confidence):
    return np.interp(confidence, *error_curve())


def test_limit_matches_scipy():
    for n_errors, n_samples in [(0, 50), (3, 80), (79, 80), (80, 80)]:
        test = binomtest(n_errors, n_samples, alternative="less")
        expected = test.proportion_ci(0.98, method="exact").high
        found = error_limit(np.array([n_errors]), np.array([n_samples]), 0.02)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_limit_inverts_the_binomial_tail():
    limit = error_limit(np.array([4]), np.array([200]), 0.05)[0]
    assert binom.cdf(4, 200, limit) == pytest.approx(0.05)


def test_error_exceeds_the_bound_with_at_most_the_given_probability():
    delta, exceeded, decided = 0.2, 0, []
    for seed in range(200):
        threshold = choose_confidence(*draw(2000, seed), 0.05, delta=delta)
        decided.append(threshold.decided)
        exceeded += true_error(threshold.confidence) > 0.05
    assert exceeded <= 200 * delta
    assert np.mean(decided) > 0.4  # a bound that rejects all samples would be useless


def test_lower_bounds_decide_fewer_samples():
    proba, y = draw(5000, seed=1)
    found = [choose_confidence(proba, y, bound) for bound in (0.02, 0.05, 0.1)]
    assert found[0].decided < found[1].decided < found[2].decided
    assert found[0].confidence > found[1].confidence > found[2].confidence
    for each in found:
        decided = proba.max(axis=1) >= each.confidence
        assert decided.mean() == each.decided
        assert (proba.argmax(axis=1) != y)[decided].mean() == pytest.approx(each.error)
        assert each.error <= each.error_bound <= each.max_error


def test_all_samples_are_decided_if_the_classifier_is_good_enough():
    proba, y = draw(2000, seed=2)
    threshold = choose_confidence(proba, y, 0.5)
    assert threshold.decided == 1.0
    assert threshold.confidence == proba.max(axis=1).min()


def test_samples_of_the_same_confidence_are_decided_together():
    proba = np.repeat([[0.9, 0.1], [0.7, 0.3]], [300, 300], axis=0)
    y = np.zeros(600, int)
    y[300:400] = 1
    threshold = choose_confidence(proba, y, 0.05)
    assert (threshold.confidence, threshold.decided) == (0.9, 0.5)


def test_bounds_that_cannot_be_shown_raise():
    proba, y = draw(100, seed=3)
    with pytest.raises(DataError, match=r"max_error=0.01 needs at least 437 training samples"):
        choose_confidence(proba, y, 0.01)
    noise = np.random.default_rng(4).integers(2, size=2000)
    with pytest.raises(DataError, match="no confidence has an error rate of at most 0.05"):
        choose_confidence(draw(2000, seed=3)[0], noise, 0.05)


@pytest.mark.parametrize("max_error", [0.03, 0.05])
def test_the_error_rate_that_a_message_names_can_be_chosen(max_error):
    """It was the lowest limit of any threshold, which may be one that no sequence of tests reaches,
    rounded."""
    n_failed = 0
    for seed in range(30):
        proba, y = draw(400, seed)
        try:
            choose_confidence(proba, y, max_error)
        except DataError as error:
            shown = float(re.search(r"set max_error to ([\d.]+), the lowest", str(error))[1])
            n_failed += 1
            assert shown > max_error
            assert choose_confidence(proba, y, shown).error_bound <= shown
            with pytest.raises(DataError):
                choose_confidence(proba, y, shown - (0.001 if shown <= 0.1 else 0.01))
    assert n_failed


def test_classifier_that_is_always_wrong_has_no_bound():
    proba, y = np.tile([0.9, 0.1], (300, 1)), np.ones(300, int)
    with pytest.raises(DataError, match="training samples show; train on more samples"):
        choose_confidence(proba, y, 0.5)


def test_invalid_arguments_raise():
    proba, y = draw(100, seed=3)
    with pytest.raises(ValueError, match="max_error must be between 0 and 1"):
        choose_confidence(proba, y, 2)
    with pytest.raises(ValueError, match="one class code per sample"):
        choose_confidence(proba, y[:-1], 0.1)
