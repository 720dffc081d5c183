import numpy as np
import pytest

import cordwood
from cordwood import Decision, TextClassifier
from cordwood.confidence import calibrate_sets, choose_confidence
from cordwood.exceptions import DataError
from cordwood.metrics.predictions import Predictions
from synthetic_data import make_counts


def to_texts(X):
    return [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in X]


@pytest.fixture(scope="module")
def data():
    X, y = make_counts(900, 60, 3, seed=0, noise=0.1, spread=0.8)
    texts, labels = to_texts(X), np.array(["a", "b", "c"])[y]
    return texts[:600], labels[:600], texts[600:], labels[600:]


@pytest.fixture(scope="module")
def model(data):
    return TextClassifier("nb").fit(data[0], data[1])


def test_prediction_sets_are_those_of_the_out_of_fold_predictions(model, data):
    found = model.classify(data[2], coverage=0.9)
    oof = model.oof_
    expected = calibrate_sets(oof.proba, oof.y).predict_set(found.proba, 0.9)
    np.testing.assert_array_equal(found.sets, expected)
    is_covered = [
        label in labels for label, labels in zip(data[3], found.label_sets(), strict=True)
    ]
    assert np.mean(is_covered) == pytest.approx(0.9, abs=0.06)


def test_sets_list_the_most_probable_label_first(model, data):
    found = model.classify(data[2], coverage=0.9)
    for label, labels in zip(found.labels, found.label_sets(), strict=True):
        assert labels[0] == label


def test_class_conditional_sets(model, data):
    found = model.classify(data[2], coverage=0.9, class_conditional=True)
    oof = model.oof_
    expected = calibrate_sets(oof.proba, oof.y, class_conditional=True)
    np.testing.assert_array_equal(found.sets, expected.predict_set(found.proba, 0.9))


def test_error_of_decided_samples_is_bounded(model, data):
    chosen = choose_confidence(model.oof_.proba, model.oof_.y, 0.15)
    found = model.classify(data[2], max_error=0.15)
    np.testing.assert_array_equal(found.is_decided, found.confidence >= chosen.confidence)
    assert 0.1 < found.is_decided.mean() < 1
    # The standard error of the share of errors of 300 samples is 0.02.
    assert (found.labels != data[3])[found.is_decided].mean() <= 0.15 + 0.04


def test_error_is_that_of_the_labels_that_the_model_decides_for(data):
    """They need not be the most probable ones, and their confidence may be below one half."""
    decision = Decision("cost", cost_matrix=[[0, 1, 1], [8, 0, 8], [1, 1, 0]])
    model = TextClassifier("nb", decision=decision).fit(data[0], data[1])
    oof, found = model.oof_, model.classify(data[2], max_error=0.2)
    predicted = model.decision_.apply(oof.proba)
    assert (predicted != oof.proba.argmax(axis=1)).any()
    chosen = choose_confidence(oof.proba, oof.y, 0.2, predicted=predicted)
    assert model.make_rule(max_error=0.2).threshold == chosen
    columns = np.searchsorted(model.classes_, found.labels)
    confidence = found.proba[np.arange(len(found)), columns]
    np.testing.assert_array_equal(found.is_decided, confidence >= chosen.confidence)


def test_a_rule_is_made_once_for_many_samples(model, data):
    rule = model.make_rule(coverage=0.9, max_error=0.15, unknown=0.02)
    whole = model.classify(data[2], coverage=0.9, max_error=0.15, unknown=0.02)
    parts = [model.apply_rule(data[2][i : i + 100], rule) for i in (0, 100, 200)]
    for name in ("labels", "sets", "is_decided", "is_in_scope"):
        found = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(whole, name))


def test_labels_of_samples_without_decision_are_replaced():
    found = Predictions(
        labels=np.array([1, 2, 2]),
        proba=np.array([[0.6, 0.4], [0.1, 0.9], [0.2, 0.8]]),
        classes=np.array([1, 2]),
        is_decided=np.array([False, True, False]),
        is_in_scope=np.array([True, True, False]),
    )
    assert found.decided_labels() == ["__undecided__", 2, "__unknown__"]
    assert found.to_frame()["label"].tolist() == ["__undecided__", 2, "__unknown__"]
    with pytest.raises(ValueError, match="there are no prediction sets"):
        found.label_sets()


def test_frame_has_sets():
    found = Predictions(
        labels=np.array(["a", "b"]),
        proba=np.array([[0.6, 0.4], [0.1, 0.9]]),
        classes=np.array(["a", "b"]),
        sets=np.array([[True, True], [False, True]]),
    )
    frame = found.to_frame()
    assert frame["set"].tolist() == ["a|b", "b"]
    assert frame["is_single"].tolist() == [False, True]


def test_unknown_samples_are_not_in_scope(model):
    found = model.classify(["w1 w2 w3", "entirely different words here"], unknown=0.05)
    assert found.is_in_scope.tolist() == [True, False]
    assert found.decided_labels()[1] == "__unknown__"


def test_decisions_survive_a_model_file(model, data, tmp_path):
    model.save(tmp_path / "model", precision="full")
    loaded = cordwood.load(tmp_path / "model")
    options = {"coverage": 0.9, "max_error": 0.15, "unknown": 0.02}
    expected = model.classify(data[2], **options)
    found = loaded.classify(data[2], **options)
    # Out-of-fold predictions are stored in half precision.
    assert (found.sets == expected.sets).mean() > 0.99
    assert (found.is_decided == expected.is_decided).mean() > 0.98
    assert (found.is_in_scope == expected.is_in_scope).mean() > 0.98


def test_empty_input(model):
    found = model.classify([], coverage=0.9, min_confidence=0.5, unknown=0.1)
    assert found.sets.shape == (0, 3)
    assert found.decided_labels() == []


def test_predictions_without_options_have_no_decisions(model, data):
    found = model.classify(data[2][:3])
    assert found.sets is found.is_decided is found.is_in_scope is None


def test_invalid_arguments_raise(model):
    with pytest.raises(ValueError, match="min_confidence and max_error are alternatives"):
        model.make_rule(min_confidence=0.5, max_error=0.1)
    with pytest.raises(ValueError, match="class_conditional requires coverage"):
        model.make_rule(class_conditional=True)
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        model.make_rule(coverage=95)
    with pytest.raises(ValueError, match="unknown must be between 0 and 1"):
        model.make_rule(unknown=2)
    with pytest.raises(ValueError, match="min_confidence must be between 0 and 1; got 70"):
        model.classify([], min_confidence=70)


@pytest.mark.parametrize("options", [{"coverage": 0.9}, {"max_error": 0.1}, {"unknown": 0.1}])
def test_model_without_out_of_fold_predictions_raises(data, options):
    model = TextClassifier("svm").fit(data[0], data[1])
    with pytest.raises(DataError, match="requires out-of-fold predictions"):
        model.classify(data[2], **options)
