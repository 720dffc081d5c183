"""`cordwood serve`: serve models over HTTP."""

from importlib import import_module
from typing import Any

import typer
from pydantic import ValidationError

from cordwood.cli.commands import Serve
from cordwood.cli.console import Console
from cordwood.cli.options import parse_settings
from cordwood.exceptions import CordwoodError


def serve(args: Serve) -> None:
    """Serve models until the process is stopped."""
    server = import_server("cordwood serve")
    limits = parse_limits(server, args.limit)
    console = Console(as_json=args.json)

    def show(address: str, models: Any) -> None:
        for model in models:
            console.field("model", f"{model.name}: {model.path}, {len(model.classes):,} classes")
        if args.no_auth:
            console.field("warning", "everyone who reaches this address can use the models")
        console.field("serving", f"{address} (Ctrl-C stops)")
        console.print_json({"address": address, "models": [model.name for model in models]})

    settings = server.Settings(
        host=args.host,
        port=args.port,
        token=args.token,
        no_auth=args.no_auth,
        log_texts=args.log_texts,
        limits=limits,
    )
    server.serve(args.model, settings, show)


def import_server(command: str) -> Any:
    """Import the server, whose packages are in an extra."""
    try:
        return import_module("cordwood.serve.server")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("cordwood"):
            raise
        raise CordwoodError(
            f"{command} requires the package {error.name}; install it with: "
            'pip install "cordwood[serve]"'
        ) from error


def parse_limits(server: Any, limit: list[str] | None) -> Any:
    """Return the limits of the option --limit."""
    try:
        return server.Limits(**parse_settings(limit))
    except ValidationError as error:
        first = error.errors()[0]
        names = ", ".join(server.Limits.model_fields)
        raise typer.BadParameter(
            f"--limit {'.'.join(map(str, first['loc']))}: {first['msg']}; the limits are {names}"
        ) from None
