"""Open Inference Protocol, version 2, with its extensions for binary tensors and classification."""

import json
import math
import struct
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic import BaseModel, Field
from starlette.responses import Response

from cordwood._base.wording import join_labels
from cordwood.serve.calls import Call, parse, parse_json, respond
from cordwood.serve.errors import RequestError
from cordwood.serve.models import Options, Prediction, ServedModel
from cordwood.serve.protocols.tables import from_columns

HEADER = "Inference-Header-Content-Length"
_DTYPES = {
    "BOOL": "?",
    **{f"UINT{8 * n}": f"<u{n}" for n in (1, 2, 4, 8)},
    **{f"INT{8 * n}": f"<i{n}" for n in (1, 2, 4, 8)},
    **{f"FP{8 * n}": f"<f{n}" for n in (2, 4, 8)},
}


class Tensor(BaseModel):
    """An input."""

    name: str
    shape: list[int] = Field(min_length=1, max_length=8)
    datatype: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    data: list[Any] | None = None


class Output(BaseModel):
    """A wanted output."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class InferRequest(BaseModel):
    """Body of `POST /v2/models/{model}/infer`, or its part before binary tensors."""

    id: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    inputs: list[Tensor] = Field(min_length=1)
    outputs: list[Output] | None = None


def list_inputs(model: ServedModel) -> list[dict[str, Any]]:
    """Describe the inputs of a model."""
    if model.kind == "text":
        return [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    if model.kind == "numeric":
        return [{"name": "features", "datatype": "FP64", "shape": [-1, model.n_features]}]
    return [
        {"name": name, "datatype": "FP64" if role == "numeric" else "BYTES", "shape": [-1]}
        for role, names in model.columns.items()
        for name in names
    ]


async def server(call: Call) -> Response:
    """Handle `GET /v2`; the limits are not in the standard."""
    return respond(
        {
            "name": "cordwood",
            "version": version("cordwood"),
            "extensions": ["binary_tensor_data", "classification"],
            "limits": call.service.limits.model_dump(),
        }
    )


async def list_models(call: Call) -> Response:
    """Handle `GET /v2/models`."""
    return respond({"models": [model.name for model in call.service.models]})


async def index(call: Call) -> Response:
    """Handle `POST /v2/repository/index`."""
    found = [
        {"name": model.name, "version": model.version, "state": "READY", "reason": ""}
        for model in call.service.models
    ]
    return respond(found)


async def describe(call: Call) -> Response:
    """Handle `GET /v2/models/{model}`."""
    model = _find_model(call)
    outputs = [
        {"name": "label", "datatype": "BYTES", "shape": [-1]},
        {
            "name": "probability",
            "datatype": "FP64",
            "shape": [-1, len(model.classes)],
            "parameters": {"labels": [*map(str, model.classes)]},
        },
    ]
    return respond(
        {
            "name": model.name,
            "versions": [model.version],
            "platform": "cordwood",
            "inputs": list_inputs(model),
            "outputs": outputs,
        }
    )


async def ready(call: Call) -> Response:
    """Handle `GET /v2/models/{model}/ready`."""
    return respond({"name": _find_model(call).name, "ready": True})


async def not_implemented(call: Call) -> Response:
    """Handle routes that only Triton has."""
    raise RequestError(501, "cordwood has no model configuration and no statistics; see /metrics")


async def infer(call: Call) -> Response:
    """Handle `POST /v2/models/{model}/infer`."""
    model = _find_model(call)
    body, binary = _read(call.request.headers.get(HEADER), await call.read())
    request = parse(InferRequest, parse_json(body))
    samples = _to_samples(model, request.inputs, binary, call.service.limits.samples)
    found = await call.service.predict(call.trace, model, samples, Options())
    outputs, tensors = [], []
    is_binary = request.parameters.get("binary_data_output") is True
    for output in request.outputs or [Output(name="label"), Output(name="probability")]:
        record, values = _make_output(model, found, output)
        if output.parameters.get("binary_data", is_binary) is True:
            tensors.append(_encode(record["datatype"], values))
            record["parameters"] = {"binary_data_size": len(tensors[-1])}
        else:
            record["data"] = values
        outputs.append(record)
    reply = {"model_name": model.name, "model_version": model.version, "outputs": outputs}
    if request.id is not None:
        reply["id"] = request.id
    if not tensors:
        return respond(reply)
    start = json.dumps(reply).encode()
    headers = {HEADER: str(len(start))}
    return Response(b"".join([start, *tensors]), 200, headers, "application/octet-stream")


def _find_model(call: Call) -> ServedModel:
    model, version = call.model, call.request.path_params.get("version")
    if version not in (None, model.version):
        raise RequestError(
            404, f"model {model.name!r} has version {model.version}, not {version!r}"
        )
    return model


def _read(length: str | None, body: bytes) -> tuple[bytes, bytes]:
    """Divide a body into JSON and binary tensors."""
    if length is None:
        return body, b""
    if not (length.isdecimal() and length.isascii()) or int(length) > len(body):
        raise RequestError(400, f"{HEADER} must be a number up to the length of the body")
    return body[: int(length)], body[int(length) :]


def _to_samples(model: ServedModel, inputs: list[Tensor], binary: bytes, limit: int) -> list[Any]:
    columns: dict[str, list[Any]] = {}
    position = 0
    for tensor in inputs:
        n_values = math.prod(tensor.shape)
        if min(tensor.shape) < 0 or tensor.shape[0] > limit:
            raise RequestError(
                413, f"the shape of {tensor.name!r} must be of at most {limit:,} rows"
            )
        size = tensor.parameters.get("binary_data_size")
        if tensor.data is not None:
            values = _flatten(tensor)
        elif isinstance(size, int) and 0 <= size <= len(binary) - position:
            values = _decode(tensor, binary[position : position + size])
            position += size
        else:
            raise RequestError(
                400, f"{tensor.name!r} needs data, or a binary_data_size within the body"
            )
        if len(values) != n_values:
            raise RequestError(
                400, f"{tensor.name!r} has {len(values):,} values, but its shape {n_values:,}"
            )
        columns[tensor.name] = _to_rows(values, tensor.shape)
    if position != len(binary):
        raise RequestError(400, "the body is longer than its binary tensors")
    if model.kind == "table":
        return from_columns(model, columns)
    if len(columns) != 1 or len(inputs) != 1:
        raise RequestError(422, f"the model {model.name!r} takes one input")
    return next(iter(columns.values()))


def _to_rows(values: list[Any], shape: list[int]) -> list[Any]:
    """Return one value per row, or a list of several."""
    width = math.prod(shape[1:])
    if width == 1 and (len(shape) == 1 or not _is_number(values)):
        return values
    return [values[i * width : (i + 1) * width] for i in range(shape[0])]


def _is_number(values: list[Any]) -> bool:
    return bool(values) and isinstance(values[0], int | float)


def _flatten(tensor: Tensor) -> list[Any]:
    """Return the values of JSON, which may be nested in rows, checked by their type."""
    values = list(_iterate(tensor.data, 0))
    expected = str if tensor.datatype == "BYTES" else int | float
    if tensor.datatype not in ("BYTES", *_DTYPES):
        raise RequestError(400, f"{tensor.name!r} has no datatype of the protocol")
    for value in values:
        if not isinstance(value, expected):
            raise RequestError(400, f"{tensor.name!r} has a value that is not of its datatype")
    return values


def _iterate(values: Any, depth: int) -> Iterator[Any]:
    if depth > 8:
        raise RequestError(400, "the data are nested too deeply")
    for value in values:
        if isinstance(value, list):
            yield from _iterate(value, depth + 1)
        else:
            yield value


def _decode(tensor: Tensor, content: bytes) -> list[Any]:
    """Decode a binary tensor."""
    if tensor.datatype in _DTYPES:
        dtype = np.dtype(_DTYPES[tensor.datatype])
        if len(content) % dtype.itemsize:
            raise RequestError(400, f"the size of {tensor.name!r} is no multiple of its datatype's")
        return list(np.frombuffer(content, dtype).tolist())
    if tensor.datatype != "BYTES":
        raise RequestError(400, f"{tensor.name!r} has no datatype of the protocol")
    values: list[str] = []
    position = 0
    while position < len(content):
        (size,) = (
            struct.unpack_from("<I", content, position) if len(content) - position >= 4 else (-1,)
        )
        position += 4
        if not 0 <= size <= len(content) - position:
            raise RequestError(400, f"{tensor.name!r} has a string that is longer than the tensor")
        try:
            values.append(content[position : position + size].decode())
        except UnicodeDecodeError:
            raise RequestError(400, f"{tensor.name!r} has a string that is not UTF-8") from None
        position += size
    return values


def _encode(datatype: str, values: list[Any]) -> bytes:
    if datatype == "FP64":
        return np.array(values, "<f8").tobytes()
    encoded = [value.encode("utf-8", "replace") for value in values]
    return b"".join(struct.pack("<I", len(value)) + value for value in encoded)


def _make_output(
    model: ServedModel, found: list[Prediction], output: Output
) -> tuple[dict[str, Any], list[Any]]:
    """Return the description of an output and its values."""
    top = output.parameters.get("classification")
    if output.name not in ("label", "probability"):
        raise RequestError(400, f"there is no output {output.name!r}; there are label, probability")
    if top is not None:
        if type(top) is not int or top < 0:
            raise RequestError(400, "the parameter classification must be a number of classes")
        top = min(top or len(model.classes), len(model.classes))
        ranked = [sorted(enumerate(each.proba), key=lambda pair: -pair[1])[:top] for each in found]
        values = [
            f"{score:.6f}:{index}:{model.classes[index]}" for row in ranked for index, score in row
        ]
        return {"name": output.name, "datatype": "BYTES", "shape": [len(found), top]}, values
    if output.name == "probability":
        shape = [len(found), len(model.classes)]
        flat = [value for each in found for value in each.proba]
        return {"name": "probability", "datatype": "FP64", "shape": shape}, flat
    labels = [join_labels(each.label) for each in found]
    record = {"name": "label", "datatype": "BYTES", "shape": [len(found)]}
    return record | {"parameters": {"content_type": "str"}}, labels
