"""A request with its limits: the body, the JSON in it, and the response."""

import asyncio
import json
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from cordwood.serve.errors import RequestError, invalid
from cordwood.serve.models import ServedModel
from cordwood.serve.service import Service, Trace

_T = TypeVar("_T", bound=BaseModel)
ErrorBody = Callable[[RequestError], dict[str, Any]]

_TYPES = {401: "unauthorized", 404: "not_found", 413: "too_large", 429: "overloaded"}


def plain_error(error: RequestError) -> dict[str, Any]:
    """Return the body of an error as most protocols have it."""
    kind = _TYPES.get(error.status, "validation" if error.status < 500 else "unavailable")
    return {"error": error.sentence, "error_type": kind}


class Call:
    """A request to the service."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.service: Service = request.app.state.service
        self.trace: Trace = request.scope["trace"]
        self._n_held = 0
        self.is_streaming = False  # the generator of the response releases the body

    @cached_property
    def model(self) -> ServedModel:
        """The model of the path, or the default one; the same if its file is replaced meanwhile."""
        return self.service.models.get(self.request.path_params.get("model"))

    @property
    def content_type(self) -> str:
        """Media type of the body, without parameters."""
        return self.request.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self) -> bytes:
        """Read the body, decompressed, within the limits."""
        start = time.perf_counter()
        limit = self.service.limits.body_bytes
        declared = self.request.headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            raise self._too_large()
        decode = _make_decoder(self.request.headers.get("content-encoding", "identity"), limit)
        body = bytearray()
        try:
            async for chunk in self.request.stream():
                decoded = decode(chunk)
                self._hold(len(decoded))
                body += decoded
                if len(body) > limit:
                    raise self._too_large()
        except ClientDisconnect:
            raise RequestError(400, "the client closed the connection") from None
        except zlib.error:
            raise RequestError(
                400, "the body is not compressed as Content-Encoding states"
            ) from None
        self.trace.add("read", time.perf_counter() - start)
        return bytes(body)

    def _too_large(self) -> RequestError:
        limit = self.service.limits.body_bytes
        return RequestError(
            413, f"the body is larger than the limit of {limit:,} bytes; send it in parts"
        )

    def _hold(self, n_bytes: int) -> None:
        """Count bytes in memory until the request is handled."""
        self._n_held += n_bytes
        state = self.request.app.state
        state.n_held += n_bytes
        if state.n_held > self.service.limits.held_bytes:
            raise RequestError(503, "too many large requests; try again later", retry_after=1)

    def release(self) -> None:
        """Forget the body."""
        self.request.app.state.n_held -= self._n_held
        self._n_held = 0

    async def json(self) -> Any:
        """Read and parse a body of JSON."""
        body = await self.read()
        start = time.perf_counter()
        parsed = parse_json(body)
        self.trace.add("parse", time.perf_counter() - start)
        return parsed


def parse_json(body: bytes, what: str = "the body") -> Any:
    """Parse JSON as it is defined: without NaN, in UTF-8."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError(400, f"{what} is not valid JSON: {error}") from None


def parse(record: type[_T], values: Any) -> _T:
    """Validate parsed JSON."""
    if not isinstance(values, dict):
        raise RequestError(422, "the body must be an object of JSON")
    try:
        return record.model_validate(values)
    except ValidationError as error:
        raise invalid(error) from None


def respond(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response of JSON; its escapes keep labels that are not valid Unicode."""
    return Response(json.dumps(content), status, headers, "application/json")


def route(
    path: str,
    handler: Callable[[Call], Awaitable[Response]],
    *methods: str,
    error_body: ErrorBody = plain_error,
) -> Route:
    """Return a route whose errors have the body of its protocol."""

    async def endpoint(request: Request) -> Response:
        call = Call(request)
        call.trace.route = path
        seconds = call.service.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await handler(call)
        except TimeoutError:
            error = RequestError(
                503,
                f"the request took longer than the limit of {seconds:g} s; send fewer samples",
                retry_after=1,
            )
        except RequestError as raised:
            error = raised
        finally:
            if not call.is_streaming:
                call.release()
        return respond_error(error, call.trace, error_body)

    return Route(path, endpoint, methods=list(methods))


def respond_error(error: RequestError, trace: Trace, body: ErrorBody = plain_error) -> Response:
    """Return the response to an error."""
    trace.error = error.sentence
    headers = {"retry-after": str(error.retry_after)} if error.retry_after else {}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return respond(body(error), error.status, headers)


def _make_decoder(encoding: str, limit: int) -> Callable[[bytes], bytes]:
    """Return a function that decompresses chunks, to at most one byte more than the limit."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return lambda chunk: chunk
    if encoding not in ("gzip", "deflate"):
        raise RequestError(415, "the Content-Encoding must be gzip, deflate or identity")
    decompressor = zlib.decompressobj(47 if encoding == "gzip" else 15)
    return lambda chunk: decompressor.decompress(chunk, limit + 1)
