"""Out-of-fold predictions of any classifier."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cordwood import RandomForestClassifier, TextClassifier, recipes
from cordwood.oof import OOFPredictions
from cordwood.oof import folds as folds_module
from cordwood.oof.fit import fit_with_oof


@pytest.fixture(scope="module")
def samples():
    X, codes = make_classification(
        240, 12, n_informative=6, n_classes=3, random_state=0, class_sep=0.7
    )
    return X, np.array(["ant", "bee", "cat"])[codes]


@pytest.mark.parametrize("n_folds", [5, 10])
def test_cross_validation_matches_cross_val_predict(samples, n_folds, monkeypatch):
    X, y = samples
    monkeypatch.setattr(folds_module, "_TEN_FOLDS", 240 if n_folds == 10 else 239)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    _, oof = fit_with_oof(model, X, y, random_state=3)
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
    fitted, oof = fit_with_oof(forest, X, y)
    expected = RandomForestClassifier(30, random_state=1, oob_score=True).fit(X, y)
    np.testing.assert_array_equal(oof.proba, expected.oob_decision_function_)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    assert oof.sources == {"classifier": "oob"}


def test_samples_in_every_bootstrap_sample_have_the_class_prior(samples):
    X, y = samples
    _, oof = fit_with_oof(RandomForestClassifier(1, random_state=0), X, y)
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
    _, leaking = fit_with_oof(model, X, y)
    _, grouped = fit_with_oof(model, X, y, groups=np.repeat(np.arange(60), 5))
    assert np.mean(leaking.y_pred == y) > 0.9
    assert np.mean(grouped.y_pred == y) < 0.75
    assert grouped.groups is not None
    assert len(np.unique(grouped.groups)) == 60


FILMS = [f"{word} film {i % 7}" for i in range(40) for word in ("good", "bad")]
SIGNS = ["+", "-"] * 40


def test_out_of_fold_predictions_of_stacks_are_those_of_the_model():
    model = TextClassifier().fit(FILMS, SIGNS)
    stack = model.estimator_[-1]
    assert isinstance(model.oof_, OOFPredictions)
    assert set(model.oof_.sources) == set(stack.oof_source_)
    np.testing.assert_array_equal(model.oof_.proba, stack.oof_proba_)
    assert TextClassifier(oof=False).fit(FILMS, SIGNS).oof_ is None
    assert TextClassifier("svm").fit(FILMS, SIGNS).oof_ is None
    with_oof = TextClassifier("svm", oof=True).fit(FILMS, SIGNS)
    assert with_oof.oof_.sources == {"classifier": "cv"}


@pytest.mark.parametrize("name", ["rf", "svm", "quick", "nb"])
def test_predictions_of_the_model_do_not_depend_on_oof(name):
    proba = {
        TextClassifier(name, oof=oof).fit(FILMS, SIGNS).predict_proba(FILMS).tobytes()
        for oof in (True, False, "auto")
    }
    assert len(proba) == 1
