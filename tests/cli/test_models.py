import json

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from cordwood import api, persist
from cordwood.cli.main import main

TEXTS = ["bread soup", "salt bread", "goal team", "ball goal"]
LABELS = ["food", "food", "sport", "sport"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"text": t, "label": k}) for t, k in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    return tmp_path


def add_class(model):
    model[-1].classes_ = np.append(model[-1].classes_, "other")


def replace_classes(model):
    model[-1].classes_ = np.array([[1.0, np.nan]])


def drop_coefficients(model):
    model[-1].coef_ = model[-1].coef_[:, :1]


def shuffle_types(model):
    model[-1].temperature_ = "warm"


@pytest.mark.parametrize("damage", [add_class, replace_classes, drop_coefficients, shuffle_types])
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_malicious_model_is_an_error_about_its_file(folder, capsys, damage, command):
    model = api.train(TEXTS, LABELS, recipe="svm")
    damage(model)
    try:
        persist.save(model, "model.cordwood")
    except persist.ModelFileError:
        pytest.skip("the file is already rejected when it is loaded")
    assert main([command, "model.cordwood", "rows.jsonl", "--json"]) == 1
    error = capsys.readouterr().err
    assert "model.cordwood" in error
    assert "bug" not in error


@pytest.mark.parametrize(
    "columns", [{"text": 5}, {"text": []}, {"label": {"a": 1}}, {"id": [None]}]
)
def test_columns_of_a_model_must_be_names(folder, capsys, columns):
    persist.save(api.train(TEXTS, LABELS, recipe="svm"), "model.cordwood", columns=columns)
    assert main(["predict", "model.cordwood", "rows.jsonl"]) == 1
    (name,) = columns
    assert f"model.cordwood is damaged: its {name} column is" in capsys.readouterr().err


def test_model_must_be_a_classifier(folder, capsys):
    persist.save(StandardScaler().fit([[1.0], [2.0]]), "model.cordwood")
    assert main(["predict", "model.cordwood", "rows.jsonl"]) == 1
    assert "has a model of type StandardScaler, which is not a class" in capsys.readouterr().err
