"""Routes of `cordwood label`: texts and decisions of a labelling project."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from cordwood.exceptions import CordwoodError
from cordwood.labelling.export import EXPORT_FORMATS, export_labels
from cordwood.labelling.project import Filter, Project, SampleState
from cordwood.labelling.samples import Action
from cordwood.serve.calls import Call, parse, respond, route
from cordwood.serve.errors import RequestError
from cordwood.serve.files import PAGE
from cordwood.serve.limits import Limits
from cordwood.serve.models import Models
from cordwood.serve.service import Service

logger = logging.getLogger("cordwood.serve")

_T = TypeVar("_T")
_WRITE_SECONDS = 5.0
_MAX_NAME = 100
_MAX_LABELS = 1_000
_MAX_IDS = 1_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Annotated(_Body):
    annotator: str = Field(min_length=1, max_length=_MAX_NAME)

    @field_validator("annotator")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name.isprintable() or name != name.strip():
            raise ValueError("must be printable, without blanks around it")
        return name


class FilterBody(_Body):
    """Which texts are selected."""

    state: SampleState | None = None
    label: str | None = Field(default=None, alias="class", max_length=1000)
    search: str | None = Field(default=None, max_length=1000)

    def to_filter(self) -> Filter:
        """Return the filter of the project."""
        return Filter(self.state, self.label or None, self.search or None)


class NextRequest(_Annotated):
    """Body of `POST /label/next`."""

    filter: FilterBody = FilterBody()
    skip: list[str] = Field(default=[], max_length=_MAX_IDS)


class SampleRequest(_Annotated):
    """Body of `POST /label/sample`."""

    id: str = Field(max_length=1000)


class LabelRequest(SampleRequest):
    """Body of `POST /label/labels`."""

    action: Action
    labels: list[str] = Field(default=[], max_length=_MAX_LABELS)
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    suggestion_shown: bool = False


class UndoRequest(_Annotated):
    """Body of `POST /label/undo`."""


class ClassRequest(_Annotated):
    """Body of `POST /label/classes`."""

    action: Literal["add", "describe", "merge"]
    name: str = Field(max_length=1000)
    description: str | None = Field(default=None, max_length=10_000)
    into: str | None = Field(default=None, max_length=1000)


class ListRequest(_Annotated):
    """Body of `POST /label/list`."""

    filter: FilterBody = FilterBody()
    offset: int = Field(default=0, ge=0, le=10**9)
    limit: int = Field(default=50, ge=1, le=100)


class LabelService(Service):
    """A labelling project instead of models."""

    overview = "/label"

    def __init__(self, project: Project, limits: Limits) -> None:
        super().__init__(Models([]), limits)
        self.project = project

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Learn and write the output while the server runs."""
        self.project.learner.start()
        writer = asyncio.create_task(self._write())
        try:
            async with super().running():
                yield
        finally:
            writer.cancel()
            await asyncio.to_thread(self.project.close)

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(_WRITE_SECONDS)
            try:
                await asyncio.to_thread(self.project.write)
            except (CordwoodError, OSError) as error:  # the labels themselves are stored
                fields = {"error": str(error)}
                logger.error("output not written", extra={"fields": fields})


def list_label_routes() -> list[BaseRoute]:
    """Return the routes of the project, and its page."""
    return [
        route("/", _root, "GET"),
        route("/label", _page, "GET"),
        route("/label/project", _describe, "GET"),
        route("/label/next", _next, "POST"),
        route("/label/sample", _sample, "POST"),
        route("/label/labels", _label, "POST"),
        route("/label/undo", _undo, "POST"),
        route("/label/classes", _classes, "POST"),
        route("/label/list", _list, "POST"),
        route("/label/export", _export, "GET"),
    ]


async def _run(call: Call, method: Callable[[Project], _T]) -> _T:
    """Call a method of the project in a thread; its errors are those of the request."""
    service = call.service
    assert isinstance(service, LabelService)
    try:
        return await asyncio.to_thread(method, service.project)
    except KeyError as error:
        raise RequestError(404, str(error.args[0])) from None
    except CordwoodError as error:
        raise RequestError(422, str(error)) from None


async def _root(call: Call) -> Response:
    return RedirectResponse("/label")


async def _page(call: Call) -> Response:
    return Response((PAGE / "label.html").read_bytes(), media_type="text/html")


async def _describe(call: Call) -> Response:
    return respond(await _run(call, lambda project: project.describe()))


async def _next(call: Call) -> Response:
    body = parse(NextRequest, await call.json())
    selected = body.filter.to_filter()
    sample, remaining = await _run(
        call, lambda project: project.choose(body.annotator, selected, body.skip)
    )
    return respond({"sample": sample, "remaining": remaining})


async def _sample(call: Call) -> Response:
    body = parse(SampleRequest, await call.json())
    return respond({"sample": await _run(call, lambda each: each.show(body.annotator, body.id))})


async def _label(call: Call) -> Response:
    body = parse(LabelRequest, await call.json())
    return respond(await _run(call, lambda project: project.decide(**body.model_dump())))


async def _undo(call: Call) -> Response:
    body = parse(UndoRequest, await call.json())
    return respond(await _run(call, lambda project: project.undo(body.annotator)))


async def _classes(call: Call) -> Response:
    body = parse(ClassRequest, await call.json())
    classes = await _run(call, lambda project: project.change_classes(**body.model_dump()))
    return respond({"classes": classes})


async def _list(call: Call) -> Response:
    body = parse(ListRequest, await call.json())
    selected = body.filter.to_filter()
    return respond(
        await _run(
            call,
            lambda project: project.list_texts(body.annotator, selected, body.offset, body.limit),
        )
    )


async def _export(call: Call) -> Response:
    given = call.request.query_params.get("format", "")
    format = next((each for each in EXPORT_FORMATS if each == given), None)
    if format is None:
        raise RequestError(422, f"format must be one of {', '.join(EXPORT_FORMATS)}")
    found = await _run(call, lambda project: export_labels(project, format))
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(found.name)}"}
    return Response(found.content, headers=headers, media_type=found.media_type)
