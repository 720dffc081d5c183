"""Several labels per sample in `train`, `predict`, `evaluate` and model files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from cordwood.api import MultiLabelPredictions, evaluate, predict, score_multilabel, train
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    label_ranking_average_precision_score,
    precision_recall_fscore_support,
)

from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_split_labels
from cordwood.exceptions import CordwoodError, DataError
from cordwood.persist import TrainingRecord, load_with_card, save

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
    return train(CORPUS, recipe="svm")


def test_train_predict_and_evaluate(model):
    predictions = predict(model, TEST)
    assert isinstance(predictions, MultiLabelPredictions)
    assert predictions.classes.tolist() == ["gas", "grain", "oil"]
    assert np.array_equal(predictions.indicators, model.predict(TEST.texts))
    evaluation = evaluate(model, TEST)
    assert evaluation.micro_f1 > 0.9
    assert str(evaluation).startswith("micro F1 ")
    assert json.loads(json.dumps(evaluation.to_dict()))["n_samples"] == 40
    assert evaluation.to_frame().loc["oil", "support"] == sum("oil" in each for each in TEST.labels)


def test_the_default_recipe_is_a_stack_of_several_labels():
    stack = train(CORPUS, encoder=None)
    assert stack[-1].oof_source_ == {"nbsvm": "cv", "nb": "cv", "knn": "loo", "rf": "oob"}
    assert evaluate(stack, TEST).micro_f1 > 0.9


def test_lists_and_sets_of_labels_train_the_same_model(model):
    for collection in (list, set):
        other = train(CORPUS.texts, [collection(each) for each in CORPUS.labels], recipe="svm")
        expected = predict(model, TEST).probabilities
        assert np.array_equal(predict(other, TEST).probabilities, expected)


def test_a_feature_matrix_may_have_several_labels(model):
    X = model[-1]._shared_steps[1][0][1].transform(CORPUS.texts)
    matrix = FeatureMatrix(X=X.tocsr(), ids=CORPUS.ids, labels=CORPUS.labels)
    trained = train(matrix, recipe="svm")
    assert evaluate(trained, matrix).micro_f1 > 0.9


def test_labels_are_sorted_by_probability(model):
    predictions = predict(model, TEST)
    columns = {label: i for i, label in enumerate(predictions.classes.tolist())}
    for labels, proba, indicators in zip(
        predictions.labels, predictions.probabilities, predictions.indicators, strict=True
    ):
        values = [proba[columns[label]] for label in labels]
        assert values == sorted(values, reverse=True)
        assert len(labels) == indicators.sum()


def test_an_empty_batch_has_no_predictions(model):
    assert len(predict(model, [])) == 0


def test_thresholds_can_be_fixed():
    model = train(CORPUS, recipe="svm", threshold=0.4, min_labels=0)
    assert model[-1].thresholds_.tolist() == [0.4] * 3
    assert model[-1].min_labels_ == 0


def test_model_files(model, tmp_path):
    path = save(
        model,
        tmp_path / "model.cordwood",
        precision="full",
        provenance=TrainingRecord(recipe="svm"),
    )
    loaded, card = load_with_card(path)
    assert card.classes == ("gas", "grain", "oil")
    expected, found = predict(model, TEST), predict(loaded, TEST)
    assert np.array_equal(found.probabilities, expected.probabilities)
    assert found.labels == expected.labels


def test_compact_model_files_hardly_change_probabilities(model, tmp_path):
    loaded, _ = load_with_card(save(model, tmp_path / "model.cordwood"))
    difference = predict(loaded, TEST).probabilities - predict(model, TEST).probabilities
    assert np.abs(difference).max() < 0.005


def random_predictions(seed, n_samples=60, n_labels=5):
    rng = np.random.default_rng(seed)
    probabilities = rng.random((n_samples, n_labels)).round(1)
    return MultiLabelPredictions(
        indicators=(probabilities > 0.6).astype(np.int64),
        probabilities=probabilities,
        classes=np.array([*"abcde"]),
    ), rng.random((n_samples, n_labels)) < 0.3


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_scikit_learn(seed, is_weighted):
    predictions, Y = random_predictions(seed)
    y_true = [tuple(predictions.classes[row]) for row in Y]
    weights = np.random.default_rng(seed).random(len(Y)) if is_weighted else None
    found = score_multilabel(y_true, predictions, weights)
    y_pred = predictions.indicators
    params = {"sample_weight": weights}
    assert found.micro_f1 == pytest.approx(f1_score(Y, y_pred, average="micro", **params))
    assert found.macro_f1 == pytest.approx(f1_score(Y, y_pred, average="macro", **params))
    expected = f1_score(Y, y_pred, average="samples", zero_division=1.0, **params)
    assert found.samples_f1 == pytest.approx(expected)
    assert found.subset_accuracy == pytest.approx(accuracy_score(Y, y_pred, **params))
    ranking = label_ranking_average_precision_score(Y, predictions.probabilities, **params)
    assert found.ranking_precision == pytest.approx(ranking)
    by_label = np.array(precision_recall_fscore_support(Y, y_pred, zero_division=0.0, **params))
    shown = np.array([[*vars(each).values()][1:] for each in found.classes], float).T
    assert np.allclose(shown[:3], by_label[:3])
    assert np.array_equal(shown[3], Y.sum(axis=0))


def test_labels_that_are_not_in_the_training_set_count_as_errors():
    predictions, _ = random_predictions(0, n_samples=2)
    y_true = [(*each, "z") for each in predictions.labels]
    found = score_multilabel(y_true, predictions)
    assert found.unseen_labels == {"z": 2}
    assert found.subset_accuracy == 0
    n_found = predictions.indicators.sum()
    assert found.micro_f1 == pytest.approx(2 * n_found / (2 * n_found + 2))


def test_a_test_set_of_single_labels_is_accepted(model):
    single = Corpus(texts=["crude barrel opec"], ids=["1"], labels=["oil"])
    assert evaluate(model, single).micro_f1 == 1.0


def test_a_model_of_one_label_rejects_lists_of_labels():
    labels = [each[0] for each in CORPUS.labels]
    single = train(CORPUS.texts, labels, recipe="nb")
    with pytest.raises(DataError, match="predicts one label per sample"):
        evaluate(single, TEST)


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
        train(["x", "y", "z"], labels, recipe="svm")


def test_weights_and_groups_of_a_corpus_are_used():
    n_samples = len(CORPUS)
    weights = np.where(["oil" in labels for labels in CORPUS.labels], 5.0, 1.0)
    weighted = replace(CORPUS, weights=tuple(weights))
    first = train(weighted, recipe="svm", groups=np.arange(n_samples) // 2)
    second = train(CORPUS, recipe="svm", groups=np.arange(n_samples) // 2, sample_weight=weights)
    proba = predict(first, TEST).probabilities
    assert np.array_equal(proba, predict(second, TEST).probabilities)
    assert not np.array_equal(proba, predict(train(CORPUS, recipe="svm"), TEST).probabilities)
    test = replace(TEST, weights=(1.0,) * 20 + (0.0,) * 20)
    assert evaluate(first, test).micro_f1 == evaluate(first, TEST.select(range(20))).micro_f1
    with pytest.raises(CordwoodError, match="its members lazy_rf, lazy_et cannot"):
        train(weighted, recipe="stack_forests", encoder=None)


def test_out_of_fold_predictions_require_one_label():
    with pytest.raises(CordwoodError, match="oof requires one label"):
        train(CORPUS, recipe="svm", oof=True)


def test_split_labels():
    corpus = Corpus(texts=["a", "b", "c"], ids=[*"123"], labels=["oil| gas", "oil|oil", "|"])
    assert with_split_labels(corpus, "|").labels == (("oil", "gas"), ("oil",), ())
    with pytest.raises(DataError, match="lists already"):
        with_split_labels(CORPUS, "|")
    with pytest.raises(CordwoodError, match="separator"):
        with_split_labels(corpus, "")
