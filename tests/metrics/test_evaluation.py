"""Scores of predictions and of out-of-fold predictions, with intervals and baselines."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    classification_report,
    confusion_matrix,
    f1_score,
    log_loss,
)
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from cordwood import TextClassifier
from cordwood.exceptions import DataError
from cordwood.metrics import Predictions, Score, _sums
from cordwood.metrics._sums import sum_one_label
from cordwood.metrics.baselines import (
    MAJORITY,
    SVM,
    TFIDF_SVM,
    _predict_linear,
    score_baselines,
)
from cordwood.metrics.evaluation import evaluate_oof, evaluate_predictions
from cordwood.oof import OOFPredictions
from cordwood.oof.fit import fit_with_oof


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


def predict_surely(predicted, classes):
    """Predictions of probability one."""
    labels, known = np.array(predicted), np.array(sorted(classes))
    return Predictions(labels=labels, proba=(labels[:, None] == known) * 1.0, classes=known)


labels = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abce")), min_size=1, max_size=30
)


@given(labels)
@settings(deadline=None, max_examples=100)
def test_scores_of_predictions_match_sklearn(pairs):
    truth, predicted = map(list, zip(*pairs, strict=True))
    found = evaluate_predictions(truth, predict_surely(predicted, "abce"), n_resamples=0)
    names = sorted({*truth, *predicted})
    assert found.n_samples == len(pairs)
    assert [each.label for each in found.classes] == names
    assert found.accuracy == pytest.approx(accuracy_score(truth, predicted))
    assert found.accuracy == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert found.macro_f1 == pytest.approx(
        f1_score(truth, predicted, average="macro", labels=names, zero_division=0)
    )
    if len(names) > 1:
        assert np.array_equal(found.confusion, confusion_matrix(truth, predicted, labels=names))
    else:
        assert found.confusion.tolist() == [[len(pairs)]]
    report = classification_report(
        truth, predicted, labels=names, output_dict=True, zero_division=0
    )
    for scores in found.classes:
        expected = report[scores.label]
        assert scores.precision == pytest.approx(expected["precision"])
        assert scores.recall == pytest.approx(expected["recall"])
        assert scores.f1 == pytest.approx(expected["f1-score"])
        assert scores.support == expected["support"]
    assert found.unseen_labels == ({"d": truth.count("d")} if "d" in truth else {})
    assert (found.accuracy.low, found.accuracy.high) == (None, None)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_out_of_fold_scores_match_sklearn(n_classes):
    oof = make_oof(n_classes=n_classes)
    found = evaluate_oof(oof)
    assert found.accuracy == pytest.approx(accuracy_score(oof.y_true, oof.y_pred))
    assert found.macro_f1 == pytest.approx(f1_score(oof.y_true, oof.y_pred, average="macro"))
    assert found.log_loss == pytest.approx(log_loss(oof.y, oof.proba))
    assert np.array_equal(found.confusion, confusion_matrix(oof.y_true, oof.y_pred))
    by_class = {each.label: each for each in found.classes}
    expected = f1_score(oof.y_true, oof.y_pred, average=None)
    for label, f1 in zip(oof.classes, expected, strict=True):
        assert by_class[label].f1 == pytest.approx(f1)
        assert by_class[label].support == np.sum(oof.y_true == label)


def test_scores_are_those_of_the_decided_classes():
    oof = make_oof()
    decided = (oof.proba * [1, 3, 1]).argmax(axis=1)
    found = evaluate_oof(oof, decided)
    assert found.accuracy == pytest.approx(accuracy_score(oof.y, decided))
    assert found.macro_f1 == pytest.approx(f1_score(oof.y, decided, average="macro"))
    assert np.array_equal(found.confusion, confusion_matrix(oof.y, decided))
    # A decision does not change probabilities.
    assert found.log_loss == evaluate_oof(oof).log_loss


def test_calibration_error_matches_a_loop_over_bins():
    oof = make_oof(n_samples=450)
    confidence, correct = oof.proba.max(axis=1), oof.y_pred == oof.y_true
    bins = np.array_split(np.argsort(confidence), 15)
    gaps = [abs(correct[each].mean() - confidence[each].mean()) for each in bins]
    assert evaluate_oof(oof).calibration_error == pytest.approx(np.mean(gaps))


@pytest.mark.parametrize("grouped", [False, True])
def test_resamples_match_a_loop(grouped):
    groups = np.arange(400) // 8 if grouped else None
    oof = make_oof(groups=groups)
    sums = sum_one_label(oof.proba, oof.y)
    found = sums.resample(groups, 100, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    n_units = 50 if grouped else 400
    drawn = np.vstack([rng.integers(0, n_units, size=(n, n_units)) for n in (64, 36)])
    for number in (0, 63, 64, 99):
        if grouped:
            taken = np.concatenate([np.flatnonzero(groups == unit) for unit in drawn[number]])
        else:
            taken = drawn[number]
        y, predicted = oof.y[taken], oof.proba[taken].argmax(axis=1)
        assert found["accuracy"][number] == pytest.approx(np.mean(y == predicted))
        assert found["macro_f1"][number] == pytest.approx(f1_score(y, predicted, average="macro"))
        assert found["log_loss"][number] == pytest.approx(log_loss(y, oof.proba[taken]))


@pytest.mark.parametrize("seed", range(3))
def test_limits_are_percentiles_of_resamples(seed):
    """The limits of 50 samples are those of a loop over 1,000 resamples with numpy."""
    oof = make_oof(50, seed=seed)
    predictions = Predictions(labels=oof.y_pred, proba=oof.proba, classes=oof.classes)
    found = evaluate_predictions(oof.y_true.tolist(), predictions)
    rng = np.random.default_rng(0)
    blocks = [rng.integers(0, 50, size=(n, 50)) for n in [64] * 15 + [40]]
    scores = {"log_loss": [], "macro_f1": []}
    point = f1_score(oof.y, oof.proba.argmax(axis=1), average=None)
    for taken in np.vstack(blocks):
        y, proba = oof.y[taken], oof.proba[taken]
        predicted = proba.argmax(axis=1)
        scores["log_loss"].append(log_loss(y, proba, labels=[0, 1, 2]))
        f1 = f1_score(y, predicted, average=None, labels=[0, 1, 2], zero_division=np.nan)
        scores["macro_f1"].append(np.where(np.isnan(f1), point, f1).mean())
    for name, values in scores.items():
        low, high = np.percentile(values, [2.5, 97.5])
        assert (found.scores[name].low, found.scores[name].high) == pytest.approx((low, high)), name
    n_correct = int((oof.y == oof.proba.argmax(axis=1)).sum())
    limits = stats.binomtest(n_correct, 50).proportion_ci(method="wilson")
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx(limits)


def test_limits_of_out_of_fold_predictions_are_wider():
    oof = make_oof(50)
    predictions = Predictions(labels=oof.y_pred, proba=oof.proba, classes=oof.classes)
    found, of_others = evaluate_oof(oof), evaluate_predictions(oof.y_true.tolist(), predictions)
    share = (50 + 350) / (50 + 500)
    n = round(share * 50)
    limits = stats.binomtest(round(n * found.accuracy), n).proportion_ci(method="wilson")
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx(limits, abs=0.02)
    wide, narrow = found.log_loss, of_others.log_loss
    assert wide.high - wide.low == pytest.approx((narrow.high - narrow.low) / np.sqrt(share))


def test_intervals_cover_the_true_accuracy():
    # The accuracy on 100,000 samples is nearly that of the population.
    population = make_oof(100_000, seed=1000)
    truth = sum_one_label(population.proba, population.y).compute()
    found = []
    for seed in range(200):
        oof = make_oof(300, seed=seed)
        predictions = Predictions(labels=oof.y_pred, proba=oof.proba, classes=oof.classes)
        found.append(evaluate_predictions(oof.y_true.tolist(), predictions))
    for name in ("accuracy", "macro_f1", "log_loss"):
        intervals = [each.scores[name] for each in found]
        covered = np.mean([each.low <= truth[name][0] <= each.high for each in intervals])
        assert 0.90 <= covered <= 0.99, name


def make_rare(n_frequent=100, n_rare=8):
    """Two frequent classes that are predicted, and rare classes of one sample that are not."""
    y = np.repeat(np.arange(2 + n_rare), [n_frequent, n_frequent] + [1] * n_rare)
    predicted = np.minimum(y, 1)
    proba = np.full((len(y), 2 + n_rare), 0.01)
    proba[np.arange(len(y)), predicted] = 1 - 0.01 * (1 + n_rare)
    classes = np.array([f"c{i}" for i in range(2 + n_rare)])
    return OOFPredictions(proba=proba, y=y, classes=classes, sources={"nb": "cv"})


def test_interval_of_macro_f1_contains_its_estimate_if_resamples_lack_classes():
    """A resample has on average two thirds of eight classes of one sample."""
    oof = make_rare()
    found = evaluate_oof(oof)
    expected = f1_score(oof.y, oof.proba.argmax(axis=1), average="macro")
    assert found.macro_f1 == pytest.approx(expected)
    assert found.macro_f1.low <= found.macro_f1 <= found.macro_f1.high
    # The eight classes that are always wrong do not drop out of the mean of resamples.
    assert found.macro_f1.high - found.macro_f1.low < 0.02


@given(st.integers(2, 6), st.integers(1, 25), st.floats(0, 2), st.booleans(), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_intervals_contain_their_estimates(n_classes, n_samples, signal, grouped, seed):
    oof = make_oof(n_samples + n_classes, n_classes, signal, seed=seed)
    if grouped:
        codes = np.unique(np.arange(len(oof)) // 3, return_inverse=True)[1]
        oof = replace(oof, groups=codes)
    found = evaluate_oof(oof)
    for name, score in [*found.scores.items(), *((c.label, c.f1) for c in found.classes)]:
        assert score.low <= score <= score.high, name
        assert score.low >= 0, name
        assert score.high <= 1 or name == "log_loss", name


@pytest.mark.parametrize("seed", range(3))
def test_weights_equal_repeated_samples(seed):
    oof = make_oof(60, seed=seed)
    counts = np.random.default_rng(seed).integers(0, 4, 60)
    found = Predictions(labels=oof.y_pred, proba=oof.proba, classes=oof.classes)
    weighted = evaluate_predictions(oof.y_true.tolist(), found, counts, n_resamples=0)
    repeated = Predictions(
        labels=np.repeat(oof.y_pred, counts),
        proba=np.repeat(oof.proba, counts, axis=0),
        classes=oof.classes,
    )
    expected = evaluate_predictions(np.repeat(oof.y_true, counts).tolist(), repeated, n_resamples=0)
    for name in ("accuracy", "macro_f1", "log_loss"):  # bins of samples differ from those of copies
        assert weighted.scores[name] == pytest.approx(expected.scores[name]), name
    for a, b in zip(weighted.classes, expected.classes, strict=True):
        assert (a.precision, a.recall, a.f1) == pytest.approx((b.precision, b.recall, b.f1))
    # The support counts samples, whatever their weight.
    assert [each.support for each in weighted.classes] == np.bincount(oof.y).tolist()


def test_groups_widen_intervals():
    oof = make_oof(40, signal=0.5)
    repeated = OOFPredictions(
        proba=np.repeat(oof.proba, 10, axis=0),
        y=np.repeat(oof.y, 10),
        classes=oof.classes,
        sources=oof.sources,
        groups=np.repeat(np.arange(40), 10),
    )
    single, grouped = evaluate_oof(oof), evaluate_oof(repeated)
    width = single.accuracy.high - single.accuracy.low
    assert grouped.accuracy.high - grouped.accuracy.low == pytest.approx(width, rel=0.15)
    assert "95% intervals over 40 groups" in grouped.method
    assert "groups" not in single.method


def test_groups_of_predictions_are_those_of_out_of_fold_predictions():
    groups = np.arange(400) // 8
    oof = make_oof(groups=groups)
    found = Predictions(labels=oof.y_pred, proba=oof.proba, classes=oof.classes)
    named = [f"group {i:02}" for i in groups]
    evaluation = evaluate_predictions(oof.y_true.tolist(), found, groups=named)
    assert evaluation.n_groups == 50
    found, expected = evaluation.accuracy, evaluate_oof(oof).accuracy
    assert float(found) == float(expected)
    narrower = np.sqrt(750 / 900)
    assert found.high - found.low == pytest.approx(narrower * (expected.high - expected.low))


def test_perfect_predictions_have_an_interval():
    y = np.array([0, 1] * 10)
    proba = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    oof = OOFPredictions(proba=proba, y=y, classes=np.array(["a", "b"]), sources={"rf": "oob"})
    evaluation = evaluate_oof(oof)
    # All of 20 correct, which count as this many: the limit of Wilson, 1 / (1 + z² / n).
    n = 20 * 370 / 520
    assert evaluation.accuracy.low == pytest.approx(n / (n + stats.norm.ppf(0.975) ** 2))
    assert evaluation.accuracy.high == 1
    # The limit of Clopper and Pearson for each class.
    assert evaluation.macro_f1.low == pytest.approx(0.025 ** (2 / n))
    assert evaluation.classes[0].f1.low == pytest.approx(0.025 ** (2 / n))


def test_class_that_is_always_wrong_has_an_interval():
    y = np.array([0, 1] * 10 + [2] * 3)
    proba = np.where(np.minimum(y, 1)[:, None] == [0, 1, 2], 0.9, 0.05)
    oof = OOFPredictions(proba=proba, y=y, classes=np.array(list("abc")), sources={"rf": "oob"})
    weakest = evaluate_oof(oof).weakest_classes[0]
    assert weakest.label == "c"
    # None of 3 correct, which count as this many: the limit of Clopper and Pearson.
    n = 3 * (23 + 350) / (23 + 500)
    assert (weakest.f1.low, weakest.f1.high) == (0, pytest.approx(1 - 0.025 ** (1 / n)))


def test_resamples_do_not_depend_on_the_size_of_blocks(monkeypatch):
    oof = make_oof()
    expected = evaluate_oof(oof).to_dict()
    monkeypatch.setattr(_sums, "_MAX_WEIGHTS", 1000)
    assert evaluate_oof(oof).to_dict() == expected


def test_weakest_classes_come_first():
    evaluation = evaluate_oof(make_oof(n_classes=7))
    assert [each.label for each in evaluation.classes] == list("abcdefg")
    values = sorted(each.f1 for each in evaluation.classes)
    assert [each.f1 for each in evaluation.weakest_classes] == values[:3]


def test_log_loss_is_finite_if_the_true_class_has_probability_zero():
    oof = OOFPredictions(
        proba=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        y=np.array([0, 1, 1]),
        classes=np.array(["a", "b"]),
        sources={"rf": "oob"},
    )
    assert evaluate_oof(oof).log_loss == pytest.approx(-np.log(1e-7) / 3)


def test_confused_pairs_are_sorted_by_frequency():
    truth = ["a"] * 5 + ["b"] * 4 + ["c"] * 2
    predicted = ["a", "a", "b", "b", "b", "c", "c", "a", "b", "c", "c"]
    found = evaluate_predictions(truth, predict_surely(predicted, "abc"))
    assert found.confused_pairs(2) == [("a", "b", 3), ("b", "c", 2)]
    perfect = evaluate_predictions(["a", "b"], predict_surely(["a", "b"], "ab"))
    assert perfect.confused_pairs() == []


def test_to_frame_and_str():
    evaluation = evaluate_predictions(
        ["a", "a", "b"], predict_surely(["a", "b", "b"], "ab"), n_resamples=0
    )
    frame = evaluation.to_frame()
    assert frame.index.tolist() == ["a", "b"]
    assert frame.loc["a", ["precision", "recall", "f1", "support"]].to_dict() == {
        "precision": 1.0,
        "recall": 0.5,
        "f1": pytest.approx(2 / 3),
        "support": 2,
    }
    assert str(evaluation).splitlines()[1:3] == [
        "       accuracy  macro F1  log loss  calibration error",
        "model  0.667     0.667     5.373     0.333",
    ]
    assert str(evaluation).splitlines()[-2:] == [
        "a      1.000      0.500   0.667  2",
        "b      0.500      1.000   0.667  1",
    ]
    limits = evaluate_predictions(["a", "a", "b"], predict_surely(["a", "b", "b"], "ab"))
    assert limits.to_frame()["f1_low"].tolist() == [each.f1.low for each in limits.classes]


def test_html_tables_are_escaped_and_truncated():
    labels = np.array(["<b>"] * 30)
    page = Predictions(labels=labels, proba=np.ones((30, 1)), classes=labels[:1])._repr_html_()
    assert page.count("<td>&lt;b&gt;</td>") == 20
    assert "<caption>30 predictions, the first 20</caption>" in page
    page = evaluate_predictions(["<b>", "a"], predict_surely(["a", "a"], "a"))._repr_html_()
    assert "<td>&lt;b&gt;</td><td>0.000</td>" in page
    assert "<caption>accuracy 0.500 (" in page
    assert ", macro F1 0.333 (" in page


def test_a_score_is_a_float_with_limits():
    score = Score(0.5, 0.25, 0.75)
    assert score + 0.5 == 1.0
    assert f"{score:.1f} {score}" == "0.5 0.500 (0.250 to 0.750)"
    assert json.dumps(score) == "0.5"
    assert score.to_dict() == {"value": 0.5, "low": 0.25, "high": 0.75}
    assert str(Score(0.5)) == "0.500"


def test_linear_baseline_matches_cross_validated_pipeline():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(80)])
    y = np.arange(150) % 3
    texts = [" ".join(rng.choice(words[10 * code : 10 * code + 50], size=8)) for code in y]
    oof = replace(make_oof(150), y=y)
    found = _predict_linear(texts, oof, seed=4)[TFIDF_SVM]
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
    found = _predict_linear(["word", *"+-*/=&?!%#;"], oof, seed=0)[TFIDF_SVM]
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_numeric_samples_have_a_linear_baseline(convert):
    X, y = make_classification(120, 6, random_state=0)
    _, oof = fit_with_oof(LogisticRegression(), X, y)
    baselines = score_baselines(convert(X), oof)
    assert list(baselines) == [SVM, MAJORITY]
    assert baselines[SVM]["accuracy"] > 0.8
    assert baselines[MAJORITY]["accuracy"] == np.bincount(y).max() / 120


def test_other_samples_have_the_majority_class_only():
    oof = make_oof(30)
    for X in ([{"a": 1}] * 30, ["!"] * 30):
        assert list(score_baselines(X, oof)) == [MAJORITY]


def test_class_of_one_sample_in_the_baseline():
    texts = [f"{word} film {i % 5}" for i in range(15) for word in ("good", "bad")] + ["odd thing"]
    y = np.array(["+", "-"] * 15 + ["o"])
    _, oof = fit_with_oof(make_pipeline(TfidfVectorizer(), LinearSVC()), texts, y)
    assert score_baselines(texts, oof)[TFIDF_SVM]["accuracy"] == pytest.approx(30 / 31)


def test_baselines_of_other_samples_raise():
    with pytest.raises(ValueError, match="X has 3 samples, but the model was trained on 400"):
        score_baselines(["a", "b", "c"], make_oof())


def test_result_is_text_and_json():
    texts = [f"{word} film {i % 7}" for i in range(20) for word in ("good", "bad")]
    model = TextClassifier().fit(texts, ["+", "-"] * 20)
    evaluation = replace(model.evaluation_, baselines=score_baselines(texts, model.oof_))
    record = json.loads(json.dumps(evaluation.to_dict()))
    assert record["accuracy"]["value"] == evaluation.accuracy
    assert set(record["baselines"]) == {TFIDF_SVM, MAJORITY}
    assert {each["label"] for each in record["classes"]} == {"+", "-"}
    assert evaluation.method.startswith(
        "out-of-fold predictions of 40 training samples (cross-validation of nbsvm, nb, knn, rf)"
    )
    assert str(evaluation).count("\n") == 7


def test_words_of_caution_with_few_samples():
    few, many = (evaluate_oof(make_oof(n)) for n in (16, 2000))
    low, high = round(100 * few.accuracy.low), round(100 * few.accuracy.high)
    assert f"so few samples show little: the accuracy may be anything from {low} to {high} %" in (
        few.method
    )
    assert "few" not in many.method


def test_same_predictions_same_result():
    assert evaluate_oof(make_oof()).to_dict() == evaluate_oof(make_oof()).to_dict()


def test_classes_that_do_not_occur_are_left_out():
    scores = sum_one_label(np.array([[0.9, 0.1, 0.0]]), np.array([0])).compute()
    np.testing.assert_array_equal(scores["class_f1"][:, 0], [1, np.nan, np.nan])
    assert scores["macro_f1"] == 1
    oof = OOFPredictions(
        proba=np.array([[0.9, 0.1, 0.0]] * 3),
        y=np.zeros(3, np.intp),
        classes=np.array(["a", "b", "c"]),
        sources={"nb": "cv"},
    )
    assert [each.label for each in evaluate_oof(oof).classes] == ["a"]


def test_weights_of_zero_raise():
    with pytest.raises(DataError, match="all sample weights are 0; at least one must be non-zero"):
        evaluate_predictions(["a", "b"], predict_surely(["a", "b"], "ab"), [0, 0])
