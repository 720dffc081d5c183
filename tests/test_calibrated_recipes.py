"""Recipes whose probabilities are calibrated by their out-of-fold predictions."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import cordwood
from cordwood import TextClassifier, recipes
from cordwood._base.temperature import HeldOutMargins, fit_temperature
from cordwood.exceptions import CordwoodError
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from synthetic_data import make_counts

FAST = {"rf": {"n_estimators": 60}, "boosted_rf": {"n_estimators": 8}}


@pytest.fixture(scope="module")
def data():
    X, y = make_counts(1000, 150, 4, seed=1, noise=0.2, spread=0.9)
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in X]
    return texts[:400], y[:400], texts[400:], y[400:]


@pytest.mark.parametrize("name", ["rf", "nb", "knn", "boosted_rf", "logistic"])
def test_calibration_keeps_labels_and_lowers_the_log_loss(data, name):
    texts, y, new_texts, y_new = data
    plain = recipes.make(name, random_state=0, **FAST.get(name, {})).fit(texts, y)
    calibrated = recipes.make(name, random_state=0, calibrate=True, **FAST.get(name, {}))
    calibrated.fit(texts, y)
    before, after = plain.predict_proba(new_texts), calibrated.predict_proba(new_texts)
    np.testing.assert_array_equal(before.argmax(axis=1), after.argmax(axis=1))
    np.testing.assert_array_equal(calibrated.predict(new_texts), plain.predict(new_texts))
    smoothed = (before + 1e-3) / (1 + 4e-3)  # without infinite losses
    assert log_loss(y_new, after) < log_loss(y_new, smoothed)


def test_calibration_is_temperature_scaling_of_out_of_bag_probabilities(data):
    texts, y, new_texts, _ = data
    model = recipes.make("rf", n_estimators=60, random_state=0, calibrate=True).fit(texts, y)
    stack = model["classifier"]
    assert stack.oof_source_ == {"rf": "oob"}
    logs = np.log(np.maximum(stack.meta_features_, 1e-3))
    temperature = fit_temperature([HeldOutMargins(logs, y, np.ones(len(y)))])
    member = np.log(np.maximum(stack.transform(new_texts), 1e-3)) / temperature
    expected = np.exp(member) / np.exp(member).sum(axis=1, keepdims=True)
    # The prior of the weight of the pool and the smoothed labels differ slightly.
    np.testing.assert_allclose(model.predict_proba(new_texts), expected, atol=0.02)


def test_training_calibrates_by_default(data):
    texts, y, _, _ = data
    few = {"n_estimators": 20}
    forest = TextClassifier("rf", recipe_params=few).fit(texts, y)
    assert isinstance(forest.estimator_["classifier"], OOBStackingClassifier)
    assert forest.oof_.sources == {"rf": "oob"}
    plain = TextClassifier("rf", recipe_params=few, calibrate=False).fit(texts, y)
    assert [name for name, _ in plain.estimator_.steps] == ["vectorizer", "classifier"]
    logistic = TextClassifier("logistic").fit(texts, y)
    assert isinstance(logistic.estimator_["classifier"], OOBStackingClassifier)
    svm = TextClassifier("svm").fit(texts, y)  # calibrates itself
    assert not isinstance(svm.estimator_["classifier"], OOBStackingClassifier)


def test_calibrated_models_can_be_saved_and_explained(data, tmp_path):
    texts, y, new_texts, _ = data
    model = TextClassifier("nb").fit(texts, y)
    model.save(tmp_path / "model", precision="full")
    loaded = cordwood.load(tmp_path / "model")
    expected = model.predict_proba(new_texts)
    np.testing.assert_array_equal(loaded.predict_proba(new_texts), expected)
    [explanation] = loaded.explain(new_texts[:1])
    assert [member.name for member in explanation.members] == ["nb"]


def test_calibrating_a_stack_raises():
    with pytest.raises(CordwoodError, match="recipe 'quick' is a stack"):
        recipes.make("quick", calibrate=True)


def test_every_recipe_states_whether_it_needs_calibration():
    kinds = {name: recipes.find(name).needs_calibration for name in recipes.names()}
    assert all(kinds[name] for name in ("rf", "nb", "knn", "logistic"))
    assert not any(kinds[name] for name in ("svm", "nbsvm", "quick"))


@pytest.mark.parametrize("name", ["rf", "nb", "knn"])
def test_one_sample_per_class_is_not_calibrated(name):
    model = TextClassifier(name).fit(["so good", "so bad"], ["+", "-"])
    assert model.predict(["good", "bad"]).shape == (2,)
