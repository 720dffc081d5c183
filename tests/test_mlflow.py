"""The flavor of MLflow, with MLflow itself."""

import json

import numpy as np
import pandas as pd
import pytest

from cordwood import TextClassifier
from cordwood.exceptions import CordwoodError
from matrix import LABELS, TEXTS

mlflow = pytest.importorskip("mlflow", reason="needs mlflow-skinny, of the group protocols")
flavor = pytest.importorskip("cordwood.mlflow")

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def model():
    return TextClassifier("nb").fit(TEXTS, LABELS)


def test_logged_model_predicts_as_the_model(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where MLflow writes artifacts
    pytest.importorskip("mlflow.store.tracking.sqlalchemy_store", reason="needs all of mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment("tests")
    with mlflow.start_run():
        info = flavor.log_model(model, registered_model_name="reviews")
    logged = mlflow.pyfunc.load_model(info.model_uri)
    for given in (TEXTS[:3], pd.DataFrame({"body": TEXTS[:3]})):
        found = logged.predict(given)
        assert found.columns.tolist() == ["label", "probability"]
        assert found["label"].tolist() == model.predict(TEXTS[:3]).tolist()
        np.testing.assert_allclose(
            found["probability"], model.predict_proba(TEXTS[:3]).max(axis=1), atol=0.001
        )
    again = flavor.load_model("models:/reviews/1")
    assert again.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_saved_folder_has_no_pickle(model, tmp_path):
    flavor.save_model(model, tmp_path / "folder")
    names = sorted(path.name for path in (tmp_path / "folder").iterdir())
    assert names == ["MLmodel", "model.cordwood", "python_env.yaml", "requirements.txt"]
    assert "cordwood==" in (tmp_path / "folder" / "requirements.txt").read_text()
    signature = mlflow.models.get_model_info(str(tmp_path / "folder")).signature
    assert json.loads(signature.to_dict()["inputs"]) == [{"type": "string", "required": True}]
    with pytest.raises(CordwoodError, match="is not empty; give another path"):
        flavor.save_model(model, tmp_path / "folder")


def test_several_labels_and_tables(tmp_path):
    several = TextClassifier("nb").fit(TEXTS, [[label] for label in LABELS])
    flavor.save_model(several, tmp_path / "several")
    found = mlflow.pyfunc.load_model(str(tmp_path / "several")).predict(TEXTS[:2])
    assert found["label"].tolist() == [list(each) for each in several.predict(TEXTS[:2])]
    frame = pd.DataFrame({"title": TEXTS, "size": np.arange(len(TEXTS), dtype=float)})
    table = TextClassifier("nb").fit(frame, LABELS)
    flavor.save_model(table, tmp_path / "table")
    found = mlflow.pyfunc.load_model(str(tmp_path / "table")).predict(frame)
    assert found["label"].tolist() == table.predict(frame).tolist()


def test_changed_file_and_other_models_are_rejected(model, tmp_path):
    flavor.save_model(model, tmp_path / "folder")
    TextClassifier("nb").fit(TEXTS[::-1], LABELS).save(tmp_path / "folder" / "model.cordwood")
    with pytest.raises(CordwoodError, match="has changed since it was logged"):
        flavor.load_model(str(tmp_path / "folder"))
    with pytest.raises(CordwoodError, match="must be a TextClassifier; got a list"):
        flavor.save_model([], tmp_path / "other")
    with pytest.raises(CordwoodError, match="the model has no parameter 'top_k'"):
        flavor._load_pyfunc(str(tmp_path / "folder" / "model.cordwood")).predict(
            ["a"], {"top_k": 1}
        )
