"""Several labels per sample: training, prediction, evaluation, decisions and model files."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import cordwood
from cordwood import Decision, TextClassifier
from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_split_labels
from cordwood.exceptions import CordwoodError, DataError

WORDS = {
    "gas": ["pipeline", "methane", "cubic"],
    "grain": ["wheat", "corn", "harvest"],
    "oil": ["crude", "barrel", "opec"],
}


def make_corpus(n_samples=90, seed=0):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_samples):
        chosen = rng.choice([*WORDS], rng.integers(1, 3), replace=False).tolist()
        words = [rng.choice(WORDS[label]) for label in chosen for _ in range(4)]
        words += rng.choice(["market", "price", "week", "said"], 6).tolist()
        texts.append(" ".join(words))
        labels.append(tuple(chosen))
    return Corpus(texts=texts, ids=[str(i) for i in range(n_samples)], labels=labels)


CORPUS, TEST = make_corpus(), make_corpus(40, seed=1)


@pytest.fixture(scope="module")
def model():
    return TextClassifier("svm").fit(CORPUS)


def test_predict_and_evaluate(model):
    predictions = model.classify(TEST)
    assert predictions.classes.tolist() == ["gas", "grain", "oil"]
    assert np.array_equal(predictions.indicators, model.estimator_.predict(TEST.texts))
    assert predictions.labels.tolist() == model.predict(TEST.texts).tolist()
    evaluation = model.evaluate(TEST)
    assert evaluation.is_multilabel
    assert evaluation.scores["micro_f1"] > 0.9
    assert "  micro F1  " in str(evaluation)
    assert json.loads(json.dumps(evaluation.to_dict()))["n_samples"] == 40
    assert evaluation.to_frame().loc["oil", "support"] == sum("oil" in each for each in TEST.labels)


def test_the_default_recipe_is_a_stack_of_several_labels():
    stack = TextClassifier().fit(CORPUS)
    sources = {"nbsvm": "cv", "nb": "cv", "knn": "loo", "rf": "oob"}
    assert {each.name: each.oof_source for each in stack.members_} == sources
    assert stack.oof_.sources == sources
    assert stack.evaluate(TEST).scores["micro_f1"] > 0.9


def test_lists_and_sets_of_labels_train_the_same_model(model):
    for collection in (list, set):
        labels = [collection(each) for each in CORPUS.labels]
        other = TextClassifier("svm").fit(CORPUS.texts, labels)
        assert np.array_equal(other.predict_proba(TEST), model.predict_proba(TEST))


@pytest.mark.parametrize("convert", [np.array, sp.csr_array, sp.csr_matrix])
def test_indicators_train_the_same_model(model, convert):
    """Indicators are given, predicted and scored; columns are labels."""
    Y, Y_test = (
        np.array([[label in each for label in model.classes_] for each in corpus.labels], int)
        for corpus in (CORPUS, TEST)
    )
    other = TextClassifier("svm").fit(CORPUS.texts, convert(Y))
    assert other.target_kind_ == "indicators"
    assert other.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(other.predict_proba(TEST), model.predict_proba(TEST))
    predicted = other.predict(TEST)
    assert predicted.dtype == np.int64
    assert np.array_equal(predicted, model.classify(TEST).indicators)
    expected = (predicted == Y_test).all(axis=1).mean()
    assert other.score(TEST.texts, convert(Y_test)) == pytest.approx(expected)
    assert other.score(TEST.texts, convert(Y_test)) == pytest.approx(model.score(TEST))


def test_a_feature_matrix_may_have_several_labels(model):
    X = model.view.vectorizer.transform(CORPUS.texts)
    matrix = FeatureMatrix(X=X.tocsr(), ids=CORPUS.ids, labels=CORPUS.labels)
    assert TextClassifier("svm").fit(matrix).evaluate(matrix).scores["micro_f1"] > 0.9


def test_labels_are_sorted_by_probability(model):
    predictions = model.classify(TEST)
    columns = {label: i for i, label in enumerate(predictions.classes.tolist())}
    for labels, proba, indicators in zip(
        predictions.labels, predictions.proba, predictions.indicators, strict=True
    ):
        values = [proba[columns[label]] for label in labels]
        assert values == sorted(values, reverse=True)
        assert len(labels) == indicators.sum()


def test_an_empty_batch_has_no_predictions(model):
    assert len(model.classify([])) == 0
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 3)


def test_labels_follow_from_thresholds(model):
    """Without a decision, thresholds of highest F1; every training sample has a label."""
    decision = model.decision_
    expected = model.predict_proba(TEST) >= decision.thresholds
    found = model.classify(TEST)
    assert decision.min_labels == 1
    has_label = expected.any(axis=1)
    assert np.array_equal(found.indicators[has_label], expected[has_label])
    most_probable = found.proba.argmax(axis=1)
    assert found.indicators[np.arange(len(TEST)), most_probable].all()
    same = TextClassifier("svm", decision="f1").fit(CORPUS)
    assert np.array_equal(same.decision_.thresholds, decision.thresholds)


def test_thresholds_can_be_fixed():
    fixed = Decision(threshold=0.4, min_labels=0)
    model = TextClassifier("svm", decision=fixed).fit(CORPUS)
    assert model.decision_.thresholds.tolist() == [0.4] * 3
    assert model.decision_.min_labels == 0
    assert np.array_equal(model.classify(TEST).indicators, model.predict_proba(TEST) >= 0.4)
    two = TextClassifier("svm", decision=Decision(threshold=0.99, min_labels=2)).fit(CORPUS)
    assert two.classify(TEST).indicators.sum(axis=1).min() == 2


@pytest.mark.parametrize(
    "decision",
    [
        Decision("precision", precision=0.9),
        Decision("cost", cost_matrix=np.eye(3)),
        Decision("f1", pos_label="oil"),
    ],
)
def test_decisions_of_one_label_raise(decision):
    with pytest.raises(CordwoodError, match="requires one label per sample; omit it"):
        TextClassifier("svm", decision=decision).fit(CORPUS)


def test_class_weights_require_one_label():
    with pytest.raises(CordwoodError, match="class_weight requires one label per sample"):
        TextClassifier("svm", class_weight="balanced").fit(CORPUS)


def test_prediction_sets_require_one_label(model):
    for options in ({"coverage": 0.9}, {"max_error": 0.1}, {"min_confidence": 0.5}):
        with pytest.raises(DataError, match="requires one label per sample"):
            model.classify(TEST, **options)


def test_model_files(model, tmp_path):
    model.save(tmp_path / "model.cordwood", precision="full")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert loaded.classes_.tolist() == ["gas", "grain", "oil"]
    assert np.array_equal(loaded.predict_proba(TEST), model.predict_proba(TEST))
    assert loaded.predict(TEST).tolist() == model.predict(TEST).tolist()


def test_compact_model_files_hardly_change_probabilities(model, tmp_path):
    model.save(tmp_path / "model.cordwood")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert np.abs(loaded.predict_proba(TEST) - model.predict_proba(TEST)).max() < 0.005


def test_a_test_set_of_single_labels_is_accepted(model):
    single = Corpus(texts=["crude barrel opec"], ids=["1"], labels=["oil"])
    assert model.evaluate(single).scores["micro_f1"] == 1.0


def test_a_model_of_one_label_rejects_lists_of_labels():
    labels = [each[0] for each in CORPUS.labels]
    single = TextClassifier("nb").fit(CORPUS.texts, labels)
    with pytest.raises(DataError, match="several labels per sample, but the model predicts one"):
        single.evaluate(TEST)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([["a"], "b", ["c"]], DataError, r"labels\[1\] is of type str"),
        ([[], [], []], DataError, "has no labels"),
        ([["a"], [None], ["b"]], DataError, r"labels\[1\]"),
        ([["a"], [1], ["b"]], DataError, "different types"),
    ],
)
def test_invalid_labels(labels, error, message):
    with pytest.raises(error, match=message):
        TextClassifier("svm").fit(["x", "y", "z"], labels)


def test_weights_and_groups_of_a_corpus_are_used():
    n_samples = len(CORPUS)
    weights = np.where(["oil" in labels for labels in CORPUS.labels], 5.0, 1.0)
    weighted = replace(CORPUS, weights=tuple(weights))
    groups = np.arange(n_samples) // 2
    first = TextClassifier("svm").fit(weighted, groups=groups)
    second = TextClassifier("svm").fit(CORPUS, groups=groups, sample_weight=weights)
    plain = TextClassifier("svm").fit(CORPUS)
    proba = first.predict_proba(TEST)
    assert np.array_equal(proba, second.predict_proba(TEST))
    assert not np.array_equal(proba, plain.predict_proba(TEST))
    test = replace(TEST, weights=(1.0,) * 20 + (0.0,) * 20)
    scores = [first.evaluate(each).scores for each in (test, TEST.select(range(20)))]
    assert scores[0]["micro_f1"] == pytest.approx(scores[1]["micro_f1"])


def test_members_of_a_stack_without_weights_are_left_out(caplog):
    weighted = replace(CORPUS, weights=(1.0,) * len(CORPUS))
    params = {"members": ["nbsvm", "lazy_rf", "rf"], "lazy_rf__n_estimators": 5}
    model = TextClassifier(recipe_params=params).fit(weighted)
    assert [each.name for each in model.members_] == ["nbsvm", "rf"]
    assert (
        "recipe 'quick' is fitted without lazy_rf, which cannot use sample weights" in caplog.text
    )


def test_weights_of_a_stack():
    weights = np.where(["oil" in labels for labels in CORPUS.labels], 5.0, 1.0)
    plain = TextClassifier().fit(CORPUS)
    weighted = TextClassifier().fit(CORPUS, sample_weight=weights)
    assert [each.name for each in weighted.members_] == [each.name for each in plain.members_]
    means = [each.predict_proba(TEST)[:, 2].mean() for each in (plain, weighted)]
    assert means[1] > means[0]


def test_out_of_fold_predictions_are_those_of_the_classifier(model):
    assert model.oof_.is_multilabel
    assert np.array_equal(model.oof_.proba, model.estimator_[-1].oof_proba_)
    Y = np.array([[label in each for label in model.classes_] for each in CORPUS.labels])
    assert np.array_equal(model.oof_.y, Y)
    decided = model.decision_.apply(model.oof_.proba)
    assert model.evaluation_.accuracy == pytest.approx((decided == Y).all(axis=1).mean())


def test_split_labels():
    corpus = Corpus(texts=["a", "b", "c"], ids=[*"123"], labels=["oil| gas", "oil|oil", "|"])
    assert with_split_labels(corpus, "|").labels == (("oil", "gas"), ("oil",), ())
    with pytest.raises(DataError, match="lists already"):
        with_split_labels(CORPUS, "|")
    with pytest.raises(CordwoodError, match="separator"):
        with_split_labels(corpus, "")
