"""Scores from out-of-fold predictions, with intervals and baselines."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from cordwood.metrics.resampled_scores import compute_scores, resample_scores
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import cordwood
from cordwood.metrics import oof_evaluation
from cordwood.metrics import resampled_scores as _resampled_scores
from cordwood.metrics.baselines import MAJORITY, SVM, TFIDF_SVM, predict_linear
from cordwood.oof import OOFPredictions, compute_oof


def make_oof(n_samples=400, n_classes=3, signal=1.5, groups=None, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    y[:n_classes] = np.arange(n_classes)
    scores = rng.normal(size=(n_samples, n_classes)) + signal * (np.arange(n_classes) == y[:, None])
    proba = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return OOFPredictions(
        proba=proba, y=y, classes=np.array(list("abcdefgh")[:n_classes]), sources={"svm": "cv"},
        groups=groups,
    )  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_scores_match_sklearn(n_classes):
    oof = make_oof(n_classes=n_classes)
    scores = oof_evaluation(oof).scores
    assert scores.accuracy.value == pytest.approx(accuracy_score(oof.y_true, oof.y_pred))
    assert scores.macro_f1.value == pytest.approx(f1_score(oof.y_true, oof.y_pred, average="macro"))
    assert scores.log_loss.value == pytest.approx(log_loss(oof.y, oof.proba))
    by_class = {each.label: each for each in oof_evaluation(oof).classes}
    expected = f1_score(oof.y_true, oof.y_pred, average=None)
    for label, f1 in zip(oof.classes, expected, strict=True):
        assert by_class[label].f1.value == pytest.approx(f1)
        assert by_class[label].support == np.sum(oof.y_true == label)


def test_calibration_error_matches_a_loop_over_bins():
    oof = make_oof(n_samples=450)
    confidence, correct = oof.proba.max(axis=1), oof.y_pred == oof.y_true
    bins = np.array_split(np.argsort(confidence), 15)
    gaps = [abs(correct[each].mean() - confidence[each].mean()) for each in bins]
    assert oof_evaluation(oof).scores.calibration_error.value == pytest.approx(np.mean(gaps))


@pytest.mark.parametrize("grouped", [False, True])
def test_resamples_match_a_loop(grouped):
    groups = np.arange(400) // 8 if grouped else None
    oof = make_oof(groups=groups)
    found = resample_scores(oof.proba, oof.y, groups, 100, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    n_units = 50 if grouped else 400
    drawn = np.vstack([rng.integers(0, n_units, size=(n, n_units)) for n in (64, 36)])
    for number in (0, 63, 64, 99):
        if grouped:
            taken = np.concatenate([np.flatnonzero(groups == unit) for unit in drawn[number]])
        else:
            taken = drawn[number]
        y, predicted = oof.y[taken], oof.proba[taken].argmax(axis=1)
        assert found.accuracy[number] == pytest.approx(np.mean(y == predicted))
        assert found.macro_f1[number] == pytest.approx(f1_score(y, predicted, average="macro"))
        assert found.log_loss[number] == pytest.approx(log_loss(y, oof.proba[taken]))


def test_intervals_cover_the_true_accuracy():
    # The accuracy on 100,000 samples is nearly that of the population.
    truth = oof_evaluation(make_oof(100_000, seed=1000), n_resamples=2).scores
    found = [oof_evaluation(make_oof(300, seed=seed), n_resamples=300) for seed in range(200)]
    for name in ("accuracy", "macro_f1", "log_loss"):
        intervals = [getattr(each.scores, name) for each in found]
        value = getattr(truth, name).value
        covered = np.mean([each.low <= value <= each.high for each in intervals])
        assert 0.90 <= covered <= 0.99, name


def test_groups_widen_intervals():
    oof = make_oof(40, signal=0.5)
    repeated = OOFPredictions(
        proba=np.repeat(oof.proba, 10, axis=0),
        y=np.repeat(oof.y, 10),
        classes=oof.classes,
        sources=oof.sources,
        groups=np.repeat(np.arange(40), 10),
    )
    single, grouped = oof_evaluation(oof), oof_evaluation(repeated)
    width = single.scores.accuracy.high - single.scores.accuracy.low
    assert grouped.scores.accuracy.high - grouped.scores.accuracy.low == pytest.approx(
        width, rel=0.15
    )
    assert "bootstrap over 40 groups" in grouped.method
    assert "bootstrap over samples" in single.method


def test_perfect_predictions_have_an_interval():
    y = np.array([0, 1] * 10)
    proba = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    oof = OOFPredictions(proba=proba, y=y, classes=np.array(["a", "b"]), sources={"rf": "oob"})
    evaluation = oof_evaluation(oof)
    # All of 20 correct: the limit of Clopper and Pearson is 0.025 ** (1 / 20).
    assert evaluation.scores.accuracy.low == pytest.approx(0.8316, abs=1e-4)
    assert evaluation.scores.accuracy.high == 1
    assert evaluation.scores.macro_f1.low == pytest.approx(0.025**0.1)
    assert evaluation.classes[0].f1.low == pytest.approx(0.025**0.1)


def test_class_that_is_always_wrong_has_an_interval():
    y = np.array([0, 1] * 10 + [2] * 3)
    proba = np.where(np.minimum(y, 1)[:, None] == [0, 1, 2], 0.9, 0.05)
    oof = OOFPredictions(proba=proba, y=y, classes=np.array(list("abc")), sources={"rf": "oob"})
    weakest = oof_evaluation(oof).classes[0]
    assert weakest.label == "c"
    # None of 3 correct: the limit of Clopper and Pearson is 1 - 0.025 ** (1 / 3).
    assert (weakest.f1.low, weakest.f1.high) == (0, pytest.approx(0.7076, abs=1e-4))


def test_resamples_do_not_depend_on_the_size_of_blocks(monkeypatch):
    oof = make_oof()
    expected = oof_evaluation(oof)
    monkeypatch.setattr(_resampled_scores, "_MAX_WEIGHTS", 1000)
    assert oof_evaluation(oof) == expected


def test_weakest_classes_come_first():
    evaluation = oof_evaluation(make_oof(n_classes=7))
    values = [each.f1.value for each in evaluation.classes]
    assert values == sorted(values)
    assert evaluation.weakest_classes == evaluation.classes[:3]


def test_log_loss_is_finite_if_the_true_class_has_probability_zero():
    oof = OOFPredictions(
        proba=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        y=np.array([0, 1, 1]),
        classes=np.array(["a", "b"]),
        sources={"rf": "oob"},
    )
    assert oof_evaluation(oof).scores.log_loss.value == pytest.approx(-np.log(1e-7) / 3)


def test_linear_baseline_matches_cross_validated_pipeline():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(80)])
    y = np.arange(150) % 3
    texts = [" ".join(rng.choice(words[10 * code : 10 * code + 50], size=8)) for code in y]
    oof = make_oof(150)
    oof = OOFPredictions(proba=oof.proba, y=y, classes=oof.classes, sources=oof.sources)
    found = predict_linear(texts, oof, seed=4)[TFIDF_SVM]
    expected = cross_val_predict(
        make_pipeline(TfidfVectorizer(), LinearSVC(random_state=4)),
        texts,
        y,
        cv=StratifiedKFold(5, shuffle=True, random_state=4),
    )
    np.testing.assert_array_equal(found.argmax(axis=1), expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    # Calibrated: better than certain predictions, and than the class prior.
    assert log_loss(y, found) < min(log_loss(y, np.eye(3)[expected]), np.log(3))


def test_training_parts_without_words_have_a_linear_baseline():
    oof = make_oof(n_samples=12, n_classes=2)
    found = predict_linear(["word", *"+-*/=&?!%#;"], oof, seed=0)[TFIDF_SVM]
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_numeric_samples_have_a_linear_baseline(convert):
    X, y = make_classification(120, 6, random_state=0)
    oof = compute_oof(LogisticRegression(), X, y)
    evaluation = oof_evaluation(oof, convert(X))
    assert list(evaluation.baselines) == [SVM, MAJORITY]
    assert evaluation.baselines[SVM].accuracy.value > 0.8
    assert evaluation.baselines[MAJORITY].accuracy.value == np.bincount(y).max() / 120


def test_other_samples_have_the_majority_class_only():
    oof = make_oof(30)
    for X in ([{"a": 1}] * 30, ["!"] * 30):
        assert list(oof_evaluation(oof, X).baselines) == [MAJORITY]


def test_class_of_one_sample_in_the_baseline():
    texts = [f"{word} film {i % 5}" for i in range(15) for word in ("good", "bad")] + ["odd thing"]
    oof = compute_oof(make_pipeline(TfidfVectorizer(), LinearSVC()), texts, ["+", "-"] * 15 + ["o"])
    evaluation = oof_evaluation(oof, texts)
    assert evaluation.baselines[TFIDF_SVM].accuracy.value == pytest.approx(30 / 31)


def test_result_is_text_and_json():
    texts = [f"{word} film {i % 7}" for i in range(20) for word in ("good", "bad")]
    model = cordwood.train(texts, ["+", "-"] * 20, encoder=None)
    evaluation = oof_evaluation(model, texts)
    record = json.loads(json.dumps(evaluation.to_dict()))
    assert record["accuracy"]["value"] == evaluation.scores.accuracy.value
    assert set(record["baselines"]) == {TFIDF_SVM, MAJORITY}
    assert {each["label"] for each in record["classes"]} == {"+", "-"}
    assert evaluation.method.startswith(
        "out-of-fold predictions of 40 training samples (cross-validation of nbsvm, nb, "
        "leave-one-out of knn, out-of-bag of rf)"
    )
    assert str(evaluation).count("\n") == 7


def test_same_seed_same_result():
    oof = make_oof()
    assert oof_evaluation(oof) == oof_evaluation(oof)
    assert oof_evaluation(oof) != oof_evaluation(oof, random_state=1)


def test_invalid_arguments_raise():
    with pytest.raises(ValueError, match=r"no out-of-fold predictions; train it by cordwood.train"):
        oof_evaluation(LogisticRegression())
    with pytest.raises(ValueError, match="X has 3 samples, but the model was trained on 400"):
        oof_evaluation(make_oof(), ["a", "b", "c"])
    with pytest.raises(ValueError, match="confidence_level must be between 0 and 1; got 95"):
        oof_evaluation(make_oof(), confidence_level=95)


def test_undefined_f1_of_a_resample_is_left_out():
    scores = compute_scores(np.array([[0.9, 0.1, 0.0]]), np.array([0]))
    np.testing.assert_array_equal(scores.class_f1[:, 0], [1, np.nan, np.nan])
    assert scores.macro_f1 == 1
