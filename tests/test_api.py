import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cordwood.api import Predictions, evaluate, predict, score, train
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, f1_score
from sklearn.naive_bayes import MultinomialNB

from cordwood import recipes
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.persist import save

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


def test_corpus_and_lists_train_the_same_model(model):
    other = train(TEXTS, LABELS, random_state=0)
    new = ["an apple", "a wheel", ""]
    assert np.array_equal(predict(model, new).probabilities, predict(other, new).probabilities)


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


def test_predict_accepts_no_samples(model):
    found = predict(model, [])
    assert len(found) == 0
    assert found.probabilities.shape == (0, 2)


def test_params_are_passed_to_the_recipe():
    assert train(TEXTS, LABELS, cv=2).get_params()["classifier__cv"] == 2


labels = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abce")), min_size=1, max_size=30
)


@given(labels)
@settings(deadline=None, max_examples=100)
def test_scores_match_sklearn(pairs):
    truth, predicted = map(list, zip(*pairs, strict=True))
    found = score(truth, predicted, classes="abce")
    names = sorted({*truth, *predicted})
    assert found.n_samples == len(pairs)
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
    assert found.unseen_labels == ({"d": truth.count("d")} if "d" in truth else {})


def test_confused_pairs_are_sorted_by_frequency():
    truth = ["a"] * 5 + ["b"] * 4 + ["c"] * 2
    predicted = ["a", "a", "b", "b", "b", "c", "c", "a", "b", "c", "c"]
    assert score(truth, predicted, classes="abc").confused_pairs(2) == [
        ("a", "b", 3),
        ("b", "c", 2),
    ]
    assert score(["a", "b"], ["a", "b"], classes="ab").confused_pairs() == []


def test_evaluation_is_json_serializable(model):
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


def test_unseen_labels_count_as_errors(model):
    found = evaluate(model, ["apple", "car", "pear"], ["fruit", "auto", "pear"])
    assert found.unseen_labels == {"pear": 1}
    assert found.micro_f1 == pytest.approx(2 / 3)
    assert len(found.classes) == 3


def test_labels_of_another_type_raise(model):
    with pytest.raises(DataError, match="different types"):
        evaluate(model, ["apple", "car"], [1, 2])


def test_feature_matrix():
    fitted = train(matrix())
    assert predict(fitted, matrix()).labels.tolist() == ["x", "x", "y", "y"]
    assert evaluate(fitted, matrix()).micro_f1 == 1.0


def test_sparse_features_are_padded_or_truncated():
    fitted = train(matrix())
    # As read from an svmlight file without the third feature.
    narrow = replace(matrix(), X=matrix().X[:, :2])
    padded = sp.hstack([narrow.X, sp.csr_array((4, 1))]).tocsr()
    assert np.array_equal(
        predict(fitted, narrow).probabilities,
        predict(fitted, replace(narrow, X=padded)).probabilities,
    )
    with pytest.warns(
        UserWarning, match="has 5 features, but .* 3 features; only the first 3 are used"
    ):
        wide = predict(fitted, matrix(n_features=5))
    assert np.array_equal(wide.probabilities, predict(fitted, matrix()).probabilities)


def test_dense_features_must_match():
    fitted = train(matrix())
    with pytest.raises(
        DataError, match="X has 2 features, but the model was trained on 3 features"
    ):
        predict(fitted, replace(matrix(), X=np.ones((4, 2))))


def test_text_and_numeric_models_are_distinguished(model):
    with pytest.raises(DataError, match="trained on texts; it cannot predict a FeatureMatrix"):
        predict(model, matrix())
    with pytest.raises(DataError, match="trained on numeric features; it cannot predict texts"):
        predict(train(matrix()), TEXTS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            replace(CORPUS, labels=("fruit",) * 7),
            "all 7 samples of the training set have the label 'fruit'",
        ),
        (replace(CORPUS, labels=None), "the Corpus has no labels"),
        (replace(CORPUS, labels=(("a", "b"),) * 7), "all 7 samples .* have the same labels"),
        (CORPUS.select([]), "the training set has no samples"),
    ],
)
def test_invalid_training_sets_raise(data, message):
    with pytest.raises(DataError, match=message):
        train(data)


def test_invalid_parameter_raises_a_cordwood_error():
    with pytest.raises(CordwoodError, match="training of recipe 'svm' failed: C must be"):
        train(TEXTS, LABELS, recipe="svm", C=-1.0)


def test_labels_are_required_once(model):
    with pytest.raises(TypeError, match="a Corpus contains its labels; omit"):
        train(CORPUS, LABELS)
    with pytest.raises(TypeError, match="labels is missing; give one label per text"):
        train(TEXTS)
    with pytest.raises(DataError, match="labels has 6 entries for 7 texts"):
        train(TEXTS, LABELS[:-1])
    with pytest.raises(DataError, match="the test set has no samples"):
        evaluate(model, [], [])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([*LABELS[:-1], None], r"labels\[6\] is None; remove unlabelled samples"),
        ([float("nan"), *LABELS[1:]], r"labels\[0\] is nan; remove unlabelled samples"),
        (np.array([*LABELS[:-1], np.nan], dtype=object), r"labels\[6\] is nan"),
        (pd.Series([*LABELS[:-1], None]), r"labels\[6\] is (None|nan)"),
        (pd.Series([*LABELS[:-1], pd.NA], dtype="string"), r"labels\[6\] is <NA>"),
        (np.array([1.0, np.nan, 2, 1, 2, 1, 2]), r"labels\[1\] is .*nan"),
        ([*LABELS[:-1], ["auto"]], r"labels\[6\] is of type list, but labels\[0\] of type str"),
        (np.array([LABELS]).T, r"labels\[0\] is of type ndarray; give one label per text"),
        ([*LABELS, "auto"], "labels has 8 entries for 7 texts"),
    ],
)
def test_invalid_labels_raise(model, labels, message):
    with pytest.raises(DataError, match=message):
        train(TEXTS, labels)
    with pytest.raises(DataError, match=message):
        evaluate(model, TEXTS, labels)


@pytest.mark.parametrize(
    "labels", [tuple(LABELS), np.array(LABELS), pd.Series(LABELS), iter(LABELS), pd.Index(LABELS)]
)
def test_labels_may_be_any_iterable(model, labels):
    fitted = train(TEXTS, labels)
    assert fitted.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_invalid_texts_raise(model):
    with pytest.raises(TypeError, match="sequence of texts, not a single str; pass"):
        train("red apple", ["fruit"])
    with pytest.raises(TypeError, match="sequence of texts, not a single str"):
        predict(model, "red apple")
    with pytest.raises(DataError, match=r"data\[1\] is of type NoneType, not str"):
        predict(model, ["red apple", None])
    with pytest.raises(DataError, match=r"data\[0\] is of type ndarray.* as a cordwood.FeatureM"):
        train(np.eye(7), LABELS)


@pytest.mark.parametrize("unfitted", [recipes.make("quick"), recipes.make("svm"), MultinomialNB()])
def test_unfitted_models_raise(unfitted, tmp_path):
    with pytest.raises(NotFittedError, match="is not fitted; call its fit method, or cordwood.t"):
        predict(unfitted, TEXTS)
    with pytest.raises(NotFittedError, match="is not fitted"):
        evaluate(unfitted, TEXTS, LABELS)
    with pytest.raises(NotFittedError, match="is not fitted"):
        save(unfitted, tmp_path / "model")


def test_path_as_a_model_raises():
    with pytest.raises(TypeError, match="open a model file with cordwood.load"):
        predict("model.cordwood", TEXTS)


def test_training_is_reproducible_by_default():
    first, second = (train(TEXTS, LABELS, recipe="rf") for _ in range(2))
    assert first["classifier"].random_state == 0
    assert first.predict_proba(TEXTS).tobytes() == second.predict_proba(TEXTS).tobytes()
    assert train(TEXTS, LABELS, recipe="rf", random_state=None)["classifier"].random_state is None
    assert train(TEXTS, LABELS, recipe="nb")  # has no random_state


def test_n_jobs_is_passed_to_the_recipe():
    assert train(TEXTS, LABELS, recipe="rf")["classifier"].n_jobs is None
    assert train(TEXTS, LABELS, recipe="rf", n_jobs=2)["classifier"].n_jobs == 2


def test_predictions_to_frame(model):
    found = predict(model, CORPUS)
    frame = found.to_frame()
    assert frame["label"].tolist() == found.labels.tolist()
    assert frame["probability"].tolist() == found.confidence.tolist()
    each = frame[["probability:auto", "probability:fruit"]].to_numpy()
    assert each.tolist() == found.probabilities.tolist()


def test_evaluation_to_frame_and_str():
    evaluation = score(["a", "a", "b"], ["a", "b", "b"], classes="ab")
    frame = evaluation.to_frame()
    assert frame.index.tolist() == ["a", "b"]
    assert frame.loc["a"].to_dict() == {
        "precision": 1.0,
        "recall": 0.5,
        "f1": pytest.approx(2 / 3),
        "support": 2,
    }
    assert str(evaluation).splitlines() == [
        "micro F1 0.667, macro F1 0.667 on 3 samples",
        "class  precision  recall     F1  samples",
        "a          1.000   0.500  0.667        2",
        "b          0.500   1.000  0.667        1",
    ]


def test_to_frame_without_pandas_names_the_install_command(model, monkeypatch):
    predictions = predict(model, TEXTS)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame requires pandas; .*: pip install pandas"):
        predictions.to_frame()


def test_html_tables_are_escaped_and_truncated():
    labels = np.array(["<b>"] * 30)
    found = Predictions(labels=labels, probabilities=np.ones((30, 1)), classes=labels[:1])
    page = found._repr_html_()
    assert page.count("<td>&lt;b&gt;</td>") == 20
    assert "<caption>30 predictions, the first 20</caption>" in page
    page = score(["<b>", "a"], ["a", "a"], classes=["a"])._repr_html_()
    assert "<td>&lt;b&gt;</td><td>0.000</td>" in page
    assert "<caption>micro F1 0.500, macro F1 0.333 on 2 samples</caption>" in page
