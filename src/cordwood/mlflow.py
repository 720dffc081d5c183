"""Flavor of MLflow: a `TextClassifier` is logged and loaded as its model file, without pickles.

MLflow imports this module wherever a logged model is used, also in the workers of `spark_udf`.
"""

import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlflow
from mlflow import pyfunc
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, Schema
from pandas import DataFrame

from cordwood.classifier.batch_predictor import BatchPredictor, load_once
from cordwood.classifier.files import compute_digest, load
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.exceptions import CordwoodError

FLAVOR = "cordwood"
_FILE = "model.cordwood"
_LIBRARIES = ("cordwood", "numpy", "pandas", "scikit-learn", "scipy")


def save_model(
    model: TextClassifier,
    path: str | Path,
    mlflow_model: Any = None,
    *,
    signature: Any = None,
    pip_requirements: Sequence[str] | None = None,
    bundle_encoder: bool = True,
) -> None:
    """Save a fitted model as a folder of MLflow.

    Parameters
    ----------
    model : TextClassifier
        Fitted model.
    path : str or path-like
        Folder to create.
    mlflow_model : mlflow.models.Model, default=None
        Description to complete, which `log_model` passes.
    signature : mlflow.models.ModelSignature, default=None
        Columns of input and output. By default, a model of texts has one of any name.
    pip_requirements : sequence of str, default=None
        Packages that a server of the model installs; by default, the versions of today.
    bundle_encoder : bool, default=True
        Whether the file contains the sentence encoder of the model, so that it need not be
        installed where the model is used.

    Examples
    --------
    >>> cordwood.mlflow.save_model(model, "folder")  # doctest: +SKIP
    """
    if not isinstance(model, TextClassifier):
        raise CordwoodError(f"model must be a TextClassifier; got a {type(model).__name__}")
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise CordwoodError(f"{folder} is not empty; give another path")
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / _FILE, bundle_encoder=bundle_encoder)
    description = Model() if mlflow_model is None else mlflow_model
    if signature is not None or model.input_kind_ == "text":
        description.signature = _make_signature(model) if signature is None else signature
    pyfunc.add_to_model(description, __name__, data=_FILE, python_env="python_env.yaml")
    digest = compute_digest(folder / _FILE)
    description.add_flavor(FLAVOR, data=_FILE, sha256=digest, version=version("cordwood"))
    description.save(str(folder / "MLmodel"))
    required = pip_requirements or [f"{name}=={version(name)}" for name in _LIBRARIES]
    (folder / "requirements.txt").write_text("\n".join([*required, ""]), encoding="utf-8")
    (folder / "python_env.yaml").write_text(
        f"python: {platform.python_version()}\n"
        "build_dependencies:\n- pip\ndependencies:\n- -r requirements.txt\n",
        encoding="utf-8",
    )


def log_model(model: TextClassifier, name: str = "model", **options: Any) -> Any:
    """Log a fitted model to the active run of MLflow.

    Parameters
    ----------
    model : TextClassifier
        Fitted model.
    name : str, default="model"
        Name of the logged model.
    **options : dict
        Those of `save_model` and of ``mlflow.models.Model.log``, such as
        ``registered_model_name="reviews"``.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Examples
    --------
    >>> info = cordwood.mlflow.log_model(model)  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model(info.model_uri).predict(["a text"])  # doctest: +SKIP
    """
    return Model.log(None, sys.modules[__name__], name=name, model=model, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> TextClassifier:
    """Load a logged model as a `TextClassifier`.

    Parameters
    ----------
    model_uri : str
        Such as ``"models:/reviews/1"``, or the path of a folder.
    dst_path : str, default=None
        Folder to which a remote model is copied.

    Returns
    -------
    TextClassifier
        The model; its file is compared with the digest of the description.

    Examples
    --------
    >>> cordwood.mlflow.load_model("models:/reviews/1").explain(["a text"])  # doctest: +SKIP
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise CordwoodError(f"{model_uri} was not logged by cordwood.mlflow")
    if compute_digest(folder / _FILE) != flavors[FLAVOR]["sha256"]:
        raise CordwoodError(f"{folder / _FILE} has changed since it was logged; log it again")
    model: TextClassifier = load(folder / _FILE)
    return model


class _Predictor:
    """What `mlflow.pyfunc` calls."""

    def __init__(self, path: str) -> None:
        self._predict = BatchPredictor(path)
        self._kind = load_once(path, self._predict.digest)[0].input_kind_

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """Return a dataframe with the label of each sample and its probability."""
        if params:
            raise CordwoodError(f"the model has no parameter {min(params)!r}")
        given = DataFrame(model_input)
        if self._kind == "text" and given.shape[1] == 1:
            return self._predict(given.iloc[:, 0])  # whatever its name
        if self._kind == "numeric":
            return DataFrame(self._predict(given.to_numpy()))
        found = self._predict(given)
        return found[[name for name in found.columns if name not in given.columns]]


def _load_pyfunc(path: str) -> _Predictor:
    return _Predictor(path)


def _make_signature(model: TextClassifier) -> Any:
    # Without a name, so that lists of texts are valid, too.
    inputs = Schema([ColSpec("string")])
    if model.target_kind_ != "label":
        return ModelSignature(inputs=inputs)
    outputs = Schema([ColSpec("string", "label"), ColSpec("double", "probability")])
    return ModelSignature(inputs=inputs, outputs=outputs)
