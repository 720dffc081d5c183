"""What every request passes: access, limits of concurrency and time, records and headers."""

import asyncio
import logging
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cordwood.serve.calls import respond_error
from cordwood.serve.errors import RequestError
from cordwood.serve.security import HEADERS, Access
from cordwood.serve.service import Service, Trace

logger = logging.getLogger("cordwood.serve")

HEALTH = ("/health", "/healthz", "/ping", "/v2/health/live", "/v2/health/ready")
PAGES = ("/", "/label")
_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Gate:
    """Middleware around the application."""

    def __init__(self, app: ASGIApp, service: Service, access: Access, *, log_texts: bool) -> None:
        self._app, self._service, self._access = app, service, access
        self._log_texts = log_texts
        self._n_active: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        trace = scope["trace"] = Trace(
            request_id=_valid(_REQUEST_ID, headers.get("x-request-id")) or uuid.uuid4().hex,
            traceparent=_valid(_TRACEPARENT, headers.get("traceparent")),
        )
        client = (scope.get("client") or ("",))[0]
        exchange = _Exchange(receive, send, trace, self._service.limits.idle_seconds)
        exchange.has_body = "content-length" in headers or "transfer-encoding" in headers
        if scope["path"] not in HEALTH:
            exchange.admit = lambda: self._admit(client)
        try:
            await self._handle(scope, exchange, headers, client)
        finally:
            if exchange.is_admitted:
                self._n_active[client] -= 1
                if not self._n_active[client]:
                    del self._n_active[client]
            self._record(scope, exchange)

    async def _handle(
        self, scope: Scope, exchange: "_Exchange", headers: Headers, client: str
    ) -> None:
        trace = exchange.trace
        try:
            self._access.check_source(headers)
            if scope["path"] not in HEALTH:
                is_page = scope["method"] in ("GET", "HEAD") and (
                    scope["path"] in PAGES or scope["path"].startswith("/page/")
                )
                if not is_page:
                    await self._access.check_token(headers, client)
            if not exchange.has_body:
                exchange.finish_body()
            await self._app(scope, exchange.receive, exchange.send)
        except RequestError as error:
            await respond_error(error, trace)(scope, exchange.receive, exchange.send)
        except TimeoutError:
            trace.error = "the client did not read the response"
        except Exception as error:
            # A bug: its message could contain texts, so that only its type is logged.
            trace.error = f"unexpected {type(error).__name__}"
            logger.debug("unexpected error", exc_info=True)
            if not exchange.status:
                failure = RequestError(500, "the server failed to reply; see its log")
                response = respond_error(failure, Trace(trace.request_id))
                await response(scope, exchange.receive, exchange.send)

    def _admit(self, client: str) -> None:
        """Count a request that has arrived as a whole: slow ones must not displace others."""
        limits = self._service.limits
        if self._n_active.total() >= limits.requests:
            raise RequestError(
                503, f"more than {limits.requests} requests at the same time", retry_after=1
            )
        if self._n_active[client] >= limits.client_requests:
            raise RequestError(
                429,
                f"more than {limits.client_requests} requests of one address at the same time",
                retry_after=1,
            )
        self._n_active[client] += 1

    def _record(self, scope: Scope, exchange: "_Exchange") -> None:
        """Count and log a request."""
        trace, seconds = exchange.trace, time.perf_counter() - exchange.start
        route = trace.route
        method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "_OTHER"
        metrics = self._service.metrics
        metrics.request_duration.observe(seconds, method, route, str(exchange.status))
        for stage, duration in trace.stages.items():
            metrics.stage_duration.observe(duration, stage)
        metrics.active_requests.values[()] = float(self._n_active.total())
        fields: dict[str, Any] = {
            "request_id": trace.request_id,
            "trace_id": trace.traceparent and trace.traceparent.split("-")[1],
            "method": method,
            "route": route,
            "status": exchange.status,
            "seconds": round(seconds, 6),
            "model": trace.model,
            "n_samples": trace.n_samples,
            "error": trace.error,
            "samples": trace.samples if self._log_texts else None,
        }
        level = logging.ERROR if exchange.status >= 500 else logging.INFO
        if route in HEALTH:  # requested every few seconds
            level = logging.DEBUG
        shown = {name: value for name, value in fields.items() if value is not None}
        logger.log(level, "request", extra={"fields": shown})


class _Exchange:
    """Messages of a request and its response, with deadlines and headers."""

    def __init__(self, receive: Receive, send: Send, trace: Trace, idle_seconds: float) -> None:
        self._receive, self._send, self.trace = receive, send, trace
        self._idle_seconds = idle_seconds
        self.admit: Callable[[], None] | None = None
        self.has_body = True
        self.is_admitted = self._is_received = False
        self.start = time.perf_counter()
        self.status = 0

    async def receive(self) -> Message:
        if self._is_received:  # waits until the client disconnects
            return await self._receive()
        try:
            async with asyncio.timeout(self._idle_seconds):
                message = await self._receive()
        except TimeoutError:
            raise RequestError(
                408, f"no data of the request arrived for {self._idle_seconds:g} s"
            ) from None
        if not message.get("more_body", False):
            self.finish_body()
        return message

    def finish_body(self) -> None:
        """Admit the request, which is complete."""
        self._is_received = True
        if self.admit is not None:
            self.admit()
            self.is_admitted = True

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._add_headers(MutableHeaders(scope=message))
        async with asyncio.timeout(self._idle_seconds):
            await self._send(message)

    def _add_headers(self, headers: MutableHeaders) -> None:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        if not self._is_received:
            headers["connection"] = "close"  # the rest of the body is not read
        headers["x-request-id"] = self.trace.request_id
        if self.trace.traceparent:
            headers["traceparent"] = self.trace.traceparent
        stages = {**self.trace.stages, "total": time.perf_counter() - self.start}
        headers["server-timing"] = ", ".join(
            f"{stage};dur={seconds * 1000:.2f}" for stage, seconds in stages.items()
        )


def _valid(pattern: re.Pattern[str], value: str | None) -> str | None:
    return value if value is not None and pattern.fullmatch(value) else None
