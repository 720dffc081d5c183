"""The OpenAPI document, from the records of the requests."""

from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from cordwood.serve.protocols.hugging_face import EndpointRequest
from cordwood.serve.protocols.kserve_v1 import Instances
from cordwood.serve.protocols.label_studio import Config, PredictTasks, Setup
from cordwood.serve.protocols.mlflow import Invocation
from cordwood.serve.protocols.open_inference import InferRequest
from cordwood.serve.protocols.plain import ExplainRequest, PredictRequest
from cordwood.serve.service import Service

_REFERENCE = "#/components/schemas/{model}"
_JSON = "application/json"
_ERRORS = {
    "400": "The body cannot be read",
    "401": "The token is missing or wrong",
    "403": "The Host or Origin header is of another site",
    "404": "There is no such model",
    "408": "The body did not arrive in time",
    "413": "The body or the number of samples is above the limit",
    "415": "The Content-Type or Content-Encoding is not supported",
    "422": "A value is not valid",
    "429": "Too many requests of one address, or wrong tokens",
    "503": "Too many requests, or the limit of time is over",
}
# Paths with a body: the record, and what they do.
_POSTS: dict[str, tuple[type[BaseModel], str]] = {
    "/predict": (PredictRequest, "Predict texts, rows of a table, or numeric features"),
    "/explain": (ExplainRequest, "Explain predictions by words, columns and training samples"),
    "/": (EndpointRequest, "Text classification as an inference endpoint of Hugging Face"),
    "/invocations": (Invocation, "Predict as MLflow's scoring server"),
    "/v1/models/{model}:predict": (Instances, "Predict by version 1 of KServe's protocol"),
    "/v1/models/{model}:explain": (Instances, "Explain by version 1 of KServe's protocol"),
    "/v2/models/{model}/infer": (InferRequest, "Predict by the Open Inference Protocol"),
    "/setup": (Setup, "Connect a project of Label Studio"),
    "/validate": (Config, "Check a labelling configuration of Label Studio"),
}
_GETS = {
    "/": "The page",
    "/health": "Whether the server is up",
    "/version": "Version of cordwood",
    "/metrics": "Metrics in the format of Prometheus",
    "/models": "Models and limits",
    "/info": "The model, as Text Embeddings Inference describes it",
    "/versions": "Versions, as Label Studio lists them",
    "/v1/models/{model}": "Whether a model is ready, by version 1 of KServe's protocol",
    "/v2": "The server and its limits, by the Open Inference Protocol",
    "/v2/models/{model}": "Inputs and outputs of a model",
    "/v2/models/{model}/ready": "Whether a model is ready",
}


def make_document(service: Service) -> dict[str, Any]:
    """Return the document for the models of a service."""
    records = [record for record, _ in _POSTS.values()]
    pairs = [(record, "validation") for record in dict.fromkeys([*records, PredictTasks])]
    references, schemas = models_json_schema(
        pairs,  # type: ignore[arg-type]
        ref_template=_REFERENCE,
    )
    by_record = {record: schema for (record, _), schema in references.items()}
    names = [model.name for model in service.models]
    parameter = {"name": "model", "in": "path", "required": True, "schema": {"enum": names}}
    paths: dict[str, dict[str, Any]] = {}
    for path, summary in _GETS.items():
        paths.setdefault(path, {})["get"] = _operation(path, summary, parameter)
    for path, (record, summary) in _POSTS.items():
        operation = _operation(path, summary, parameter)
        schema: dict[str, Any] = by_record[record]
        if path == "/predict":
            schema = {"anyOf": [schema, by_record[PredictTasks]]}
        content = {_JSON: {"schema": schema}}
        operation["requestBody"] = {"required": True, "content": content}
        paths.setdefault(path, {})["post"] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cordwood",
            "version": version("cordwood"),
            "description": "Paths with a single segment also exist below /models/{model}.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(path: str, summary: str, parameter: dict[str, Any]) -> dict[str, Any]:
    error = {"type": "object", "additionalProperties": True}
    responses: dict[str, Any] = {
        status: {"description": text, "content": {_JSON: {"schema": error}}}
        for status, text in _ERRORS.items()
    }
    responses["200"] = {"description": "Success"}
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    if "{model}" in path:
        operation["parameters"] = [parameter]
    return operation
