"""Entry point of the command line: parse the arguments, then import and run the command.

Modules of the commands are imported only when they run, so that `cordwood --help` and
`cordwood COMMAND --help` are fast.
"""

import inspect
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, cast

import typer

import cordwood
from cordwood.cli import errors, signals
from cordwood.cli.commands import RECORDS
from cordwood.cli.options import list_parameters, make_record
from cordwood.exceptions import CordwoodError

if sys.platform != "win32":
    import resource

COMMANDS = {
    name: inspect.cleandoc(str(record.__doc__)).partition("\n\n")[0]
    for name, record in RECORDS.items()
}

_MIN_ADDRESS_SPACE = 512 * 2**20
_HELP_ALL = "--help-all"
_SENTENCE = re.compile(r"(?<=[a-z0-9)])[.;] ")

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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
        import_module("cordwood.cli.first_checks").check_arguments(args)
        import_module("cordwood.cli.compile_ahead").compile_ahead(args)
        getattr(import_module(f"cordwood.cli.{name}"), name)(args)

    parameters = list_parameters(record)
    cast(Any, run_command).__signature__ = inspect.Signature(parameters)
    run_command.__annotations__ = {param.name: param.annotation for param in parameters}
    return run_command


for _name, _record in RECORDS.items():
    app.command(_name)(_make_function(_name, _record))


# Options that --help shows, in this order; the others are shown by --help-all.
_COMMON = (
    *("quick", "action", "name", "text", "label", "output", "recipe", "encoder", "report"),
    *("bundle_encoder", "fix", "relabel", "coverage", "max_error", "min_confidence"),
    *("classes", "review", "suggestions", "annotator", "multilabel"),
    *("unknown", "by_class", "html", "card", "metric", "export", "show", "sheet"),
    *("encoding", "on_bad_rows", "strict", "json", "quiet", "help"),
)
_DATA = "CSV, TSV, Excel, JSON, Parquet or other file, directory, or dataset:NAME."


def _shorten_help(command: Any, name: str) -> None:
    """Show the common options with the first sentence of their help."""
    for param in command.params:
        if param.param_type_name == "option" and param.name not in _COMMON:
            param.hidden = True
            command.epilog = f"More options and details: cordwood {name} --help-all"
        elif param.metavar == "DATA" and param.param_type_name == "argument":
            param.help = _DATA
        elif param.help:
            param.help = _SENTENCE.split(param.help)[0].rstrip(".") + "."
    common = [param for param in command.params if param.name in _COMMON]
    others = [param for param in command.params if param.name not in _COMMON]
    command.params = [*others, *sorted(common, key=lambda param: _COMMON.index(param.name))]


def load_command(name: str) -> Any:
    """Return the command object of typer."""
    return cast(typer.core.TyperGroup, typer.main.get_command(app)).commands[name]


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    errors.configure_streams()
    try:
        group = cast(typer.core.TyperGroup, typer.main.get_command(app))
        given = ["--help" if argument == _HELP_ALL else argument for argument in arguments]
        if _HELP_ALL not in arguments:
            for name, command in group.commands.items():
                _shorten_help(command, name)
        # In standalone mode, typer would print usage errors itself, on several lines.
        code = group.main(args=given or ["--help"], prog_name="cordwood", standalone_mode=False)
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
