"""The command `cordwood`: knows the commands by name and loads one only when it is called.

Heavy imports sit at the top of the command that needs them, so that `cordwood --help` is quick.
"""

import inspect
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import cordwood
from cordwood.cli import failure

COMMANDS = {
    "demo": "See the whole thing work, on text that is on every machine.",
    "train": "Learn from labelled rows and write a model file.",
    "predict": "Label new rows with a model.",
    "evaluate": "Compare a model's labels with the true ones.",
    "compare": "Compare learners on data sets, with statistics that hold.",
    "datasets": "List the data sets within reach, look into one, or export it.",
}


class Commands(TyperGroup):
    """Commands that stand in for the real ones until one of them is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is about to run."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(str(name)), rest


def load_command(name: str) -> Any:
    """Import a command's module and make the command out of its function of the same name."""
    holder = typer.Typer(rich_markup_mode=None, add_completion=False)
    function = getattr(import_module(f"cordwood.cli.{name}"), name)
    details = inspect.getdoc(function)
    holder.command(name, help=f"{COMMANDS[name]}\n\n{details}")(function)
    return typer.main.get_command(holder)


app = typer.Typer(
    cls=Commands,
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


for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)


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
