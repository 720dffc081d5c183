"""Protocols of Hugging Face: inference endpoints, and Text Embeddings Inference."""

from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import Response

from cordwood.serve.calls import Call, parse, respond
from cordwood.serve.errors import RequestError
from cordwood.serve.models import Options
from cordwood.serve.protocols.mlflow import rank


class Parameters(BaseModel):
    """Parameters of text classification; others are of other tasks."""

    top_k: int | None = Field(default=None, ge=1)
    candidate_labels: Any = None


class EndpointRequest(BaseModel):
    """Body of `POST /`."""

    inputs: str | list[str]
    parameters: Parameters | None = None


class TEIRequest(BaseModel):
    """Body of `POST /predict` of Text Embeddings Inference."""

    inputs: str | list[str] | list[list[str]]
    raw_scores: bool = False
    truncate: bool | None = False


async def classify(call: Call) -> Response:
    """Handle `POST /`: a list of labels with scores per text, in a list also for one text."""
    body = parse(EndpointRequest, await call.json())
    params = body.parameters or Parameters()
    if params.candidate_labels is not None:
        raise RequestError(422, "the classes are those of the model; omit candidate_labels")
    texts = [body.inputs] if isinstance(body.inputs, str) else body.inputs
    return respond([each[: params.top_k] for each in await _rank(call, texts)])


async def predict(call: Call, values: Any) -> Response:
    """Handle `POST /predict` with the key inputs."""
    body = parse(TEIRequest, values)
    if body.raw_scores:
        raise RequestError(422, "the model has probabilities only; omit raw_scores")
    if isinstance(body.inputs, str):
        (ranked,) = await _rank(call, [body.inputs])
        return respond(ranked)
    texts = [each if isinstance(each, list) else [each] for each in body.inputs]
    # A list of two strings is one pair of sentences there.
    if any(len(each) != 1 for each in texts) or any(isinstance(each, str) for each in body.inputs):
        raise RequestError(
            422,
            'the model takes single texts: "inputs" must be a string, or a list of lists with '
            "one string each",
        )
    return respond(await _rank(call, [text for (text,) in texts]))


async def describe(call: Call) -> Response:
    """Handle `GET /info`."""
    limits, model = call.service.limits, call.model
    names = map(str, model.classes)
    id2label = dict(zip(map(str, range(len(model.classes))), names, strict=True))
    return respond(
        {
            "model_id": model.name,
            "model_sha": model.sha256,
            "model_type": {"classifier": {"id2label": id2label}},
            "max_concurrent_requests": limits.requests,
            "max_client_batch_size": limits.samples,
        }
    )


async def _rank(call: Call, texts: list[str]) -> list[list[dict[str, Any]]]:
    found = await call.service.predict(call.trace, call.model, texts, Options())
    return [rank(call.model, each) for each in found]
