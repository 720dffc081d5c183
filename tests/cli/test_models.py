import json
from pathlib import Path

import pytest

from cordwood import persist, recipes
from cordwood.cli.main import main

TEXTS = ["bread soup", "salt bread", "goal team", "ball goal"]
LABELS = ["food", "food", "sport", "sport"]
CRAFTED = sorted((Path(__file__).parents[1] / "persist" / "regressions").glob("*.cordwood"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"text": t, "label": k}) for t, k in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    return tmp_path


@pytest.mark.parametrize("file", CRAFTED, ids=lambda file: file.stem)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_malicious_model_is_an_error_about_its_file(folder, capsys, file, command):
    assert main([command, str(file), "rows.jsonl", "--json"]) == 1
    error = capsys.readouterr().err
    assert file.name in error
    assert "bug" not in error


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "report"])
def test_other_estimators_are_rejected(folder, capsys, command):
    persist.save(recipes.make("svm").fit(TEXTS, LABELS), "model.cordwood")
    assert main([command, "model.cordwood", "rows.jsonl"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("cordwood: model.cordwood contains a Pipeline; the command needs a mod")
