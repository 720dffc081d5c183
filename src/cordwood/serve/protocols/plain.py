"""The protocol of cordwood itself: samples as JSON or NDJSON, predictions with probabilities."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response, StreamingResponse

from cordwood.explain.explanation import Explanation
from cordwood.serve.calls import Call, parse, parse_json, respond
from cordwood.serve.errors import RequestError
from cordwood.serve.models import Options, Prediction, ServedModel

NDJSON = (
    "application/x-ndjson",
    "application/jsonl",
    "application/ndjson",
    "application/jsonlines",
)
_LINES_TOGETHER = 256

Row = dict[str, str | int | float | bool | None]


class Choices(BaseModel):
    """What to predict beside labels and probabilities, as in `TextClassifier.classify`."""

    model_config = ConfigDict(extra="forbid")

    coverage: float | None = Field(
        default=None, gt=0, lt=1, description="probability of prediction sets"
    )
    class_conditional: bool = False
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    max_error: float | None = Field(default=None, gt=0, lt=1)
    unknown: float | None = Field(default=None, ge=0, le=1)
    top: int | None = Field(default=None, ge=1, description="number of classes with probabilities")

    def to_options(self) -> Options:
        """Return the options of the model."""
        return Options(*(getattr(self, name) for name in Options._fields))


class Samples(BaseModel):
    """Samples of the kind of the model: texts, rows of a table, or numeric features."""

    model_config = ConfigDict(extra="forbid")

    texts: list[str] | None = None
    rows: list[Row] | None = None
    features: list[list[float]] | None = None
    model: str | None = Field(
        default=None, description="name of the model, by default the first one"
    )

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        given = [each for each in (self.texts, self.rows, self.features) if each is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of texts, rows and features")
        return self

    def find(self, call: Call) -> tuple[ServedModel, list[Any]]:
        """Return the model, and its samples."""
        model = call.model if self.model is None else call.service.models.get(self.model)
        kinds = {"text": self.texts, "table": self.rows, "numeric": self.features}
        samples = kinds[model.kind]
        if samples is None:
            raise RequestError(422, f"the model {model.name!r} takes {model.needs()}")
        return model, list(samples)


class PredictRequest(Samples, Choices):
    """Body of `POST /predict`."""


class ExplainRequest(Samples):
    """Body of `POST /explain`."""

    labels: list[str] | None = Field(
        default=None, min_length=1, description="classes to explain, by default the predicted one"
    )


async def predict(call: Call, values: Any) -> Response:
    """Handle `POST /predict` with texts, rows or features."""
    body = parse(PredictRequest, values)
    model, samples = body.find(call)
    found = await call.service.predict(call.trace, model, samples, body.to_options())
    predictions = [to_dict(model, each, body.top) for each in found]
    return respond({"model": model.name, "version": model.version, "predictions": predictions})


async def explain(call: Call) -> Response:
    """Handle `POST /explain`."""
    body = parse(ExplainRequest, await call.json())
    model, samples = body.find(call)
    labels = [model.find_label(label) for label in body.labels or ()]
    found = await call.service.explain(call.trace, model, samples)
    explanations = [explanation_to_dict(each, labels) for each in found]
    return respond({"model": model.name, "version": model.version, "explanations": explanations})


def to_dict(model: ServedModel, found: Prediction, top: int | None = None) -> dict[str, Any]:
    """Return a prediction in built-in types."""
    # The stable order of `rank_labels`: of equal probabilities, the first class.
    ranked = sorted(zip(model.classes, found.proba, strict=True), key=lambda pair: -pair[1])[:top]
    record: dict[str, Any] = {"label": found.label, "probability": found.probability}
    if model.is_multilabel:
        record = {"labels": found.label}
    record["probabilities"] = {str(label): value for label, value in ranked}
    optional = {
        "set": found.set,
        "is_decided": found.is_decided,
        "is_in_scope": found.is_in_scope,
    }
    return record | {name: value for name, value in optional.items() if value is not None}


def explanation_to_dict(explanation: Explanation, labels: list[Any]) -> dict[str, Any]:
    """Return the explanation of some classes, by default of the predicted one."""
    columns = [explanation.class_index(label) for label in labels or [None]]
    names = explanation.classes.tolist()

    def pick(values: Any) -> list[float]:
        return [float(values[column]) for column in columns]

    record = explanation.to_dict()
    for part in ("words", "columns", "absent_terms"):
        for each in record[part]:
            each["contributions"] = pick(each["contributions"])
    for member in record["members"]:
        del member["terms"]  # words and columns are their sums
        member["contributions"] = pick(member["contributions"])
        for neighbor in member["neighbors"]:
            neighbor["contributions"] = pick(neighbor["contributions"])
    return record | {
        "classes": [names[column] for column in columns],
        "probabilities": dict(zip(map(str, names), record["probabilities"], strict=True)),
        "baseline": pick(record["baseline"]),
        "values": pick(record["values"]),
    }


async def predict_lines(call: Call) -> Response:
    """Handle NDJSON: one sample a line, one prediction a line, in the same order.

    The whole body is read first, because most clients send it before they read the response.
    """
    query = dict(call.request.query_params)
    options = parse(Choices, query)
    model = call.model
    body = await call.read()
    # Lines are parsed when their turn comes.
    lines = [line for line in body.split(b"\n") if line.strip()]
    call.is_streaming = True

    async def stream() -> AsyncIterator[str]:
        try:
            async for part in _iter_results(call, model, lines, options):
                yield part
        finally:
            call.release()

    return StreamingResponse(stream(), media_type="application/x-ndjson")


async def _iter_results(
    call: Call, model: ServedModel, lines: list[bytes], options: Choices
) -> AsyncIterator[str]:
    for start in range(0, len(lines), _LINES_TOGETHER):
        results: dict[int, dict[str, Any]] = {}
        valid: dict[int, Any] = {}
        for number, line in enumerate(lines[start : start + _LINES_TOGETHER], start):
            try:
                sample = _to_sample(model, parse_json(line, f"line {number + 1}"))
                (valid[number],) = model.check([sample], call.service.limits, first=number)
            except RequestError as error:
                results[number] = {"error": f"line {number + 1}: {error.sentence}"}
        try:
            async with asyncio.timeout(call.service.limits.seconds):
                found = await call.service.predict_valid(
                    call.trace, model, list(valid.values()), options.to_options()
                )
        except (RequestError, TimeoutError) as error:
            sentence = getattr(error, "sentence", "the lines took longer than the limit")
            yield json.dumps({"error": f"from line {start + 1}: {sentence}"}) + "\n"
            return
        for number, each in zip(valid, found, strict=True):
            results[number] = to_dict(model, each, options.top)
        yield "".join(json.dumps(results[number]) + "\n" for number in sorted(results))


def _to_sample(model: ServedModel, value: Any) -> Any:
    """Return the sample of a line: a string, {"text": "..."}, a row, or a list of numbers."""
    if model.kind == "text" and isinstance(value, dict):
        if "text" not in value:
            raise RequestError(422, 'an object must have the key "text"')
        return value["text"]
    return value
