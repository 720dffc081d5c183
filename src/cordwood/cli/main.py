"""The command `cordwood`: parses a command's record, then loads the module that does its work.

Heavy imports sit at the top of the modules that need them, and what is parsed needs none of them,
so that `cordwood --help` and `cordwood COMMAND --help` are quick.
"""

import inspect
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, cast

import typer

import cordwood
from cordwood.cli import errors as failure
from cordwood.cli.commands import RECORDS

COMMANDS = {
    name: inspect.cleandoc(str(record.__doc__)).partition("\n\n")[0]
    for name, record in RECORDS.items()
}

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"cordwood {cordwood.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show more, and the traceback of an error (or set CORDWOOD_DEBUG=1)."
        ),
    ] = False,
) -> None:
    """Classify text with ensembles of trees; `cordwood COMMAND --help` tells more of each."""
    if debug:
        os.environ[failure.DEBUG_VARIABLE] = "1"
    logging.basicConfig(format="cordwood: %(message)s")
    if os.environ.get(failure.DEBUG_VARIABLE):
        logging.getLogger("cordwood").setLevel(logging.DEBUG)


def _work(name: str, record: type[Any]) -> Callable[..., None]:
    """Make the function that typer sees: it takes what the record takes, and does the work."""

    @wraps(record, updated=())
    def work(**given: Any) -> None:
        module = import_module(f"cordwood.cli.{name}")
        getattr(module, name)(record(**given))

    return work


for _name, _record in RECORDS.items():
    app.command(_name)(_work(_name, _record))


def load_command(name: str) -> Any:
    """Give one command with its parameters, as typer makes it."""
    return cast(typer.core.TyperGroup, typer.main.get_command(app)).commands[name]


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    failure.prepare_streams()
    try:
        # Not standalone: else typer would print usage errors its own way, over several lines.
        code = typer.main.get_command(app).main(
            args=list(arguments) or ["--help"], prog_name="cordwood", standalone_mode=False
        )
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = failure.INTERRUPTED
    except Exception as error:
        return failure.report(error)
    # While a command runs, typer itself turns Ctrl-C into this code and says nothing.
    if code == failure.INTERRUPTED:
        failure.say("interrupted")
    return code or 0


def run() -> None:
    """Start the installed command."""
    sys.exit(main(sys.argv[1:]))
