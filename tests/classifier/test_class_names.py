"""Names of the classes as training samples of the member on embeddings."""

import numpy as np
import pytest

from cordwood import TextClassifier
from cordwood.classifier.class_names import to_words

# Words of one topic have similar vectors.
TOPICS = {"fruit": 0, "apple": 0, "pear": 0, "cars": 1, "wheel": 1, "brake": 1}


class Topics:
    """An encoder that knows topics, except that names of classes may be misleading."""

    fingerprint = "topics"

    def __init__(self, *, misleads=False):
        self.misleads = misleads
        self.fingerprint = f"topics {misleads}"

    def encode(self, texts):
        return [self._encode(text) for text in texts]

    def _encode(self, text):
        vector = np.full(4, 0.1)
        for word in text.split():
            sign = -1 if self.misleads and word in ("fruit", "cars") else 1
            if word in TOPICS:
                vector[TOPICS[word]] += sign
            else:
                vector[2 + len(word) % 2] += 0.5
        return vector


def fit(encoder, labels=("fruit", "cars"), n=6, **params):
    words = [["apple", "pear"], ["wheel", "brake"]]
    texts = [f"{words[i % 2][i // 2 % 2]} number {'x' * (i % 5)}" for i in range(n)]
    model = TextClassifier("embeddings", encoder=encoder, **params)
    return model.fit(texts, [labels[i % 2] for i in range(n)])


def class_vectors(model):
    return model.estimator_[-1].class_vectors


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))


def test_names_that_help_are_used():
    found = class_vectors(fit(Topics()))
    assert set(found) == {"fruit", "cars"}
    assert found["fruit"][0] == pytest.approx(
        np.array([1.1, 0.1, 0.1, 0.1]) / np.sqrt(1.24), abs=1e-3
    )


@pytest.mark.parametrize(
    "params",
    [
        {"encoder": Topics(misleads=True), "n": 40},  # names that harm
        {"encoder": Topics(), "labels": ("1", "2")},  # labels without words
        {"encoder": Topics(), "labels": (1, 2)},
        {"encoder": Topics(), "n": 202},  # many samples
    ],
    ids=["harmful", "digits", "numbers", "many samples"],
)
def test_other_names_are_not_used(params):
    assert class_vectors(fit(**params)) is None


def test_vectors_without_a_cache_are_not_computed_twice():
    class Counting(Topics):
        n_calls = 0

        def encode(self, texts):
            Counting.n_calls += len(texts)
            return super().encode(texts)

    encoder = Counting()
    encoder.fingerprint = None
    assert class_vectors(fit(encoder)) is None


def test_words_of_labels():
    assert to_words("comp.sys.ibm.pc.hardware") == "comp sys ibm pc hardware"
    assert to_words("Card arrival") == "card arrival"
    assert [to_words(label) for label in ("", "-", "C", "7", None, 1.5)] == [""] * 6
