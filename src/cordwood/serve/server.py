"""Running of the server: uvicorn, its connections, and logs as lines of JSON."""

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.routing import BaseRoute
from uvicorn.protocols.http.h11_impl import H11Protocol

from cordwood.exceptions import CordwoodError
from cordwood.labelling.project import Project
from cordwood.serve.app import make_app
from cordwood.serve.labelling import LabelService, list_label_routes
from cordwood.serve.limits import Limits
from cordwood.serve.models import Models
from cordwood.serve.security import check_address
from cordwood.serve.service import Service

_SHUTDOWN_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where and how to serve."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    no_auth: bool = False
    log_texts: bool = False
    limits: Limits = Limits()


def serve(
    paths: Sequence[Path], settings: Settings, on_start: Callable[[str, Models], None]
) -> None:
    """Serve models until a signal; `on_start` gets the address once it is open."""
    run(make_server(paths, settings, on_start), settings)


def run(server: uvicorn.Server, settings: Settings) -> None:
    """Run a server until a signal."""
    log_json()
    try:
        server.run()
    except SystemExit:
        raise CordwoodError(
            f"cannot listen on {settings.host}:{settings.port}; give another --port"
        ) from None


def make_server(
    paths: Sequence[Path], settings: Settings, on_start: Callable[[str, Models], None]
) -> uvicorn.Server:
    """Load models and make a server of them, which `run` runs."""
    check_address(settings.host, settings.token, no_auth=settings.no_auth)
    service = Service(Models(paths), settings.limits)
    return _make_server(service, None, settings, lambda address: on_start(address, service.models))


def make_label_server(
    project: Project, settings: Settings, on_start: Callable[[str], None]
) -> uvicorn.Server:
    """Make a server of a labelling project, which `run` runs."""
    check_address(settings.host, settings.token, no_auth=settings.no_auth)
    service = LabelService(project, settings.limits)
    return _make_server(service, list_label_routes(), settings, on_start)


def _make_server(
    service: Service,
    routes: Sequence[BaseRoute] | None,
    settings: Settings,
    on_start: Callable[[str], None],
) -> uvicorn.Server:
    limits = settings.limits
    app = make_app(
        service,
        routes=routes,
        host=settings.host,
        token=settings.token,
        log_texts=settings.log_texts,
    )
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=_make_protocol(limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(limits.idle_seconds) + 1,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        proxy_headers=False,
    )
    return _Server(config, on_start)


class _Server(uvicorn.Server):
    """A server that reports its address."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def _make_protocol(limits: Limits) -> type[H11Protocol]:
    """Return the protocol with limits of connections: uvicorn waits without end for a request."""
    waiting: dict[Any, None] = {}  # for a request or the rest of it, the longest first

    class Protocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._deadline = self.loop.call_later(limits.idle_seconds, self._close)
            if len(self.connections) > limits.connections:
                next(iter(waiting), self)._close()  # makes way for others
            waiting[self] = None

        def _close(self) -> None:
            waiting.pop(self, None)
            self._deadline.cancel()
            self.transport.close()

        def handle_events(self) -> None:
            super().handle_events()
            if self.cycle is not None:
                self._deadline.cancel()  # the body has its own
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                waiting.pop(self, None)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
                waiting[self] = None

        def connection_lost(self, exc: Exception | None) -> None:
            waiting.pop(self, None)
            self._deadline.cancel()
            super().connection_lost(exc)

    return Protocol


class _Formatter(logging.Formatter):
    """Formats records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, default=str)


def log_json() -> None:
    """Write the log of the server to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    # uvicorn warns of invalid requests, of which clients can send any number.
    for name, level in (("cordwood.serve", logging.INFO), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        if logger.level == logging.NOTSET:
            logger.setLevel(level)
