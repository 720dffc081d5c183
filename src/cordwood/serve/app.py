"""The application: routes of all protocols, and of the page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from cordwood.serve import metrics
from cordwood.serve.calls import Call, respond, respond_error, route
from cordwood.serve.errors import RequestError
from cordwood.serve.files import PAGE, read_rows
from cordwood.serve.gate import HEALTH, Gate
from cordwood.serve.openapi import make_document
from cordwood.serve.protocols import (
    hugging_face,
    kserve_v1,
    label_studio,
    mlflow,
    open_inference,
    plain,
)
from cordwood.serve.security import Access
from cordwood.serve.service import Service

# Reports have inline styles, and a script by its hash, which their own policy allows; they can
# neither load nor send anything.
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src "
    "'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def make_app(
    service: Service,
    *,
    routes: Sequence[BaseRoute] | None = None,
    host: str = "127.0.0.1",
    token: str | None = None,
    log_texts: bool = False,
) -> ASGIApp:
    """Make the application, by default with the routes of models."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with service.running():
            yield

    handlers: Any = {HTTPException: _handle_http_error}
    own = _list_service_routes() if routes is None else routes
    app = Starlette(
        routes=[*_list_shared_routes(), *own], lifespan=lifespan, exception_handlers=handlers
    )
    app.state.service, app.state.n_held = service, 0
    return Gate(app, service, Access(host, token), log_texts=log_texts)


def _list_shared_routes() -> list[BaseRoute]:
    return [
        *(route(path, _health, "GET") for path in HEALTH),
        route("/version", _version, "GET"),
        route("/metrics", _metrics, "GET"),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]


def _list_service_routes() -> list[BaseRoute]:
    v2 = [
        route("/v2", open_inference.server, "GET"),
        route("/v2/models", open_inference.list_models, "GET"),
        route("/v2/repository/index", open_inference.index, "POST"),
    ]
    for prefix in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
        v2 += [
            route(prefix, open_inference.describe, "GET"),
            route(f"{prefix}/ready", open_inference.ready, "GET"),
            route(f"{prefix}/infer", open_inference.infer, "POST"),
            route(f"{prefix}/config", open_inference.not_implemented, "GET"),
            route(f"{prefix}/stats", open_inference.not_implemented, "GET"),
        ]
    return [
        route("/openapi.json", _openapi, "GET"),
        route("/models", _models, "GET"),
        route("/rows", read_rows, "POST"),
        *v2,
        route("/v1/models", kserve_v1.list_models, "GET"),
        route("/v1/models/{model}:predict", kserve_v1.predict, "POST"),
        route("/v1/models/{model}:explain", kserve_v1.explain, "POST"),
        route("/v1/models/{model}", kserve_v1.describe, "GET"),
        # The default model, and each model by its name.
        route("/", _root, "GET", "POST"),
        *_list_model_routes(""),
        route("/models/{model}", hugging_face.classify, "POST"),
        *_list_model_routes("/models/{model}"),
    ]


def _list_model_routes(prefix: str) -> list[BaseRoute]:
    return [
        route(f"{prefix}/predict", _predict, "POST"),
        route(f"{prefix}/explain", plain.explain, "POST"),
        route(f"{prefix}/report", _report, "GET"),
        route(f"{prefix}/invocations", mlflow.invoke, "POST", error_body=mlflow.error_body),
        route(f"{prefix}/info", hugging_face.describe, "GET"),
        route(f"{prefix}/health", _health, "GET"),
        route(f"{prefix}/setup", label_studio.setup, "POST"),
        route(f"{prefix}/validate", label_studio.validate, "POST"),
        route(f"{prefix}/webhook", label_studio.webhook, "POST"),
        route(f"{prefix}/versions", label_studio.versions, "GET"),
    ]


async def _predict(call: Call) -> Response:
    """Handle `POST /predict`, which three protocols have, by the key of the samples."""
    if call.content_type in plain.NDJSON:
        return await plain.predict_lines(call)
    values = await call.json()
    if isinstance(values, dict) and "tasks" in values:
        return await label_studio.predict(call, values)
    if isinstance(values, dict) and "inputs" in values:
        return await hugging_face.predict(call, values)
    return await plain.predict(call, values)


async def _health(call: Call) -> Response:
    # "status" for Label Studio; the others look at the status code.
    return respond({"status": "UP", "live": True, "ready": True})


async def _version(call: Call) -> Response:
    return PlainTextResponse(version("cordwood"))


async def _metrics(call: Call) -> Response:
    service = call.service
    service.metrics.queued.values[()] = float(service.batcher.n_waiting)
    service.metrics.models.values = {
        (model.name, model.version, model.sha256): 1.0 for model in service.models
    }
    return Response(service.metrics.render(), media_type=metrics.CONTENT_TYPE)


async def _openapi(call: Call) -> Response:
    return respond(make_document(call.service))


async def _models(call: Call) -> Response:
    """Describe the models, for the page."""
    found = [
        {
            "name": model.name,
            "version": model.version,
            "sha256": model.sha256,
            "kind": model.kind,
            "is_multilabel": model.is_multilabel,
            "classes": model.classes,
            "columns": model.columns,
            "text_columns": model.text_columns,
            "has_thresholds": model.classifier.oof_ is not None and not model.is_multilabel,
        }
        for model in call.service.models
    ]
    return respond({"models": found, "limits": call.service.limits.model_dump()})


async def _report(call: Call) -> Response:
    page = await call.service.report(call.trace, call.model)
    headers = {"content-security-policy": _REPORT_POLICY}
    return Response(page, headers=headers, media_type="text/html")


async def _root(call: Call) -> Response:
    """Return the page, or, to `POST`, as an inference endpoint."""
    if call.request.method == "POST":
        return await hugging_face.classify(call)
    return Response((PAGE / "index.html").read_bytes(), media_type="text/html")


async def _handle_http_error(request: Request, error: HTTPException) -> Response:
    overview = request.app.state.service.overview
    sentences = {404: f"there is nothing at this path; see {overview}", 405: "use another method"}
    sentence = sentences.get(error.status_code, error.detail)
    response = respond_error(RequestError(error.status_code, sentence), request.scope["trace"])
    response.headers.update(error.headers or {})
    return response
