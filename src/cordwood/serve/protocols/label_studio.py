"""Protocol of the ML backends of Label Studio, which show predictions to annotators."""

from typing import Any
from xml.etree import ElementTree

from pydantic import BaseModel
from starlette.responses import Response

from cordwood.serve.calls import Call, parse, respond
from cordwood.serve.errors import RequestError
from cordwood.serve.models import Options, Prediction, ServedModel

_MAX_CONFIG = 1_000_000


class Task(BaseModel):
    """A text to annotate."""

    id: int | str | None = None
    data: dict[str, Any]


class PredictTasks(BaseModel):
    """Body of `POST /predict` with the key tasks."""

    tasks: list[Task]
    label_config: str | None = None


class Setup(BaseModel):
    """Body of `POST /setup`; the other keys are of no use here."""

    schema_: str | None = None


class Config(BaseModel):
    """Body of `POST /validate`."""

    config: str


class Names(BaseModel):
    """Names of the labelling configuration: of the choices, the text, and the key of its data."""

    choices: str = "label"
    text: str = "text"
    key: str | None = None


def model_version(model: ServedModel) -> str:
    """Return the version that Label Studio keeps with each prediction."""
    return f"{model.name}-{model.sha256[:8]}"


async def setup(call: Call) -> Response:
    """Handle `POST /setup`, which a project sends when it is connected."""
    parse(Setup, await call.json())
    return respond({"model_version": model_version(call.model)})


async def versions(call: Call) -> Response:
    """Handle `GET /versions`."""
    return respond({"versions": [model_version(call.model)]})


async def validate(call: Call) -> Response:
    """Handle `POST /validate`: whether predictions fit a labelling configuration."""
    _read_config(parse(Config, await call.json()).config)
    return respond({"status": "ok"})


async def webhook(call: Call) -> Response:
    """Handle events: models are trained by `cordwood train`, and the new file is then loaded."""
    await call.json()
    return respond({"status": "ok", "model_version": model_version(call.model)})


async def predict(call: Call, values: Any) -> Response:
    """Handle `POST /predict` with the key tasks."""
    body, model = parse(PredictTasks, values), call.model
    names = Names() if body.label_config is None else _read_config(body.label_config)
    samples = [_to_sample(model, position, task, names) for position, task in enumerate(body.tasks)]
    found = await call.service.predict(call.trace, model, samples, Options())
    return respond({"results": [_format(model, each, names) for each in found]})


def _to_sample(model: ServedModel, position: int, task: Task, names: Names) -> Any:
    if model.kind != "text":
        return task.data
    for key in (names.key, *model.text_columns, "text"):
        if key in task.data:
            return task.data[key]
    raise RequestError(422, f'tasks[{position}].data has no key "{names.key or "text"}"')


def _format(model: ServedModel, found: Prediction, names: Names) -> dict[str, Any]:
    """Return a prediction; its score sorts tasks, by the least sure label."""
    chosen = {
        "from_name": names.choices,
        "to_name": names.text,
        "type": "choices",
        "value": {"choices": [str(label) for label in found.labels]},
    }
    probabilities = found.probability if model.is_multilabel else (found.probability,)
    return {
        "result": [chosen] if found.labels else [],
        "score": min(probabilities, default=1.0 - max(found.proba)),
        "model_version": model_version(model),
    }


def _read_config(config: str) -> Names:
    """Find the names of the choices and of their text."""
    # Entities are declared in a document type, which no configuration has.
    if len(config) > _MAX_CONFIG or "<!" in config.replace("<!--", ""):
        raise RequestError(422, "the labelling configuration is too long, or has a document type")
    try:
        root = ElementTree.fromstring(config)
    except (ElementTree.ParseError, ValueError) as error:
        raise RequestError(422, f"the labelling configuration is not valid XML: {error}") from None
    choices = root.find(".//Choices")
    if choices is None or not choices.get("name"):
        raise RequestError(422, "the labelling configuration has no Choices with a name")
    target = choices.get("toName") or "text"
    values = (each.get("value") for each in root.iter() if each.get("name") == target)
    key = next((value[1:] for value in values if value and value.startswith("$")), None)
    return Names(choices=str(choices.get("name")), text=target, key=key)
