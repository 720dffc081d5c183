"""Version 1 of the protocol of KServe: instances to predictions or explanations."""

from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from cordwood.serve.calls import Call, parse, respond
from cordwood.serve.models import Options
from cordwood.serve.protocols.plain import explanation_to_dict
from cordwood.serve.protocols.tables import from_values


class Instances(BaseModel):
    """Body of `:predict` and `:explain`."""

    instances: list[Any]


async def predict(call: Call) -> Response:
    """Handle `POST /v1/models/{model}:predict`."""
    body = parse(Instances, await call.json())
    samples = from_values(call.model, body.instances)
    found = await call.service.predict(call.trace, call.model, samples, Options())
    return respond({"predictions": [each.label for each in found]})


async def explain(call: Call) -> Response:
    """Handle `POST /v1/models/{model}:explain`."""
    body = parse(Instances, await call.json())
    samples = from_values(call.model, body.instances)
    found = await call.service.explain(call.trace, call.model, samples)
    return respond({"explanations": [explanation_to_dict(each, []) for each in found]})


async def describe(call: Call) -> Response:
    """Handle `GET /v1/models/{model}`."""
    return respond({"name": call.model.name, "ready": True})


async def list_models(call: Call) -> Response:
    """Handle `GET /v1/models`."""
    return respond({"models": [model.name for model in call.service.models]})
