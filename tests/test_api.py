import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, f1_score

from cordwood.api import evaluate, predict, score, train
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError

TEXTS = ["red apple", "ripe apple", "apple pie", "fast car", "car engine", "red car", "car wheel"]
LABELS = ["fruit", "fruit", "fruit", "auto", "auto", "auto", "auto"]
CORPUS = Corpus(texts=tuple(TEXTS), ids=tuple("abcdefg"), labels=tuple(LABELS))


@pytest.fixture(scope="module")
def model():
    return train(CORPUS, random_state=0)


def matrix(n_features=3):
    X = sp.csr_array(np.array([[1, 0, 3], [2, 0, 1], [0, 5, 0], [0, 4, 0]], dtype=float))
    X.resize(4, n_features)
    return FeatureMatrix(X=X, ids=tuple("1234"), labels=("x", "x", "y", "y"))


def test_a_corpus_and_its_lists_give_the_same_model(model):
    twin = train(TEXTS, LABELS, random_state=0)
    new = ["an apple", "a wheel", ""]
    assert np.array_equal(predict(model, new).probabilities, predict(twin, new).probabilities)


def test_predictions_are_those_of_the_model(model):
    found = predict(model, CORPUS)
    assert found.labels.tolist() == model.predict(TEXTS).tolist()
    assert found.classes.tolist() == ["auto", "fruit"]
    assert np.array_equal(found.probabilities, model.predict_proba(TEXTS))
    own = [
        found.probabilities[row, list(found.classes).index(label)]
        for row, label in enumerate(found.labels)
    ]
    assert found.confidence.tolist() == own
    assert len(found) == 7


def test_no_rows_give_no_predictions(model):
    found = predict(model, [])
    assert len(found) == 0
    assert found.probabilities.shape == (0, 2)


def test_parameters_reach_the_recipe():
    assert train(TEXTS, LABELS, cv=2).get_params()["classifier__cv"] == 2


labels = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abce")), min_size=1, max_size=30
)


@given(labels)
@settings(deadline=None, max_examples=100)
def test_scores_are_those_of_scikit_learn(pairs):
    truth, predicted = map(list, zip(*pairs, strict=True))
    found = score(truth, predicted, known="abce")
    names = sorted({*truth, *predicted})
    assert found.n == len(pairs)
    assert found.labels == tuple(names)
    assert found.micro_f1 == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert found.micro_f1 == pytest.approx(accuracy_score(truth, predicted))
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
    assert found.unknown == ({"d": truth.count("d")} if "d" in truth else {})


def test_confused_pairs_are_the_commonest_errors_first():
    truth = ["a"] * 5 + ["b"] * 4 + ["c"] * 2
    predicted = ["a", "a", "b", "b", "b", "c", "c", "a", "b", "c", "c"]
    assert score(truth, predicted, known="abc").confused_pairs(2) == [("a", "b", 3), ("b", "c", 2)]
    assert score(["a", "b"], ["a", "b"], known="ab").confused_pairs() == []


def test_evaluation_goes_through_json(model):
    found = evaluate(model, CORPUS)
    record = json.loads(json.dumps(found.to_dict()))
    assert record["micro_f1"] == 1.0
    assert record["confusion"] == [[4, 0], [0, 3]]
    assert record["classes"][0] == {
        "label": "auto",
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "support": 4,
    }


def test_labels_that_the_model_never_saw_are_counted_as_errors(model):
    found = evaluate(model, ["apple", "car", "pear"], ["fruit", "auto", "pear"])
    assert found.unknown == {"pear": 1}
    assert found.micro_f1 == pytest.approx(2 / 3)
    assert len(found.classes) == 3


def test_labels_of_another_type_are_refused(model):
    with pytest.raises(DataError, match="different types"):
        evaluate(model, ["apple", "car"], [1, 2])


def test_numbers_are_learnt_and_labelled():
    fitted = train(matrix())
    assert predict(fitted, matrix()).labels.tolist() == ["x", "x", "y", "y"]
    assert evaluate(fitted, matrix()).micro_f1 == 1.0


def test_sparse_rows_are_as_wide_as_their_last_number():
    fitted = train(matrix())
    # An svmlight file in which nobody uses the third column.
    narrow = replace(matrix(), X=matrix().X[:, :2])
    padded = sp.hstack([narrow.X, sp.csr_array((4, 1))]).tocsr()
    assert np.array_equal(
        predict(fitted, narrow).probabilities,
        predict(fitted, replace(narrow, X=padded)).probabilities,
    )
    with pytest.warns(UserWarning, match="5 columns and the model knows the first 3"):
        wide = predict(fitted, matrix(n_features=5))
    assert np.array_equal(wide.probabilities, predict(fitted, matrix()).probabilities)


def test_dense_rows_must_have_the_models_columns():
    fitted = train(matrix())
    with pytest.raises(DataError, match="have 2 columns; the model knows 3"):
        predict(fitted, replace(matrix(), X=np.ones((4, 2))))


def test_text_and_numbers_are_not_mixed_up(model):
    with pytest.raises(DataError, match="trained on text"):
        predict(model, matrix())
    with pytest.raises(DataError, match="trained on rows of numbers"):
        predict(train(matrix()), TEXTS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (replace(CORPUS, labels=("fruit",) * 7), "all 7 rows have the label 'fruit'"),
        (replace(CORPUS, labels=None), "these rows have none"),
        (replace(CORPUS, labels=(("a", "b"),) * 7), "recipe 'quick' learns from one label a row"),
        (CORPUS.select([]), "no rows came"),
    ],
)
def test_rows_that_cannot_be_learnt_from_get_one_sentence(data, message):
    with pytest.raises(DataError, match=message):
        train(data)


def test_what_an_estimator_refuses_is_an_error_that_the_user_can_mend():
    with pytest.raises(CordwoodError, match="recipe 'svm' cannot be trained like this: C must be"):
        train(TEXTS, LABELS, recipe="svm", C=-1.0)


def test_labels_must_come_one_way_and_one_a_text(model):
    with pytest.raises(TypeError, match="brings its own labels"):
        train(CORPUS, LABELS)
    with pytest.raises(TypeError, match="texts need labels"):
        train(TEXTS)
    with pytest.raises(DataError, match="here are 7 texts"):
        train(TEXTS, LABELS[:-1])
    with pytest.raises(DataError, match="no rows to evaluate"):
        evaluate(model, [], [])
