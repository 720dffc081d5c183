"""`TextClassifier` in the tools of scikit-learn, on texts; one builder of models."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency

from cordwood import Decision, TextClassifier, recipes
from cordwood.metrics import estimate_learning_curve
from cordwood.metrics import learning_curve as curve_module

WORDS = {"food": "soup bread salt oven pan", "sport": "goal team match ball coach"}
COMMON = "the a of and to in it today".split()


def make_texts(n_texts=120, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice([*WORDS], n_texts)
    mixed = " ".join(WORDS.values()).split()
    texts = [
        " ".join([*rng.choice(WORDS[label].split(), 2), *rng.choice([*COMMON, *mixed], 4)])
        for label in labels
    ]
    return texts, labels


TEXTS, LABELS = make_texts()
TFIDF = make_pipeline(TfidfVectorizer(), LogisticRegression())


def test_clone_and_parameters():
    model = TextClassifier(TFIDF, decision=Decision("f1"), oof=True, n_jobs=2)
    model.fit(TEXTS, LABELS)
    copy = clone(model)
    assert is_classifier(copy)
    assert not hasattr(copy, "classes_")
    assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert repr(copy) == repr(model)
    assert copy.estimator is not model.estimator
    # The estimator of the user is not fitted.
    assert not hasattr(TFIDF[-1], "coef_")
    copy.set_params(estimator__logisticregression__C=0.5, oof=False)
    assert copy.estimator[-1].C == 0.5
    assert model.estimator[-1].C == 1.0
    assert copy.fit(TEXTS, LABELS).estimator_[-1].C == 0.5


def test_parameters_are_not_modified():
    params = {"recipe_params": {"n_estimators": 5}, "columns": None, "estimator": "rf"}
    model = TextClassifier(**params)
    before = repr(model.get_params())
    model.fit(TEXTS, LABELS)
    assert repr(model.get_params()) == before
    assert params["recipe_params"] == {"n_estimators": 5}


def test_search_of_nested_parameters():
    grid = {
        "estimator__logisticregression__C": [1e-4, 1.0],
        "estimator__tfidfvectorizer__norm": [None],
    }
    search = GridSearchCV(TextClassifier(TFIDF), grid, cv=3).fit(TEXTS, LABELS)
    pipeline = GridSearchCV(
        TFIDF, {name.removeprefix("estimator__"): values for name, values in grid.items()}, cv=3
    ).fit(TEXTS, LABELS)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], pipeline.cv_results_["mean_test_score"]
    )
    assert search.best_estimator_.estimator_[-1].C == pipeline.best_estimator_[-1].C
    assert np.array_equal(search.predict(TEXTS), pipeline.predict(TEXTS))


def test_search_of_recipes_and_decisions():
    grid = {
        "estimator": ["nb", "svm", TFIDF],
        "decision": [None, "f1", Decision("cost", cost_matrix=[[0, 1], [9, 0]])],
    }
    search = GridSearchCV(TextClassifier(), grid, cv=2, scoring="balanced_accuracy")
    search.fit(TEXTS, LABELS)
    assert len(search.cv_results_["params"]) == 9
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_scores_are_accuracies_of_folds():
    scores = cross_val_score(TextClassifier("nb"), TEXTS, LABELS, cv=4)
    for score, (train, test) in zip(scores, StratifiedKFold(4).split(TEXTS, LABELS), strict=True):
        model = TextClassifier("nb").fit([TEXTS[i] for i in train], LABELS[train])
        predicted = model.predict([TEXTS[i] for i in test])
        assert score == pytest.approx(np.mean(predicted == LABELS[test]))
    for scoring in ("neg_log_loss", "f1_macro", "roc_auc"):
        assert np.isfinite(
            cross_val_score(TextClassifier("nb"), TEXTS, LABELS, cv=3, scoring=scoring)
        ).all()


def test_last_step_of_a_pipeline():
    lower = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = Pipeline([("upper", lower), ("model", TextClassifier("nb"))]).fit(TEXTS, LABELS)
    expected = TextClassifier("nb").fit([text.upper() for text in TEXTS], LABELS)
    assert np.array_equal(pipeline.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    assert pipeline.classes_.tolist() == ["food", "sport"]
    assert pipeline.set_params(model__estimator="svm").fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.8


@pytest.mark.parametrize("estimator", ["quick", "nb", TFIDF])
def test_pickle(estimator):
    model = TextClassifier(estimator, oof=True).fit(TEXTS, LABELS)
    assert len(model.explain(TEXTS[:1])) == 1  # makes the view
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba(TEXTS).tobytes() == model.predict_proba(TEXTS).tobytes()
    assert str(copy.evaluation_) == str(model.evaluation_)
    assert (copy.evaluation_.accuracy.low, copy.evaluation_.accuracy.high) == (
        model.evaluation_.accuracy.low,
        model.evaluation_.accuracy.high,
    )
    assert str(copy.explain(TEXTS[:1])[0]) == str(model.explain(TEXTS[:1])[0])


def test_html_diagram():
    unfitted = TextClassifier(TFIDF)
    assert "TfidfVectorizer" in unfitted._repr_html_()
    page = unfitted.fit(TEXTS, LABELS)._repr_html_()
    assert "TextClassifier" in page
    assert "fitted" in page
    assert "TextClassifier" in TextClassifier("nb").fit(TEXTS, LABELS)._repr_html_()


WEIGHTS = np.random.default_rng(1).integers(1, 5, len(TEXTS)).astype(float)


def test_weights_are_routed():
    """The folds are fitted with the weights of their samples, and scored without them."""
    splitter = StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TextClassifier("svm").set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        found = cross_validate(
            model, TEXTS, LABELS, cv=splitter, params={"sample_weight": WEIGHTS},
            return_estimator=True,
        )  # fmt: skip
        plain = cross_validate(
            TextClassifier("svm"), TEXTS, LABELS, cv=splitter, return_estimator=True
        )
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            cross_validate(
                TextClassifier("svm"), TEXTS, LABELS, cv=splitter,
                params={"sample_weight": WEIGHTS},
            )  # fmt: skip
    for number, (train, _) in enumerate(splitter.split(TEXTS, LABELS)):
        expected = TextClassifier("svm").fit(
            [TEXTS[i] for i in train], LABELS[train], sample_weight=WEIGHTS[train]
        )
        proba = expected.predict_proba(TEXTS)
        assert np.array_equal(found["estimator"][number].predict_proba(TEXTS), proba)
        assert not np.array_equal(plain["estimator"][number].predict_proba(TEXTS), proba)


def test_groups_are_routed_to_the_model_and_the_splitter():
    groups = np.arange(len(TEXTS)) // 4
    splitter = GroupKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TextClassifier("nb").set_fit_request(groups=True)
        found = cross_validate(
            model, TEXTS, LABELS, cv=splitter, params={"groups": groups}, return_estimator=True
        )
    for number, (train, _) in enumerate(splitter.split(TEXTS, LABELS, groups)):
        oof = found["estimator"][number].oof_
        expected = np.unique(groups[train], return_inverse=True)[1]
        assert np.array_equal(oof.groups, expected)


def test_routing_does_not_reach_the_inside_of_a_model():
    """A stack inside is fitted with weights by name, as without routing."""
    expected = TextClassifier().fit(TEXTS, LABELS, sample_weight=WEIGHTS).predict_proba(TEXTS)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TextClassifier().fit(TEXTS, LABELS, sample_weight=WEIGHTS)
        assert np.array_equal(model.predict_proba(TEXTS), expected)


def test_names_of_features_are_checked_for_estimators_of_the_user():
    check_dataframe_column_names_consistency("TextClassifier", TextClassifier(LogisticRegression()))


def test_dataframes_and_matrices_of_numbers_are_interchangeable():
    X = np.random.default_rng(0).normal(size=(len(TEXTS), 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = TextClassifier(LogisticRegression()).fit(X, LABELS)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        proba = model.predict_proba(frame)
    np.testing.assert_allclose(proba, model.predict_proba(X))
    unnamed = TextClassifier(LogisticRegression()).fit(pd.DataFrame(X), LABELS)
    np.testing.assert_allclose(unnamed.predict_proba(pd.DataFrame(X)), proba)


# --- one builder ------------------------------------------------------------------------------

INDICATORS = np.column_stack(
    [LABELS == "food", ["oven" in text for text in TEXTS], LABELS == "sport"]
).astype(int)
TABLE = pd.DataFrame({"text": TEXTS, "size": [len(text) for text in TEXTS]})
SETTINGS = {
    "quick": ({"encoder": None}, TEXTS, LABELS),
    "calibrated nb": ({"estimator": "nb"}, TEXTS, LABELS),
    "decision": ({"estimator": "nb", "decision": "macro_f1"}, TEXTS, LABELS),
    "class weights": ({"estimator": "svm", "class_weight": "balanced"}, TEXTS, LABELS),
    "table": (
        {"estimator": "nb", "columns": {"text": ["text"], "numeric": ["size"]}}, TABLE, LABELS,
    ),
    "several labels": ({"estimator": "svm"}, TEXTS, INDICATORS),
}  # fmt: skip


def take(X, rows):
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else [X[i] for i in rows]


@pytest.mark.parametrize("way", SETTINGS)
@pytest.mark.filterwarnings("ignore:.*(duplicate|equal).*:UserWarning")
def test_the_folds_of_scikit_learn_have_the_same_bits(way):
    params, X, y = SETTINGS[way]
    folds = [(np.arange(80), np.arange(80, 120)), (np.arange(40, 120), np.arange(40))]
    folds = [(np.r_[80:120, 0:40], np.arange(40, 80)), *folds]
    found = cross_val_predict(TextClassifier(**params), X, y, cv=folds, method="predict_proba")
    for train, test in folds:
        model = TextClassifier(**params).fit(take(X, train), y[train])
        expected = model.predict_proba(take(X, test))
        assert found[test].tobytes() == expected.tobytes()


@pytest.mark.parametrize("way", [way for way in SETTINGS if way != "several labels"])
@pytest.mark.filterwarnings("ignore:.*(duplicate|equal).*:UserWarning")
def test_the_models_of_a_learning_curve_have_the_same_bits(way, monkeypatch):
    params, X, y = SETTINGS[way]
    calls = []
    fit_predict = curve_module._fit_predict

    def record(model, X, labels, groups, train, test, classes):
        found = fit_predict(model, X, labels, groups, train, test, classes)
        calls.append((train, test, *found))
        return found

    monkeypatch.setattr(curve_module, "_fit_predict", record)
    estimate_learning_curve(TextClassifier(**params), X, y, n_repeats=1, shares=(0.3, 0.6, 1.0))
    assert len(calls) == 3
    for train, test, proba, decided in calls:
        model = TextClassifier(**params).fit(take(X, train), y[train])
        assert np.array_equal(model.classes_[decided], model.predict(take(X, test)))
        assert proba.tobytes() == model.predict_proba(take(X, test)).tobytes()


def test_a_model_is_the_pipeline_of_its_recipe():
    for name in ("svm", "quick"):
        model = TextClassifier(name).fit(TEXTS, LABELS)
        pipeline = recipes.make(name, random_state=0).fit(TEXTS, LABELS)
        assert model.predict_proba(TEXTS).tobytes() == pipeline.predict_proba(TEXTS).tobytes()
    calibrated = recipes.make("nb", random_state=0, calibrate=True).fit(TEXTS, LABELS)
    model = TextClassifier("nb").fit(TEXTS, LABELS)
    assert model.predict_proba(TEXTS).tobytes() == calibrated.predict_proba(TEXTS).tobytes()


@pytest.mark.parametrize("way", SETTINGS)
@pytest.mark.filterwarnings("ignore:.*(duplicate|equal).*:UserWarning")
def test_the_number_of_threads_and_out_of_fold_predictions_do_not_matter(way):
    params, X, y = SETTINGS[way]
    expected = TextClassifier(**params).fit(X, y).predict_proba(X)
    for other in ({"n_jobs": 2}, {"oof": True}, {"oof": False}):
        model = TextClassifier(**params, **other).fit(X, y)
        assert model.predict_proba(X).tobytes() == expected.tobytes()
