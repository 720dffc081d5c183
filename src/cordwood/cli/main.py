"""Entry point of the command line: parse the arguments, then import and run the command.

Modules of the commands are imported only when they run, so that `cordwood --help` and
`cordwood COMMAND --help` are fast.
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
from cordwood.cli import errors, signals
from cordwood.cli.commands import RECORDS, Audit, Curve, Train
from cordwood.cli.options import list_parameters, make_record
from cordwood.exceptions import CordwoodError

if sys.platform != "win32":
    import resource

COMMANDS = {
    name: inspect.cleandoc(str(record.__doc__)).partition("\n\n")[0]
    for name, record in RECORDS.items()
}

_MIN_ADDRESS_SPACE = 512 * 2**20

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"cordwood {cordwood.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Print log messages and tracebacks (or set CORDWOOD_DEBUG=1)."
        ),
    ] = False,
) -> None:
    """Classify text with forests, boosting and stacking."""
    if debug:
        os.environ[errors.DEBUG_VARIABLE] = "1"
    logging.basicConfig(format="cordwood: %(message)s")
    if os.environ.get(errors.DEBUG_VARIABLE):
        logging.getLogger("cordwood").setLevel(logging.DEBUG)


def _check_address_space() -> None:
    """Reject a limit below which OpenBLAS waits for memory for ever when it is loaded."""
    if sys.platform != "win32":
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < _MIN_ADDRESS_SPACE:
            raise CordwoodError(
                f"out of memory: the limit of the address space (ulimit -v) is {limit // 1024:,} "
                f"kB, and libraries need more than {_MIN_ADDRESS_SPACE // 1024:,} kB"
            )


def _make_function(name: str, record: type[Any]) -> Callable[..., None]:
    """Make a function with the fields of the record as parameters, which runs the command."""

    @wraps(record, updated=())
    def run_command(**arguments: Any) -> None:
        _check_address_space()
        args = make_record(record, arguments)
        if isinstance(args, Train | Audit | Curve):
            import_module("cordwood.cli.first_row").check_data(args)
        getattr(import_module(f"cordwood.cli.{name}"), name)(args)

    parameters = list_parameters(record)
    cast(Any, run_command).__signature__ = inspect.Signature(parameters)
    run_command.__annotations__ = {param.name: param.annotation for param in parameters}
    return run_command


for _name, _record in RECORDS.items():
    app.command(_name)(_make_function(_name, _record))


def load_command(name: str) -> Any:
    """Return the command object of typer."""
    return cast(typer.core.TyperGroup, typer.main.get_command(app)).commands[name]


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    errors.configure_streams()
    try:
        # In standalone mode, typer would print usage errors itself, on several lines.
        code = typer.main.get_command(app).main(
            args=list(arguments) or ["--help"], prog_name="cordwood", standalone_mode=False
        )
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = errors.INTERRUPTED
    except Exception as error:
        signals.raise_received()
        return errors.report(error)
    # typer converts Ctrl-C in a command to this exit code without a message.
    if code == errors.INTERRUPTED:
        errors.print_error("interrupted")
    signals.raise_received()
    return code or 0


def run() -> None:
    """Run the command line with the arguments of the process."""
    signals.raise_on_termination()
    try:
        code = main(sys.argv[1:])
    except signals.Terminated as termination:
        signals.end_by_signal(termination.number)
    sys.exit(code)
