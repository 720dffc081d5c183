import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cordwood.encoders import catalog, list_encoders, load_encoder
from cordwood.encoders import universal_sentence as use
from cordwood.encoders.catalog import find_encoder
from cordwood.encoders.choice import choose_encoder
from cordwood.encoders.distillation import distill
from cordwood.encoders.object_encoder import ObjectEncoder
from cordwood.encoders.static import StaticEncoder
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.exceptions import CordwoodError

MODELS = Path(__file__).parent / "models"


def install(name, model="bert"):
    target = catalog.encoders_dir() / name
    shutil.copytree(MODELS / model, target)
    return target


def test_folder():
    encoder = load_encoder(MODELS / "bert")
    assert isinstance(encoder, TransformerEncoder)
    assert load_encoder(str(MODELS / "bert")).fingerprint == encoder.fingerprint
    assert encoder.name == str(MODELS / "bert")


def test_estimators_share_weights():
    assert load_encoder(MODELS / "bert") is load_encoder(MODELS / "bert")
    assert load_encoder(MODELS / "bert") is not load_encoder(MODELS / "bert", max_tokens=5)


def test_changed_folder_is_loaded_again(copy_model):
    before = load_encoder(copy_model("bert")).fingerprint
    assert load_encoder(copy_model("bert", config={"layer_norm_eps": 0.125})).fingerprint != before


def test_installed_encoder():
    install("mine")
    encoder = load_encoder("mine")
    assert encoder.name == "mine"
    assert encoder.fingerprint == load_encoder(MODELS / "bert").fingerprint
    info = {info.name: info for info in list_encoders()}
    assert info["mine"].install is None
    assert info["minilm"].install == "cordwood encoders install minilm"


def test_static_folder(tmp_path):
    pytest.importorskip("tokenizers")
    folder = distill(load_encoder(MODELS / "bert"), tmp_path / "static")
    assert isinstance(load_encoder(folder), StaticEncoder)


def test_object():
    class Model:
        def encode(self, texts):
            return np.ones((len(texts), 4))

    encoder = load_encoder(Model())
    assert isinstance(encoder, ObjectEncoder)
    assert load_encoder(encoder) is encoder
    assert encoder.dimension == 4
    assert encoder.fingerprint is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonsense", "neither an installed encoder"),
        ("./nonsense", "neither an installed encoder"),
        ("", "encoder '' is neither an installed encoder"),
        ("minilm", "install it with: cordwood encoders install minilm"),
    ],
)
def test_missing_encoders_are_named(name, message):
    with pytest.raises(CordwoodError, match=message):
        load_encoder(name)


def test_auto_prefers_use(monkeypatch):
    install("minilm")
    assert load_encoder("auto").name == ("use" if use.is_installed() else "minilm")
    monkeypatch.setattr(use, "find_spec", lambda name: None)
    assert load_encoder("auto").name == "minilm"
    shutil.rmtree(catalog.encoders_dir())
    with pytest.raises(CordwoodError, match=r'install the default one with pip install "cordw'):
        load_encoder("auto")


def test_auto_ignores_encoders_whose_packages_are_missing(monkeypatch):
    install("minilm")
    monkeypatch.setattr(use, "find_spec", lambda name: None)
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    info = {info.name: info for info in list_encoders()}
    assert info["minilm"].install == 'pip install "cordwood[tokenizers]"'
    assert choose_encoder(["a text"], "en").name is None
    with pytest.raises(CordwoodError, match="no encoder is installed"):
        load_encoder("auto")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("config.json", "has no file config.json; it must be a sentence-transformers or model2vec"),
        ("1_Pooling/config.json", r"has no file 1_Pooling/config.json$"),
    ],
)
def test_folder_without_a_file(copy_model, file, message):
    folder = copy_model("bert")
    (folder / file).unlink()
    with pytest.raises(CordwoodError, match=f"^encoder folder .* {message}"):
        load_encoder(folder)


def test_folder_with_weights_in_another_format(copy_model):
    folder = copy_model("bert")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CordwoodError, match="such as pytorch_model.bin, are not read"):
        load_encoder(folder).encode(["a text"])


@pytest.mark.parametrize("file", ["config.json", "modules.json"])
def test_folder_with_json_of_another_type(copy_model, file):
    folder = copy_model("bert")
    (folder / file).write_text("1")
    with pytest.raises(CordwoodError, match=f"{file} must contain a JSON (object|array)"):
        load_encoder(folder)


# --- find_encoder -----------------------------------------------------------------------------


def test_encoder_of_a_model_is_found_by_name_or_fingerprint():
    original = load_encoder(MODELS / "bert", max_tokens=50)
    found = find_encoder(str(MODELS / "bert"), original.fingerprint, 50)
    assert found.fingerprint == original.fingerprint
    # The model was fitted on another computer, where the folder had another name.
    install("local", "bert")
    shutil.copytree(MODELS / "bert", catalog.encoders_dir() / "damaged")
    (catalog.encoders_dir() / "damaged" / "config.json").write_text("{")
    assert find_encoder("/elsewhere/bert", original.fingerprint, 50).name == "local"


def test_other_encoder_of_the_same_name_is_rejected():
    original = load_encoder(MODELS / "bert")
    install("mine", "distilbert")
    with pytest.raises(CordwoodError, match="another version of encoder 'mine'"):
        find_encoder("mine", original.fingerprint, 256)


def test_missing_encoder_of_a_model_is_named():
    with pytest.raises(
        CordwoodError, match="fitted with encoder 'minilm', which cannot be loaded: .* install mini"
    ):
        find_encoder("minilm", "0" * 64, 256)


# --- Hugging Face hub -------------------------------------------------------------------------


def fill_hub_cache(root, name):
    """Write the folders that huggingface_hub makes for a downloaded model."""
    repository = root / "hub" / f"models--{name.replace('/', '--')}"
    commit = "0123456789012345678901234567890123456789"
    shutil.copytree(MODELS / "bert", repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)


def test_downloaded_model_of_the_hub(monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants")
    fill_hub_cache(tmp_path, "some/model")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    encoder = load_encoder("some/model")
    assert encoder.name == "some/model"
    assert encoder.fingerprint == load_encoder(MODELS / "bert").fingerprint


def test_hub_is_not_contacted_without_permission(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    calls = []

    def download(name, **options):
        calls.append(options)
        if options["local_files_only"]:
            raise FileNotFoundError
        return str(MODELS / "bert")

    monkeypatch.setattr(hub, "snapshot_download", download)
    with pytest.raises(CordwoodError, match="`hf download some/model`, or set allow_download"):
        load_encoder("some/model")
    assert [call["local_files_only"] for call in calls] == [True]
    assert load_encoder("some/model", allow_download=True).name == "some/model"
    patterns = json.dumps(calls[-1]["allow_patterns"])
    assert "safetensors" in patterns
    assert ".bin" not in patterns and ".py" not in patterns


def test_failed_download_is_one_sentence(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def fail(name, **options):
        raise OSError("404 not found\nmany\nlines")

    monkeypatch.setattr(hub, "snapshot_download", fail)
    with pytest.raises(CordwoodError, match="cannot be downloaded: 404 not found$"):
        load_encoder("some/model", allow_download=True)
