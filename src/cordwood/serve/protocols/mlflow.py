"""Protocol of MLflow's scoring server, which SageMaker and Vertex AI share: /invocations."""

import csv
import io
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from cordwood.serve.calls import Call, parse, respond
from cordwood.serve.errors import RequestError
from cordwood.serve.models import Options, Prediction, ServedModel
from cordwood.serve.protocols.tables import from_columns, from_records, from_values

_SHAPES = ("dataframe_split", "dataframe_records", "inputs", "instances")


class Split(BaseModel):
    """A dataframe in the orientation "split"."""

    columns: list[str]
    data: list[list[Any]]
    index: list[Any] | None = None


class Params(BaseModel):
    """Parameters of a call."""

    model_config = ConfigDict(extra="forbid")

    probabilities: bool = Field(default=False, description="return scores beside the labels")
    top_k: int | None = Field(
        default=None, ge=1, description="return the scores of the best labels"
    )


class Invocation(BaseModel):
    """Body of `POST /invocations`: one of four shapes."""

    model_config = ConfigDict(extra="forbid")

    dataframe_split: Split | None = None
    dataframe_records: list[dict[str, Any]] | None = None
    inputs: list[Any] | dict[str, list[Any]] | str | None = None
    instances: list[Any] | dict[str, list[Any]] | None = None
    params: Params | None = None
    parameters: Params | None = Field(default=None, description="params, as Vertex AI spells it")


def error_body(error: RequestError) -> dict[str, Any]:
    """Return the body of an error as MLflow has it, without a stack trace."""
    code = "BAD_REQUEST" if error.status < 500 else "INTERNAL_ERROR"
    return {"error_code": code, "message": error.sentence}


async def invoke(call: Call) -> Response:
    """Handle `POST /invocations`."""
    if call.content_type == "text/csv":
        samples, params = _read_csv(call.model, await call.read()), Params()
    elif call.content_type in ("", "application/json"):
        body = parse(Invocation, await call.json())
        samples, params = (
            _read_samples(call.model, body),
            body.params or body.parameters or Params(),
        )
    else:
        raise RequestError(415, "the Content-Type must be application/json or text/csv")
    model = call.model
    found = await call.service.predict(call.trace, model, samples, Options())
    return respond({"predictions": [_format(model, each, params) for each in found]})


def _read_samples(model: ServedModel, body: Invocation) -> list[Any]:
    given = [name for name in _SHAPES if getattr(body, name) is not None]
    if len(given) != 1:
        raise RequestError(400, f"the body must have exactly one of the keys {', '.join(_SHAPES)}")
    if body.dataframe_split is not None:
        columns, data = body.dataframe_split.columns, body.dataframe_split.data
        if any(len(row) != len(columns) for row in data):
            raise RequestError(
                422, "dataframe_split.data must have one value per column in each row"
            )
        return from_records(model, [dict(zip(columns, row, strict=True)) for row in data])
    if body.dataframe_records is not None:
        return from_records(model, body.dataframe_records)
    values = body.inputs if body.inputs is not None else body.instances
    if isinstance(values, str):
        return [values]
    return (
        from_columns(model, values)
        if isinstance(values, dict)
        else from_values(model, values or [])
    )


def _read_csv(model: ServedModel, body: bytes) -> list[Any]:
    try:
        rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise RequestError(400, f"the body is not valid CSV in UTF-8: {error}") from None
    if any(None in row or None in row.values() for row in rows):
        raise RequestError(422, "each row of the CSV must have one value per column of its header")
    if model.kind == "numeric":
        return [[_to_number(value) for value in row.values()] for row in rows]
    return from_records(model, rows)


def _to_number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise RequestError(422, f"{value[:50]!r} is not a number") from None


def _format(model: ServedModel, found: Prediction, params: Params) -> Any:
    if params.top_k is not None:
        return rank(model, found)[: params.top_k]
    if not params.probabilities:
        return found.label
    return {"label": found.label, "score": found.probability}


def rank(model: ServedModel, found: Prediction) -> list[dict[str, Any]]:
    """Return all labels with their scores, the best first."""
    pairs = sorted(zip(model.classes, found.proba, strict=True), key=lambda pair: -pair[1])
    return [{"label": str(label), "score": score} for label, score in pairs]
