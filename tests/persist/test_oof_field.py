"""Out-of-fold predictions in model files."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cordwood import TextClassifier, load, persist
from cordwood.classifier import TunedDecision
from cordwood.exceptions import ModelFileError
from cordwood.oof import schema as oof_schema
from cordwood.oof.records import OOFPredictions
from cordwood.oof.schema import compress_proba, expand_proba
from model_files import forge, load_error

TEXTS = [f"{word} film n{i % 9}" for i in range(12) for word in ("good", "bad", "odd")]
LABELS = np.array(["+", "-", "o"] * 12)


def fit(**params):
    return TextClassifier("nb", calibrate=False, **params).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def model():
    return fit(oof=True)


def test_predictions_are_restored(model, tmp_path):
    oof = load(persist.save(model, tmp_path / "model")).oof_
    assert isinstance(oof, OOFPredictions)
    np.testing.assert_allclose(oof.proba, model.oof_.proba, atol=2e-3)
    np.testing.assert_array_equal(oof.y_true, LABELS)
    np.testing.assert_array_equal(oof.y_pred, model.oof_.y_pred)
    np.testing.assert_array_equal(oof.classes, model.classes_)
    assert oof.sources == {"classifier": "cv"}
    assert oof.groups is None


def test_model_without_predictions_has_none(tmp_path):
    assert load(persist.save(fit(), tmp_path / "model")).oof_ is None


def test_predictions_of_several_labels_are_not_stored(tmp_path):
    model = TextClassifier("nb").fit(
        TEXTS, [[label, "x"][: i % 3] for i, label in enumerate(LABELS)]
    )
    assert model.oof_.is_multilabel
    assert load(persist.save(model, tmp_path / "model")).oof_ is None


def test_too_many_predictions_are_not_stored(model, tmp_path, monkeypatch):
    monkeypatch.setattr(oof_schema, "MAX_OOF_SIZE", 20)
    assert load(persist.save(model, tmp_path / "model")).oof_ is None


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_compression_keeps_labels_and_probabilities_of_true_classes(data):
    n_classes = data.draw(st.integers(2, 40))
    shape = data.draw(st.integers(1, 8)), n_classes
    scores = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(-30, 0)))
    proba = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    y = data.draw(hnp.arrays(np.intp, shape[0], elements=st.integers(0, n_classes - 1)))
    restored = expand_proba(compress_proba(proba, y), n_classes)
    np.testing.assert_array_equal(restored.argmax(axis=1), proba.argmax(axis=1))
    np.testing.assert_allclose(restored.sum(axis=1), 1)
    # Half precision has 11 significant bits; what is lost by rounding, the top class has.
    bound = 1e-3 + n_classes * 2**-11 * (1 - proba.max(axis=1, keepdims=True))
    assert (np.abs(restored - proba) <= bound).all()
    rows = np.arange(len(y))
    np.testing.assert_allclose(restored[rows, y], proba[rows, y], rtol=n_classes * 2e-3, atol=1e-7)


@pytest.mark.parametrize("decision", ["macro_f1", "f1", "cost"])
def test_decisions_for_restored_predictions_are_the_same(decision, tmp_path):
    """Even if a probability is so close to a threshold that rounding would change it."""
    model = TextClassifier("nb", calibrate=False, decision="macro_f1").fit(TEXTS, LABELS)
    rng = np.random.default_rng(0)
    n_classes = 2 if decision == "f1" else 3
    y = rng.integers(n_classes, size=3000)
    proba = rng.dirichlet(np.ones(n_classes), 3000)
    if decision == "f1":
        model = TextClassifier("nb", calibrate=False, oof=True).fit(TEXTS, LABELS == "+")
    weights = np.array([0.31, 0.52, 0.17])[:n_classes]
    costs = -np.array([[0, 1, 5], [1, 0, 1.3], [2.1, 2, 0]])
    matrix = costs if decision == "cost" else np.diag(weights)
    model.decision_ = TunedDecision(decision, matrix, threshold=0.37, score=0.5)
    # Scores of the decision that differ by 1e-5.
    first, second = proba[:, 0] * weights[0], proba[:, 1] * weights[1]
    proba[:, 0] *= np.where(rng.random(3000) < 0.5, 1, (second / first) * (1 + 1e-5))
    proba /= proba.sum(axis=1, keepdims=True)
    model.oof_ = replace(model.oof_, proba=proba, y=y)
    model.evaluation_ = None
    loaded = load(persist.save(model, tmp_path / "model"))
    expected = model.decision_.apply(proba)
    assert (expected != proba.argmax(axis=1)).any()
    np.testing.assert_array_equal(loaded.decision_.apply(loaded.oof_.proba), expected)
    np.testing.assert_array_equal(loaded.oof_.y_pred, model.oof_.y_pred)
    np.testing.assert_allclose(loaded.oof_.proba, proba, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("y", lambda y: y + 2, "unknown classes"),
        ("y", lambda y: y[:-1], "different lengths"),
        ("y", lambda y: y[:0], "invalid size"),
        ("top", lambda top: top - 1, "unknown classes"),
        ("counts", lambda counts: counts + 1, "number of classes"),
        ("codes", lambda codes: codes + 2, "unknown classes"),
        ("values", lambda values: -values, "not probabilities"),
        ("values", lambda values: values + np.float16(1), "not probabilities"),
        ("values", lambda values: values * np.float16("nan"), "not probabilities"),
        ("rest", lambda rest: rest.astype(np.float64), "wrong type"),
        ("values", lambda values: values.astype(np.float64), "wrong type"),
    ],
)
def test_invalid_arrays_are_rejected(model, tmp_path, monkeypatch, name, change, message):
    def forge_arrays(proba, y, dtype=np.float16):
        arrays = compress_proba(proba, y)
        return {**arrays, name: change(arrays[name])}

    monkeypatch.setattr(oof_schema, "compress_proba", forge_arrays)
    file = forge(model, tmp_path / "model")
    assert message in load_error(file)


def test_invalid_predictions_are_not_saved(model, tmp_path):
    for change in (
        {"sources": {"classifier": "guess"}},
        {"classes": np.array(["a", "b", "c"])},
        {"proba": model.oof_.proba / 2},
        {"y": model.oof_.y[:-1]},
    ):
        changed = fit()
        changed.oof_ = replace(model.oof_, **change)
        with pytest.raises(ModelFileError, match="TextClassifier whose oof_ must be|other classes"):
            persist.save(changed, tmp_path / "model")
