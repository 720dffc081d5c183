"""The commands `encoders` and `cache`."""

import json
import shutil
from pathlib import Path

import pytest

from cordwood.cli import cache as cache_command
from cordwood.cli import encoders as command
from cordwood.cli.main import main
from cordwood.encoders import catalog
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.text import EmbeddingVectorizer

pytest.importorskip("tokenizers")

MODEL = Path(__file__).parents[1] / "encoders" / "models" / "bert"


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))
    monkeypatch.setenv("CORDWOOD_DATA_DIR", str(tmp_path / "user-data"))
    monkeypatch.setattr(command, "_MIN_SECONDS", 0.01)


@pytest.fixture
def installed():
    shutil.copytree(MODEL, catalog.encoders_dir() / "mine")


@pytest.fixture
def call(capsys):
    def run(*arguments, code=0):
        assert main(arguments) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return run


def test_list(call, installed):
    lines = call("encoders").splitlines()
    assert lines[0].split() == [
        "name", "installed", "dimension", "texts/s", "languages", "description",
    ]  # fmt: skip
    (mine,) = (line.split() for line in lines if line.startswith("mine"))
    assert mine[1:3] == ["yes", "16"]
    assert "Install minilm: cordwood encoders install minilm" in lines


def test_list_as_json(call, installed):
    records = {r["name"]: r for r in json.loads(call("encoders", "--json"))["encoders"]}
    assert records["mine"]["dimension"] == 16
    assert records["mine"]["texts_per_second"] > 0
    assert records["minilm"]["installed"] is False


def test_damaged_encoder_is_listed_with_the_reason(call, installed):
    (catalog.encoders_dir() / "mine" / "config.json").write_text("{")
    assert "mine cannot be used: " in call("encoders")


def test_distill(call, tmp_path):
    target = tmp_path / "static"
    out = call("encoders", "distill", str(MODEL), "-o", str(target))
    assert f"EmbeddingVectorizer('{target}')" in out
    assert EmbeddingVectorizer(target).fit_transform(["a tree"]).shape == (1, 16)


def test_folder_of_distill_is_created_before_the_work(call, tmp_path, monkeypatch):
    monkeypatch.setattr(TransformerEncoder, "pool_token_ids", None)
    (tmp_path / "file").touch()
    error = call("encoders", "distill", str(MODEL), "-o", str(tmp_path / "file" / "new"), code=1)
    assert "Not a directory" in error or "cannot find" in error


def test_second_installation_does_not_announce_a_download(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "install_encoder", lambda name, report: tmp_path)
    assert main(["encoders", "install", "minilm"]) == 0
    captured = capsys.readouterr()
    assert "downloading" not in captured.err
    assert "cordwood train DATA --encoder minilm" in captured.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["install"], 2, "install requires the name of an encoder"),
        (["install", "nonsense"], 1, "those that can are: minilm"),
        (["distill", "nonsense", "-o", "x"], 1, "encoder 'nonsense' is neither"),
        (["distill", "nonsense"], 2, "give it with -o"),
        (["distill", str(MODEL), "-o", __file__], 1, "is a file; give the name of a new folder"),
        (["install", "use"], 1, 'install it with pip install "cordwood[embeddings]"'),
        (["-o", "x"], 2, "--output requires the action distill"),
        (["remove"], 2, "remove"),
    ],
)
def test_invalid_calls_are_one_line(call, arguments, code, message):
    error = call("encoders", *arguments, code=code)
    assert message in error
    assert error.count("\n") == 1


def test_cache_is_shown_and_cleared(call):
    assert "0.0 MB of at most" in call("cache")
    EmbeddingVectorizer(MODEL).fit(["a tree", "a dog"])
    assert str(MODEL) in call("cache")
    (shown,) = json.loads(call("cache", "--json"))["caches"]
    assert (shown["n_vectors"], shown["dimension"], shown["max_tokens"]) == (2, 16, 256)
    assert "no vectors of encoder 'other'" in call("cache", "clear", "--encoder", "other", code=1)
    assert "deleted   2 vectors" in call("cache", "clear", "--encoder", str(MODEL))
    assert json.loads(call("cache", "--json"))["caches"] == []


def test_damaged_cache_is_shown_and_cleared(call, tmp_path):
    file = tmp_path / "user-cache" / "embeddings" / "folder" / "vectors.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"not a database" * 100_000)
    out = call("cache")
    assert "1.4 MB of at most" in out
    assert "unreadable" in out
    assert "(1.4 MB)" in call("cache", "clear")
    assert not file.exists()


def test_cache_that_cannot_be_deleted(call, monkeypatch):
    EmbeddingVectorizer(MODEL).fit(["a tree"])
    monkeypatch.setattr(cache_command, "delete_cache", lambda path: False)
    assert "cannot be deleted; check its permissions" in call("cache", "clear", code=1)


def test_cache_without_a_home_directory(call, monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache_command, "default_cache_dir", fail)
    assert "set CORDWOOD_CACHE_DIR" in call("cache", code=1)
