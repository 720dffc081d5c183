from itertools import pairwise

import numpy as np
import pytest

from cordwood.confidence.conformal import calibrate_sets, conformal_quantile


def draw(n_samples, n_classes, seed, sharpness=3.0):
    """Draw probabilities, and labels from these probabilities."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=(n_samples, n_classes))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (rng.random((n_samples, 1)) > np.cumsum(proba, axis=1)).sum(axis=1)
    return proba, np.minimum(y, n_classes - 1)


@pytest.mark.parametrize("coverage", [0.7, 0.9])
def test_sets_match_a_slow_oracle(coverage):
    proba, y = draw(150, 5, seed=1)
    test, _ = draw(40, 5, seed=2)
    scores = sorted(1 - p[k] for p, k in zip(proba, y, strict=True))
    threshold = scores[int(np.ceil(151 * coverage)) - 1]
    expected = [[1 - p[k] <= threshold for k in range(5)] for p in test]
    found = calibrate_sets(proba, y).predict_set(test, coverage, allow_empty=True)
    np.testing.assert_array_equal(found, expected)


def test_exchangeable_samples_are_covered_as_requested():
    # The coverage of one calibration set is a beta variable; its mean over 60 sets is exact.
    covered = []
    for seed in range(60):
        proba, y = draw(299 + 400, 8, seed=seed)
        calibration = calibrate_sets(proba[:299], y[:299])
        sets = calibration.predict_set(proba[299:], 0.9, allow_empty=True)
        covered.append(sets[np.arange(400), y[299:]].mean())
    # The standard error of the mean is sqrt(0.9 * 0.1 * (1 / 300 + 1 / 400) / 60) = 0.003.
    assert abs(np.mean(covered) - 0.9) < 0.009


def test_class_conditional_sets_cover_each_class():
    # Class 0 is rare and its probability is too low, so that marginal sets miss it.
    proba, y = draw(40_000, 3, seed=5)
    proba[:, 0] *= 0.2
    proba /= proba.sum(axis=1, keepdims=True)
    index = np.arange(20_000)
    for class_conditional in (False, True):
        calibration = calibrate_sets(
            proba[:20_000], y[:20_000], class_conditional=class_conditional
        )
        sets = calibration.predict_set(proba[20_000:], 0.9, allow_empty=True)
        is_covered = sets[index, y[20_000:]]
        by_class = [is_covered[y[20_000:] == code].mean() for code in range(3)]
        if class_conditional:
            np.testing.assert_allclose(by_class, 0.9, atol=0.015)
        else:
            assert by_class[0] < 0.8


def test_classes_that_are_too_small_share_a_threshold():
    proba, y = draw(1000, 4, seed=6)
    keep = np.flatnonzero((y < 2) | (np.cumsum(y == 2) * (y == 2) <= 12) & (y == 2))
    keep = np.sort(np.r_[keep, np.flatnonzero(y == 3)[:10]])
    calibration = calibrate_sets(proba[keep], y[keep], class_conditional=True)
    np.testing.assert_array_equal(calibration.pooled_classes(0.95), [2, 3])
    thresholds = calibration.thresholds(0.95)
    assert np.isfinite(thresholds).all()
    scores = 1 - proba[keep, y[keep]]
    assert thresholds[2] == thresholds[3] == conformal_quantile(scores[y[keep] >= 2], 0.95)
    assert thresholds[0] == conformal_quantile(scores[y[keep] == 0], 0.95)
    # 22 samples of small classes are too few for a coverage of 0.99.
    at_99 = calibration.thresholds(0.99)
    assert at_99[2] == conformal_quantile(scores, 0.99)


def test_sets_of_many_classes_are_covered_and_may_be_single():
    # With RAPS, whose scores sum the more probable labels, no set here has a single label.
    proba, y = draw(8000, 60, seed=14, sharpness=5.0)
    sets = calibrate_sets(proba[:4000], y[:4000]).predict_set(proba[4000:], 0.95)
    assert sets[np.arange(4000), y[4000:]].mean() > 0.94
    assert (sets.sum(axis=1) == 1).mean() > 0.1


def test_too_few_samples_give_all_labels():
    proba, y = draw(18, 4, seed=7)
    calibration = calibrate_sets(proba, y)
    assert calibration.predict_set(proba, 0.95).all()
    assert not calibration.predict_set(proba, 0.9).all()


def test_sets_grow_with_the_coverage_and_are_not_empty():
    proba, y = draw(500, 6, seed=11)
    calibration = calibrate_sets(proba, y)
    sets = [calibration.predict_set(proba, coverage) for coverage in (0.5, 0.8, 0.95, 0.999)]
    for smaller, larger in pairwise(sets):
        assert (smaller <= larger).all()
    assert sets[0].any(axis=1).all()
    assert sets[-1].all()


def test_samples_without_out_of_fold_probability_are_ignored():
    proba, y = draw(200, 4, seed=12)
    missing = proba.copy()
    missing[::10] = np.nan
    kept = np.arange(200) % 10 > 0
    found = calibrate_sets(missing, y).thresholds(0.9)
    expected = calibrate_sets(proba[kept], y[kept]).thresholds(0.9)
    np.testing.assert_array_equal(found, expected)


def test_invalid_arguments_raise():
    proba, y = draw(50, 3, seed=13)
    with pytest.raises(ValueError, match="one class code per sample"):
        calibrate_sets(proba, y[:-1])
    with pytest.raises(ValueError, match="class codes from 0 to 2"):
        calibrate_sets(proba, y + 1)
    calibration = calibrate_sets(proba, y)
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        calibration.predict_set(proba, 95)
    with pytest.raises(ValueError, match="proba must have 3 columns"):
        calibration.predict_set(proba[:, :2], 0.9)
