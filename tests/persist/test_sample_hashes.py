import base64
import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood import LinearSVMClassifier, persist
from cordwood._schema.errors import Rejected
from cordwood.exceptions import ModelFileError
from cordwood.persist import sample_hashes
from cordwood.persist.model_card import parse_card
from cordwood.persist.sample_hashes import SampleHashes

TEXTS = [f"text number {number}" for number in range(500)]


def test_contained_samples_are_found():
    hashes = SampleHashes.from_samples(TEXTS)
    found = hashes.contain([*TEXTS[:3], "  text   number\t4 ", "another text"])
    assert found.tolist() == [True, True, True, True, False]
    assert SampleHashes.decode(hashes.encode()).values.tolist() == hashes.values.tolist()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_rows_of_matrices_are_found(make):
    X = np.random.RandomState(0).poisson(0.5, size=(40, 12)).astype(np.float32)
    hashes = SampleHashes.from_samples(make(X))
    assert hashes.contain(make(X[5:9])).all()
    assert not hashes.contain(make(X[5:9] + 10)).any()


def test_four_bytes_per_sample_at_most():
    content = base64.b64decode(SampleHashes.from_samples([*TEXTS, *TEXTS]).encode())
    assert len(content) <= 4 * len(TEXTS)


def test_many_samples_are_stored_in_part(monkeypatch):
    monkeypatch.setattr(sample_hashes, "MAX_HASHES", 100)
    hashes = SampleHashes.from_samples(TEXTS)
    assert len(hashes.values) == 100
    assert not hashes.are_complete
    assert hashes.contain(TEXTS).sum() == 100


def test_hashes_of_a_million_samples_fit_into_a_small_file(tmp_path):
    # That compress well, so that the file may need little memory.
    hashes = SampleHashes(np.arange(sample_hashes.MAX_HASHES, dtype=np.uint32)).encode()
    model = LinearSVMClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    record = persist.TrainingRecord(sample_hashes=hashes)
    file = persist.save(model, tmp_path / "model.cordwood", provenance=record)
    assert persist.read_model_card(file).sample_hashes == hashes
    assert persist.load(file).predict([[2.0]]) == ["yes"]


def test_chance_is_a_collision_rate():
    # With every 4096th possible hash, one of 4096 other samples is found by chance.
    hashes = SampleHashes(np.arange(0, 2**32, 2**12, dtype=np.uint32))
    others = [f"other {number}" for number in range(20_000)]
    n_found = int(hashes.contain(others).sum())
    expected = hashes.expected_by_chance(len(others))
    assert expected == pytest.approx(20_000 / 2**12)
    assert abs(n_found - expected) < 5 * np.sqrt(expected)
    assert not hashes.exceed_chance(n_found, len(others))
    assert hashes.exceed_chance(n_found + 20, len(others))
    assert not hashes.exceed_chance(0, len(others))


@pytest.mark.parametrize(
    "text",
    [
        "not base64!",
        base64.b64encode(b"123").decode(),
        base64.b64encode(np.array([2, 1], "<u4").tobytes()).decode(),
        base64.b64encode(np.array([1, 1], "<u4").tobytes()).decode(),
        7,
    ],
)
def test_invalid_hashes_are_neither_saved_nor_loaded(text, tmp_path):
    model = LinearSVMClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    with pytest.raises(ModelFileError, match="invalid hashes"):
        persist.save(
            model,
            tmp_path / "model.cordwood",
            provenance=persist.TrainingRecord(sample_hashes=text),
        )
    card = persist.read_model_card(persist.save(model, tmp_path / "model.cordwood"))
    with pytest.raises(Rejected, match="invalid hashes"):
        parse_card(json.dumps({**asdict(card), "sample_hashes": text}).encode())
