import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from cordwood.compare.runner.thresholds import (
    DEFAULT_THRESHOLD,
    category_scores,
    find_best_threshold,
)

PROBAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
SAMPLES = st.lists(st.tuples(st.booleans(), st.sampled_from(PROBAS)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=1, max_size=20),
    st.booleans(),
)
def test_category_scores_match_scikit_learn(samples, is_weighted):
    y_true, y_pred = np.array([sample[:2] for sample in samples]).T
    weights = np.array([weight + 0.5 for _, _, weight in samples]) if is_weighted else None
    expected = [
        score(y_true, y_pred, zero_division=0.0, sample_weight=weights)
        for score in (f1_score, precision_score, recall_score)
    ]
    assert list(category_scores(y_true, y_pred, weights)) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=100)
@given(SAMPLES, st.randoms(use_true_random=False))
def test_weighted_threshold_equals_that_of_repeated_samples(samples, random):
    y_true = np.array([is_category for is_category, _ in samples])
    proba = np.array([value for _, value in samples])
    counts = np.array([random.randint(1, 3) for _ in samples])
    repeated = find_best_threshold(np.repeat(y_true, counts), np.repeat(proba, counts))
    assert find_best_threshold(y_true, proba, counts.astype(float)) == repeated


@settings(deadline=None, max_examples=200)
@given(SAMPLES)
def test_threshold_maximizes_f1_and_prefers_the_default(samples):
    y_true = np.array([is_category for is_category, _ in samples])
    proba = np.array([value for _, value in samples])
    found = find_best_threshold(y_true, proba)
    # Every threshold that separates two of the probabilities is equivalent to one of these.
    candidates = [*((a + b) / 2 for a in PROBAS for b in PROBAS), DEFAULT_THRESHOLD]
    scores = {t: category_scores(y_true, proba > t).f1 for t in candidates}
    best = max(scores.values())
    if best == 0:
        assert found == DEFAULT_THRESHOLD
        return
    assert category_scores(y_true, proba > found).f1 == pytest.approx(best, rel=1e-12)
    default_f1 = category_scores(y_true, proba > DEFAULT_THRESHOLD).f1
    assert (found == DEFAULT_THRESHOLD) or default_f1 < best


def test_equal_probabilities_are_not_separated():
    y_true, proba = np.array([True, False, False]), np.array([0.3, 0.3, 0.1])
    found = find_best_threshold(y_true, proba)
    assert found == pytest.approx(0.2)
    assert (proba > found).tolist() == [True, True, False]
