"""Out-of-fold predictions of any classifier."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cordwood
from cordwood import RandomForestClassifier, recipes
from cordwood.oof import OOFPredictions, compute_oof
from cordwood.oof import engine as _meta_features


@pytest.fixture(scope="module")
def samples():
    X, codes = make_classification(
        240, 12, n_informative=6, n_classes=3, random_state=0, class_sep=0.7
    )
    return X, np.array(["ant", "bee", "cat"])[codes]


@pytest.mark.parametrize("n_folds", [5, 10])
def test_cross_validation_matches_cross_val_predict(samples, n_folds, monkeypatch):
    X, y = samples
    monkeypatch.setattr(_meta_features, "_TEN_FOLDS", 240 if n_folds == 10 else 239)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    oof = compute_oof(model, X, y, random_state=3)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=3)
    expected = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    np.testing.assert_allclose(oof.proba, expected)
    assert oof.sources == {"logisticregression": "cv"}
    np.testing.assert_array_equal(oof.y_true, y)
    np.testing.assert_array_equal(oof.classes, ["ant", "bee", "cat"])
    assert not hasattr(model, "classes_")


def test_forest_has_out_of_bag_predictions(samples):
    X, y = samples
    forest = RandomForestClassifier(30, random_state=1)
    oof = compute_oof(forest, X, y)
    expected = RandomForestClassifier(30, random_state=1, oob_score=True).fit(X, y)
    np.testing.assert_array_equal(oof.proba, expected.oob_decision_function_)
    assert oof.sources == {"classifier": "oob"}


def test_samples_in_every_bootstrap_sample_have_the_class_prior(samples):
    X, y = samples
    oof = compute_oof(RandomForestClassifier(1, random_state=0), X, y)
    missing = np.flatnonzero((oof.proba > 0).all(axis=1))
    prior = np.unique(y, return_counts=True)[1] / len(y)
    assert len(missing) > 100
    np.testing.assert_allclose(oof.proba[missing], np.tile(prior, (len(missing), 1)))


@pytest.mark.parametrize("recipe", ["knn", "rf", "svm", "quick"])
def test_groups_are_never_split(recipe):
    # Samples of a group are equal, and their labels are random: only leakage predicts them.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    X = np.repeat(rng.normal(size=(60, 100)), 5, axis=0)
    y = np.repeat(codes, 5)
    model = recipes.make(recipe, input="numeric", random_state=0)
    if recipe == "quick":
        model.set_params(classifier__check_leakage=False)
    leaking = compute_oof(model, X, y)
    grouped = compute_oof(model, X, y, groups=np.repeat(np.arange(60), 5))
    assert np.mean(leaking.y_pred == y) > 0.9
    assert np.mean(grouped.y_pred == y) < 0.75
    assert grouped.groups is not None
    assert len(np.unique(grouped.groups)) == 60


def test_train_puts_predictions_of_stacks_on_the_model():
    texts = [f"{word} film {i % 7}" for i in range(40) for word in ("good", "bad")]
    labels = ["+", "-"] * 40
    model = cordwood.train(texts, labels, encoder=None)
    assert isinstance(model.oof_, OOFPredictions)
    assert set(model.oof_.sources) == set(model[-1].oof_source_)
    np.testing.assert_array_equal(model.oof_.proba, model[-1].oof_proba_)
    assert not hasattr(cordwood.train(texts, labels, encoder=None, oof=False), "oof_")
    assert not hasattr(cordwood.train(texts, labels, recipe="svm"), "oof_")
    assert cordwood.train(texts, labels, recipe="svm", oof=True).oof_.sources == {
        "classifier": "cv"
    }


def test_predictions_of_the_model_do_not_depend_on_oof():
    texts = [f"{word} film {i % 7}" for i in range(40) for word in ("good", "bad")]
    labels = ["+", "-"] * 40
    for recipe in ("rf", "svm"):
        with_oof = cordwood.train(texts, labels, recipe=recipe, oof=True)
        without = cordwood.train(texts, labels, recipe=recipe)
        np.testing.assert_array_equal(with_oof.predict_proba(texts), without.predict_proba(texts))
