import json
from pathlib import Path

import pytest

MODELS = Path(__file__).parent / "models"


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    """Keep tests away from the encoders and the cache of the user."""
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))
    monkeypatch.setenv("CORDWOOD_DATA_DIR", str(tmp_path / "user-data"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


@pytest.fixture
def texts():
    return json.loads((MODELS / "texts.json").read_text())


@pytest.fixture
def copy_model(tmp_path):
    """Return a function that copies a model and changes values in its JSON files."""

    def copy(name="bert", **changes):
        target = tmp_path / "copies" / name
        for source in (MODELS / name).rglob("*"):
            if source.is_file():
                copied = target / source.relative_to(MODELS / name)
                copied.parent.mkdir(parents=True, exist_ok=True)
                copied.write_bytes(source.read_bytes())
        for file, values in changes.items():
            path = target / f"{file.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            old = json.loads(path.read_text()) if path.exists() else {}
            path.write_text(json.dumps(values if isinstance(values, list) else {**old, **values}))
        return target

    return copy
