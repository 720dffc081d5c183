import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from cordwood.confidence import calibrate_sets
from cordwood.reports.confusion_summary import group_classes, summarize_confusion
from cordwood.reports.model_scores import (
    summarize_abstention,
    summarize_classes,
    summarize_reliability,
    summarize_sets,
)
from cordwood.reports.scored_samples import ScoredSamples


def make_predictions(n_samples=400, n_classes=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    logits = rng.normal(size=(n_samples, n_classes)) + 2 * np.eye(n_classes)[y]
    proba = np.exp(logits)
    return proba / proba.sum(axis=1, keepdims=True), y


def decide(proba, weights=1.0):
    """Predicted classes: the most probable ones, or those of a decision by class weights."""
    return (proba * weights).argmax(axis=1)


def make_samples(proba, y, predicted, texts=None, ids=None):
    ids = [str(i) for i in range(len(y))] if ids is None else ids
    return ScoredSamples(source="test", proba=proba, y=y, predicted=predicted, texts=texts, ids=ids)


# Equal weights, and those of a decision that often predicts another than the most probable class.
WEIGHTS = pytest.mark.parametrize("weights", [1.0, np.array([3.0, 1.0, 1.0, 1.0, 0.5])])


@WEIGHTS
def test_scores_of_classes_match_sklearn(weights):
    proba, y = make_predictions()
    predicted = decide(proba, weights)
    rows = {row.label: row for row in summarize_classes(proba, y, predicted, list("abcde"))}
    expected = precision_recall_fscore_support(y, predicted)
    for code, label in enumerate("abcde"):
        row = rows[label]
        found = row.precision, row.recall, row.f1, row.n_samples
        assert found == pytest.approx([column[code] for column in expected])
    assert sum(row.n_missed for row in rows.values()) == (predicted != y).sum()


def test_classes_with_most_errors_come_first():
    proba, y = make_predictions()
    missed = [row.n_missed for row in summarize_classes(proba, y, decide(proba), list("abcde"))]
    assert missed == sorted(missed, reverse=True)


@WEIGHTS
def test_bins_of_the_reliability_contain_all_samples(weights):
    proba, y = make_predictions()
    predicted = decide(proba, weights)
    bins = summarize_reliability(proba, y, predicted)
    assert sum(b.n for b in bins) == len(y)
    accuracy = sum(b.n * b.accuracy for b in bins) / len(y)
    assert accuracy == pytest.approx((predicted == y).mean())
    confidence = sum(b.n * b.confidence for b in bins) / len(y)
    assert confidence == pytest.approx(proba[np.arange(len(y)), predicted].mean())
    assert all(b.low <= b.accuracy <= b.high for b in bins)
    assert [b.confidence for b in bins] == sorted(b.confidence for b in bins)


@WEIGHTS
def test_thresholds_bound_the_error(weights):
    proba, y = make_predictions(2000)
    predicted = decide(proba, weights)
    confidence, is_wrong = proba[np.arange(len(y)), predicted], predicted != y
    thresholds = summarize_abstention(proba, y, predicted).thresholds
    assert thresholds
    for row in thresholds:
        decided = confidence >= row.confidence
        assert is_wrong[decided].mean() == pytest.approx(row.error)
        assert row.error <= row.max_error
        assert decided.mean() == pytest.approx(row.decided)


def test_prediction_sets_cover_the_true_class():
    proba, y = make_predictions(2000)
    rows = summarize_sets(proba, y)
    assert [row.coverage for row in rows] == [0.9, 0.95, 0.99]
    sizes = [row.mean_size for row in rows]
    assert sizes == sorted(sizes)
    calibration = calibrate_sets(proba, y)
    for row in rows:
        found = calibration.predict_set(proba, row.coverage)
        # Scores are randomized, so that the coverage of the same samples is approximate.
        assert found[np.arange(len(y)), y].mean() >= row.coverage - 0.01
        assert found.sum(axis=1).mean() == row.mean_size


def test_few_samples_have_no_prediction_sets():
    proba, y = make_predictions(8)
    assert summarize_sets(proba, y) == []


def test_equal_probabilities_are_decided_together():
    proba = np.array([[0.9, 0.1]] * 4 + [[0.6, 0.4]] * 6)
    y = np.array([0, 0, 0, 1, 0, 0, 1, 1, 1, 1])
    curve = summarize_abstention(proba, y, decide(proba)).curve
    assert [(p.coverage, p.accuracy) for p in curve] == [(0.4, 0.75), (1.0, 0.5)]


@WEIGHTS
def test_confusion_counts_match_sklearn(weights):
    proba, y = make_predictions()
    labels, predicted = list("abcde"), decide(proba, weights)
    found = summarize_confusion(make_samples(proba, y, predicted), labels)
    expected = confusion_matrix(y, predicted)
    (group,) = found.groups
    order = [labels.index(label) for label in group.labels]
    assert np.array_equal(group.counts, expected[np.ix_(order, order)])
    assert found.n_shown_errors == found.n_errors == expected.sum() - np.trace(expected)
    for pair in found.pairs:
        i, j = labels.index(pair.true), labels.index(pair.predicted)
        assert pair.n == expected[i, j] > 0
        assert pair.share == pytest.approx(expected[i, j] / expected[i].sum())


def test_examples_of_a_pair_are_its_most_certain_errors():
    proba, y = make_predictions(60, 2)
    ids = [f"id{i}" for i in range(60)]
    texts = [f"text {i} " + "x" * 500 for i in range(60)]
    samples = make_samples(proba, y, decide(proba), texts, ids)
    for pair in summarize_confusion(samples, ["a", "b"]).pairs:
        true, wrong = "ab".index(pair.true), "ab".index(pair.predicted)
        errors = [i for i in range(60) if y[i] == true and proba[i].argmax() == wrong]
        best = sorted(errors, key=lambda i: -proba[i, wrong])[:3]
        assert [row.id for row in pair.examples] == [ids[i] for i in best]
        assert all(row.is_shortened and len(row.text) < 500 for row in pair.examples)


@pytest.mark.parametrize("n_classes", [13, 50, 120])
def test_groups_are_disjoint_and_legible(n_classes):
    rng = np.random.default_rng(0)
    errors = rng.poisson(0.2, size=(n_classes, n_classes))
    np.fill_diagonal(errors, 0)
    groups = group_classes(errors)
    flat = [i for group in groups for i in group]
    assert len(flat) == len(set(flat))
    assert all(2 <= len(group) <= 10 for group in groups)


def test_planted_groups_are_found():
    errors = np.zeros((30, 30), dtype=int)
    for start in (0, 7, 20):
        errors[start : start + 5, start : start + 5] = 10 + start
    errors[1, 25] = errors[2, 9] = 1
    np.fill_diagonal(errors, 0)
    found = sorted(sorted(group) for group in group_classes(errors) if len(group) == 5)
    assert [*range(7, 12)] in found or [*range(0, 5)] in found
    strongest = sorted(group_classes(errors)[0])
    assert set(range(20, 25)) <= set(strongest)


def test_no_errors_have_no_groups():
    assert group_classes(np.zeros((4, 4), dtype=int)) == []
    samples = make_samples(np.eye(3), np.arange(3), np.arange(3))
    found = summarize_confusion(samples, list("abc"))
    assert found.n_errors == 0 and found.pairs == []
