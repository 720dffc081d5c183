import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from cordwood.encoders.distillation import distill
from cordwood.encoders.static import StaticEncoder
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.exceptions import CordwoodError

pytest.importorskip("tokenizers")
safetensors = pytest.importorskip("safetensors.numpy")

MODELS = Path(__file__).parent / "models"


@pytest.fixture
def distilled(tmp_path):
    return distill(TransformerEncoder(MODELS / "bert"), tmp_path / "distilled", n_components=12)


def read_table(folder):
    return safetensors.load_file(folder / "model.safetensors")["embeddings"]


def write_model(folder, **tensors):
    safetensors.save_file(tensors, folder / "model.safetensors")


def test_vector_is_the_mean_of_the_tokens(distilled, texts):
    tokenizers = pytest.importorskip("tokenizers")
    table = read_table(distilled).astype(float)
    tokenizer = tokenizers.Tokenizer.from_file(str(distilled / "tokenizer.json"))
    unknown = tokenizer.token_to_id("[UNK]")
    encoded = StaticEncoder(distilled, 10_000).encode(texts)
    for text, vector in zip(texts, encoded, strict=True):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        rows = table[[token for token in ids if token != unknown]]
        mean = rows.mean(axis=0) if len(rows) else np.zeros(12)
        norm = np.linalg.norm(mean)
        np.testing.assert_allclose(vector, mean / norm if norm else mean, atol=1e-5)


def test_matches_model2vec(distilled, texts):
    model2vec = pytest.importorskip("model2vec")
    expected = model2vec.StaticModel.from_pretrained(distilled).encode(texts, max_length=None)
    np.testing.assert_allclose(StaticEncoder(distilled, 10_000).encode(texts), expected, atol=1e-3)


def test_text_without_known_tokens_is_zero(distilled):
    assert not StaticEncoder(distilled).encode(["", "☃☃☃"]).any()


def test_weights_and_shared_vectors(distilled, texts):
    plain = StaticEncoder(distilled).encode(texts)
    table = read_table(distilled)
    order = np.random.default_rng(0).permutation(len(table))
    weights = np.full(len(table), 2.0, np.float32)
    inverse = np.argsort(order).astype(np.int64)
    write_model(distilled, embeddings=table[order] / 2, weights=weights, mapping=inverse)
    np.testing.assert_allclose(StaticEncoder(distilled).encode(texts), plain, atol=1e-3)


def test_long_texts_are_truncated(distilled):
    encoded = StaticEncoder(distilled, 4).encode_texts(["a b c d e", "a b c d", "e"])
    assert encoded.truncated.tolist() == [True, False, False]
    np.testing.assert_array_equal(encoded.vectors[0], encoded.vectors[1])


def test_fingerprint_and_pickle(distilled, texts):
    encoder = StaticEncoder(distilled)
    assert encoder.fingerprint != StaticEncoder(distilled, 5).fingerprint
    loaded = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(loaded.encode(texts), encoder.encode(texts))
    pickled = pickle.dumps(encoder)
    write_model(distilled, embeddings=read_table(distilled) * 2)
    assert StaticEncoder(distilled).fingerprint != encoder.fingerprint
    with pytest.raises(CordwoodError, match="has changed since it was pickled"):
        pickle.loads(pickled)


def test_invalid_tables_raise(distilled):
    table = read_table(distilled)
    write_model(distilled, embeddings=table[:-1])
    with pytest.raises(CordwoodError, match="but the tokenizer has"):
        StaticEncoder(distilled).encode(["a"])
    write_model(distilled, other=table)
    with pytest.raises(CordwoodError, match="no two-dimensional array 'embeddings'"):
        StaticEncoder(distilled).encode(["a"])


# --- distillation -----------------------------------------------------------------------------


def test_distilled_vectors_are_weighted_projections_of_token_vectors(tmp_path):
    encoder = TransformerEncoder(MODELS / "bert")
    calls = []
    folder = distill(encoder, tmp_path / "all", progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1]
    table = read_table(folder).astype(float)
    vocabulary = encoder.tokenizer.get_vocab()
    special = [vocabulary[token] for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    assert not table[special].any()
    tokens = np.setdiff1d(np.arange(len(table)), special)
    start, end = vocabulary["[CLS]"], vocabulary["[SEP]"]
    states = encoder.pool_token_ids([np.array([start, token, end]) for token in tokens])
    # With all components, the projection is a rotation and keeps distances.
    inverse_rank = 1 / np.arange(2, len(tokens) + 2)
    weights = 1e-4 / (1e-4 + inverse_rank / inverse_rank.sum())
    unweighted = table[tokens] / weights[:, None]
    centered = states - states.mean(axis=0)
    np.testing.assert_allclose(unweighted @ unweighted.T, centered @ centered.T, atol=0.02)


def test_components_are_sorted_by_variance(distilled):
    variance = np.square(read_table(distilled).astype(float)).sum(axis=0)
    assert variance[0] > 2 * variance[-1]


def test_existing_output_is_not_replaced(distilled):
    before = (distilled / "config.json").read_bytes()
    with pytest.raises(CordwoodError, match="already exists and is not empty"):
        distill(TransformerEncoder(MODELS / "bert"), distilled)
    assert (distilled / "config.json").read_bytes() == before


def test_only_transformers_are_distilled(distilled, tmp_path):
    with pytest.raises(CordwoodError, match="only transformers can be distilled"):
        distill(StaticEncoder(distilled), tmp_path / "again")


def test_config_names_the_layout(distilled):
    config = json.loads((distilled / "config.json").read_text())
    assert config["model_type"] == "model2vec"
    assert config["hidden_dim"] == 12
