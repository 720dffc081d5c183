"""`TextClassifier` on texts and numeric features: training, prediction, evaluation and errors."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.exceptions import DataConversionWarning, NotFittedError

import cordwood
from cordwood import Corpus, FeatureMatrix, TextClassifier
from cordwood.exceptions import CordwoodError, DataError

TEXTS = ["red apple", "ripe apple", "apple pie", "fast car", "car engine", "red car", "car wheel"]
LABELS = ["fruit", "fruit", "fruit", "auto", "auto", "auto", "auto"]
CORPUS = Corpus(texts=tuple(TEXTS), ids=tuple("abcdefg"), labels=tuple(LABELS))


@pytest.fixture(scope="module")
def model():
    return TextClassifier().fit(CORPUS)


def matrix(n_features=3):
    X = sp.csr_array(np.array([[1, 0, 3], [2, 0, 1], [0, 5, 0], [0, 4, 0]], dtype=float))
    X.resize(4, n_features)
    return FeatureMatrix(X=X, ids=tuple("1234"), labels=("x", "x", "y", "y"))


def test_corpus_and_lists_train_the_same_model(model):
    other = TextClassifier().fit(TEXTS, LABELS)
    new = ["an apple", "a wheel", ""]
    assert np.array_equal(model.predict_proba(new), other.predict_proba(new))


def test_given_labels_replace_those_of_a_corpus():
    other = ["x", "y"] * 3 + ["x"]
    fitted = TextClassifier("nb").fit(CORPUS, other)
    assert fitted.classes_.tolist() == ["x", "y"]
    assert fitted.evaluate(CORPUS, other).unseen_labels == {}


def test_predictions_are_those_of_the_pipeline(model):
    found = model.classify(CORPUS)
    assert found.labels.tolist() == model.predict(TEXTS).tolist()
    assert found.labels.tolist() == model.estimator_.predict(TEXTS).tolist()
    assert found.classes.tolist() == model.classes_.tolist() == ["auto", "fruit"]
    assert np.array_equal(found.proba, model.estimator_.predict_proba(TEXTS))
    own = [
        found.proba[row, list(found.classes).index(label)] for row, label in enumerate(found.labels)
    ]
    assert found.confidence.tolist() == own
    assert len(found) == 7


def test_predict_accepts_no_samples(model):
    assert len(model.classify([])) == 0
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 2)
    assert len(model.explain([])) == 0


def test_params_are_passed_to_the_recipe():
    fitted = TextClassifier(recipe_params={"cv": 2}).fit(TEXTS, LABELS)
    assert fitted.estimator_.get_params()["classifier__cv"] == 2


def test_a_new_fit_replaces_all_that_was_fitted():
    fitted = TextClassifier("nb").fit(matrix())
    assert fitted.n_features_in_ == 3
    fitted.fit(TEXTS, LABELS)
    assert not hasattr(fitted, "n_features_in_")
    assert fitted.members_[0].name == "nb"
    assert fitted.view.vectorizer is not None
    fitted.set_params(estimator="svm").fit(TEXTS, LABELS)
    assert fitted.oof_ is fitted.evaluation_ is fitted.scope_ is None
    assert fitted.members_ == []
    with pytest.raises(DataError, match="coverage requires out-of-fold predictions"):
        fitted.classify(TEXTS, coverage=0.9)


def test_evaluation_is_json_serializable(model):
    found = model.evaluate(CORPUS)
    record = json.loads(json.dumps(found.to_dict()))
    # All of 7 correct: the limit of Wilson.
    low = stats.binomtest(7, 7).proportion_ci(method="wilson").low
    assert record["accuracy"] == {"value": 1.0, "low": pytest.approx(low), "high": 1.0}
    assert record["confusion"] == [[4, 0], [0, 3]]
    assert record["classes"][0] == {
        "label": "auto",
        "precision": 1.0,
        "recall": 1.0,
        "f1": {"value": 1.0, "low": pytest.approx(0.025**0.25), "high": 1.0},
        "support": 4,
    }


def test_unseen_labels_count_as_errors(model):
    found = model.evaluate(["apple", "car", "pear"], ["fruit", "auto", "pear"])
    assert found.unseen_labels == {"pear": 1}
    assert found.accuracy == pytest.approx(2 / 3)
    assert model.score(["apple", "car", "pear"], ["fruit", "auto", "pear"]) == found.accuracy
    assert len(found.classes) == 3


def test_labels_of_another_type_raise(model):
    with pytest.raises(DataError, match="different types"):
        model.evaluate(["apple", "car"], [1, 2])


def test_feature_matrix():
    fitted = TextClassifier().fit(matrix())
    assert fitted.predict(matrix()).tolist() == ["x", "x", "y", "y"]
    assert fitted.evaluate(matrix()).accuracy == 1.0


def test_weights_of_a_feature_matrix_are_used():
    weighted = replace(matrix(), weights=(3.0, 1.0, 1.0, 1.0))
    first = TextClassifier("rf").fit(weighted)
    second = TextClassifier("rf").fit(matrix(), sample_weight=weighted.weights)
    assert np.array_equal(first.predict_proba(matrix()), second.predict_proba(matrix()))
    wrong = ["y", "x", "y", "y"]
    assert first.evaluate(weighted, wrong).accuracy == pytest.approx(0.5)
    assert first.score(weighted, wrong) == pytest.approx(0.5)
    assert first.score(weighted, wrong, sample_weight=np.ones(4)) == pytest.approx(0.75)


def test_sparse_features_are_padded_or_truncated():
    fitted = TextClassifier().fit(matrix())
    # As read from an svmlight file without the third feature.
    narrow = replace(matrix(), X=matrix().X[:, :2])
    padded = sp.hstack([narrow.X, sp.csr_array((4, 1))]).tocsr()
    expected = fitted.predict_proba(replace(narrow, X=padded))
    assert np.array_equal(fitted.predict_proba(narrow), expected)
    with pytest.warns(
        UserWarning, match="has 5 features, but .* 3 features; only the first 3 are used"
    ):
        wide = fitted.predict_proba(matrix(n_features=5))
    assert np.array_equal(wide, fitted.predict_proba(matrix()))


def test_dense_features_must_match():
    fitted = TextClassifier().fit(matrix())
    with pytest.raises(
        DataError, match="X has 2 features, but the model was trained on 3 features"
    ):
        fitted.predict(replace(matrix(), X=np.ones((4, 2))))
    with pytest.raises(ValueError, match="X has 2 features, but TextClassifier is expecting 3"):
        fitted.predict(np.ones((4, 2)))


def test_text_and_numeric_models_are_distinguished(model):
    with pytest.raises(DataError, match="trained on texts; it cannot predict numeric features"):
        model.predict(matrix())
    with pytest.raises(DataError, match="trained on numeric features; it cannot predict texts"):
        TextClassifier().fit(matrix()).predict(TEXTS)
    with pytest.raises(DataError, match="a table; pass the column of texts as a list"):
        model.predict(pd.DataFrame({"text": TEXTS}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            replace(CORPUS, labels=("fruit",) * 7),
            "all 7 samples of the training set have the label 'fruit'",
        ),
        (replace(CORPUS, labels=None), "the Corpus has no labels"),
        (replace(matrix(), labels=None), "the FeatureMatrix has no labels"),
        (replace(CORPUS, labels=(("a", "b"),) * 7), "all 7 samples .* have the same labels"),
        (CORPUS.select([]), "the training set has no samples"),
    ],
)
def test_invalid_training_sets_raise(data, message):
    with pytest.raises(DataError, match=message):
        TextClassifier("nb").fit(data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"recipe_params": {"C": -1.0}}, "training of recipe 'svm' failed: C must be"),
        ({"estimator": "swm"}, "swm"),
        ({"estimator": 3}, "estimator must be the name of a recipe, or an unfitted classifier"),
        ({"oof": "maybe"}, "oof must be True, False or 'auto'; got 'maybe'"),
        ({"language": "xx"}, "language"),
        ({"class_weight": "equal"}, "class_weight must be 'balanced'; got 'equal'"),
        ({"decision": "recall"}, "decision must be 'f1', 'macro_f1', a cordwood.Decision or None"),
    ],
)
def test_invalid_parameters_raise_a_cordwood_error(params, message):
    with pytest.raises(CordwoodError, match=message):
        TextClassifier(**{"estimator": "svm", **params}).fit(TEXTS, LABELS)


def test_language_requires_texts():
    with pytest.raises(CordwoodError, match="language requires texts"):
        TextClassifier("svm", language="en").fit(matrix())


def test_groups_without_effect_raise():
    with pytest.raises(CordwoodError, match="groups have no effect; omit groups, or set oof=True"):
        TextClassifier("svm").fit(TEXTS, LABELS, groups=range(7))
    groups = [0, 0, 1, 1, 2, 2, 3]
    fitted = TextClassifier("svm", oof=True).fit(TEXTS, LABELS, groups=groups)
    assert fitted.oof_.groups.tolist() == groups
    assert fitted.evaluation_.n_groups == 4


def test_labels_are_required(model):
    with pytest.raises(ValueError, match="requires? y to be passed, but the target y is None"):
        TextClassifier().fit(TEXTS)
    with pytest.raises(TypeError, match="only a dataframe has named columns"):
        TextClassifier().fit(TEXTS, "label")
    with pytest.raises(DataError, match="y has 6 entries for 7 samples"):
        TextClassifier().fit(TEXTS, LABELS[:-1])
    with pytest.raises(DataError, match="the test set has no samples"):
        model.evaluate([], [])


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
        ([np.array(["auto", "fruit"])] * 7, r"labels\[0\] is of type ndarray; give one label per"),
        ([*LABELS, "auto"], "y has 8 entries for 7 samples"),
        (np.array([LABELS, LABELS]).T, "y has several columns, but is no indicator matrix"),
    ],
)
def test_invalid_labels_raise(model, labels, message):
    with pytest.raises(DataError, match=message):
        TextClassifier("nb").fit(TEXTS, labels)
    with pytest.raises(DataError, match=message):
        model.evaluate(TEXTS, labels)


@pytest.mark.parametrize(
    "labels", [tuple(LABELS), np.array(LABELS), pd.Series(LABELS), iter(LABELS), pd.Index(LABELS)]
)
def test_labels_may_be_any_iterable(model, labels):
    fitted = TextClassifier().fit(TEXTS, labels)
    assert fitted.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_a_column_of_labels_is_labels_with_a_warning(model):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        fitted = TextClassifier().fit(TEXTS, np.array([LABELS]).T)
    assert np.array_equal(fitted.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_invalid_texts_raise(model):
    with pytest.raises(TypeError, match="sequence of texts, not a single str; pass"):
        TextClassifier().fit("red apple", ["fruit"])
    with pytest.raises(TypeError, match="sequence of texts, not a single str"):
        model.predict("red apple")
    with pytest.raises(DataError, match=r"X\[1\] is of type NoneType, not str"):
        model.predict(["red apple", None])
    with pytest.raises(TypeError, match="not an iterator; pass a list"):
        model.predict(iter(TEXTS))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        TextClassifier().fit(np.arange(7), LABELS)


def test_unfitted_models_raise(tmp_path):
    unfitted = TextClassifier()
    for call in (
        lambda: unfitted.predict(TEXTS),
        lambda: unfitted.predict_proba(TEXTS),
        lambda: unfitted.classify(TEXTS, coverage=0.9),
        lambda: unfitted.evaluate(TEXTS, LABELS),
        lambda: unfitted.explain(TEXTS),
        lambda: unfitted.explain_classes(),
        lambda: unfitted.report(),
        lambda: unfitted.members_,
        lambda: unfitted.save(tmp_path / "model"),
    ):
        with pytest.raises(NotFittedError, match="is not fitted"):
            call()


def test_training_is_reproducible_by_default():
    first, second = (TextClassifier("rf").fit(TEXTS, LABELS) for _ in range(2))
    assert first.random_state == 0
    assert first.predict_proba(TEXTS).tobytes() == second.predict_proba(TEXTS).tobytes()
    other = TextClassifier("rf", random_state=None, calibrate=False).fit(TEXTS, LABELS)
    assert other.estimator_["classifier"].random_state is None


def test_n_jobs_is_passed_to_the_recipe():
    for n_jobs in (None, 2):
        fitted = TextClassifier("rf", calibrate=False, n_jobs=n_jobs).fit(TEXTS, LABELS)
        assert fitted.estimator_["classifier"].n_jobs == n_jobs


@pytest.mark.parametrize("estimator", ["quick", "nb", "svm"])
def test_save_and_load(estimator, tmp_path):
    fitted = TextClassifier(estimator, oof=True).fit(TEXTS, LABELS)
    fitted.save(tmp_path / "model.cordwood", precision="full")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert isinstance(loaded, TextClassifier)
    assert repr(loaded) == repr(fitted)
    assert loaded.predict_proba(TEXTS).tobytes() == fitted.predict_proba(TEXTS).tobytes()
    assert loaded.evaluation_.accuracy == fitted.evaluation_.accuracy
    assert loaded.fit(TEXTS, LABELS).predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()


def test_a_text_is_predicted_alone_in_a_batch_and_in_threads_alike(model):
    texts = [*TEXTS, "", "apple car", "日本", "a <b>wheel</b>"] * 3
    expected = model.predict_proba(texts)

    def predict(i):
        return model.predict_proba([texts[i]])[0]

    with ThreadPoolExecutor(8) as pool:
        alone = list(pool.map(predict, range(len(texts))))
        batches = list(pool.map(model.predict_proba, [texts] * 8))
    np.testing.assert_array_equal(alone, expected)
    assert all(np.array_equal(batch, expected) for batch in batches)


def test_coefficients_of_texts_are_stored_as_predictions_read_them(tmp_path):
    fitted = TextClassifier("quick", encoder=None).fit(TEXTS, LABELS)
    fitted.save(tmp_path / "model.cordwood")
    for each in (fitted, cordwood.load(tmp_path / "model.cordwood")):
        members = each.view.stack.named_estimators_
        assert members["nbsvm"][-1].coef_.T.flags.c_contiguous
        assert members["nb"][-1].model_.feature_log_prob_.T.flags.c_contiguous


def test_predictions_to_frame(model):
    found = model.classify(CORPUS)
    frame = found.to_frame()
    assert frame["label"].tolist() == found.labels.tolist()
    assert frame["probability"].tolist() == found.confidence.tolist()
    each = frame[["probability:auto", "probability:fruit"]].to_numpy()
    assert each.tolist() == found.proba.tolist()


def test_to_frame_without_pandas_names_the_install_command(model, monkeypatch):
    predictions = model.classify(TEXTS)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame requires pandas; .*: pip install pandas"):
        predictions.to_frame()
