import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from cordwood.compare.runner.thresholds import HALF, category_scores, find_threshold

VOTES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
ROWS = st.lists(st.tuples(st.booleans(), st.sampled_from(VOTES)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_scores_are_those_of_scikit_learn(rows):
    truth, found = np.array(rows).T
    expected = [
        score(truth, found, zero_division=0.0)
        for score in (f1_score, precision_score, recall_score)
    ]
    assert list(category_scores(truth, found)) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=200)
@given(ROWS)
def test_no_threshold_is_better_and_none_as_good_is_nearer_to_one_half(rows):
    truth = np.array([is_category for is_category, _ in rows])
    votes = np.array([vote for _, vote in rows])
    found = find_threshold(truth, votes)
    # Between any two votes lies one of these, and also where the found one may lie.
    tried = [*((a + b) / 2 for a in VOTES for b in VOTES), HALF]
    scores = {t: category_scores(truth, votes > t).f1 for t in tried}
    best = max(scores.values())
    if best == 0:
        assert found == HALF
        return
    assert category_scores(truth, votes > found).f1 == pytest.approx(best, rel=1e-12)
    as_half = category_scores(truth, votes > HALF).f1
    assert (found == HALF) or as_half < best


def test_equal_votes_stay_on_one_side():
    truth, votes = np.array([True, False, False]), np.array([0.3, 0.3, 0.1])
    found = find_threshold(truth, votes)
    assert found == pytest.approx(0.2)
    assert (votes > found).tolist() == [True, True, False]
