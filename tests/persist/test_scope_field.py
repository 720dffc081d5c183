"""References for out-of-scope samples in model files."""

from dataclasses import replace

import numpy as np
import pytest

from cordwood import TextClassifier, load, persist
from cordwood.exceptions import DataError, ModelFileError
from model_files import forge, load_error, rewrite

TEXTS = [f"{word} film n{i % 9}" for i in range(12) for word in ("good", "bad", "odd")]
LABELS = np.array(["+", "-", "o"] * 12)


def fit(**params):
    return TextClassifier("nb", calibrate=False, **params).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def model():
    return fit(oof=True)


def test_reference_is_restored(model, tmp_path):
    found = load(persist.save(model, tmp_path / "model")).scope_
    assert found.signals == ("entropy", "unknown_terms")
    np.testing.assert_array_equal(found.values, model.scope_.values)
    np.testing.assert_array_equal(found.scores, model.scope_.scores)
    np.testing.assert_array_equal(found.frequencies, model.scope_.frequencies)


def test_frequencies_of_another_vocabulary_raise(model, tmp_path):
    changed = fit(oof=True)
    changed.scope_ = replace(model.scope_, frequencies=model.scope_.frequencies[1:])
    loaded = load(persist.save(changed, tmp_path / "model"))
    with pytest.raises(DataError, match="made for another model, with other terms"):
        loaded.detect_shift(TEXTS)


def test_model_without_reference_has_none(tmp_path):
    assert load(persist.save(fit(), tmp_path / "model")).scope_ is None


@pytest.mark.parametrize(
    "change",
    [
        {"signals": ("entropy",)},
        {"signals": ("entropy", "entropy")},
        {"signals": ("entropy", "surprise")},
        {"signals": ()},
        {"values": np.zeros((2, 3))},
        {"values": np.zeros((2, 0), np.float32)},
        {"values": np.float32([[1, 0], [0, 1]])},
        {"scores": np.float32([0, np.nan])},
        {"scores": np.float32([0, np.inf])},
        {"scores": np.zeros((2, 2), np.float32)},
        {"frequencies": np.int32([3, -1])},
        {"frequencies": np.int64([3, 1])},
        {"frequencies": np.zeros((2, 2), np.int32)},
        {"vectors": np.zeros((3, 4), np.int8)},  # without the signal
        {"signals": ("entropy", "encoder_distance")},  # without vectors
        {
            "signals": ("entropy", "encoder_distance"),
            "vectors": np.zeros((3, 4), np.float32),
        },
    ],
)
def test_invalid_references_are_not_saved(model, change, tmp_path):
    changed = fit()
    changed.scope_ = replace(model.scope_, **change)
    with pytest.raises(ModelFileError, match="scope_ must be"):
        persist.save(changed, tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"signals": ("entropy", ["distance"])},
        {"signals": ("entropy", "distance", "unknown_terms")},
        {"values": np.float32([[0, np.nan], [0, 1]])},
        {"values": np.zeros(4, np.float32)},
        {"scores": np.float32([1, 0])},
        {"frequencies": np.int32([3, -1])},
        {"signals": ("entropy", "encoder_distance"), "vectors": np.zeros((1, 4), np.int8)},
    ],
)
def test_invalid_references_in_files_are_rejected(model, change, tmp_path):
    changed = fit()
    changed.scope_ = replace(model.scope_, **change)
    assert "scope_ must be" in load_error(forge(changed, tmp_path / "model"))


@pytest.mark.parametrize("node", [[], {"signals": []}, {"signals": 1, "values": 0, "scores": 0}])
def test_references_of_the_wrong_structure_are_rejected(model, node, tmp_path):
    file = persist.save(model, tmp_path / "model")

    def change(tree):
        tree["model"]["fitted"]["scope_"] = node

    assert "out-of-scope samples" in load_error(rewrite(file, tmp_path / "changed", tree=change))
