"""Write docs/cli.md from the commands themselves: python docs/generate_cli.py.

The page is made from what each option says of itself and not from the output of `--help`, whose
layout changes with the version of typer.
"""

from enum import Enum
from pathlib import Path
from typing import Any

from cordwood.cli.main import COMMANDS, load_command

PAGE = Path(__file__).with_name("cli.md")

HEAD = """\
# The command line

This page is made by `python docs/generate_cli.py` from what `cordwood COMMAND --help` says.

Answers go to standard output, progress and errors to standard error; progress is shown only on a
terminal. Files are written whole or not at all. `--json` prints the same results for machines.
`cordwood --version` tells the version; `cordwood --debug COMMAND`, or `CORDWOOD_DEBUG=1`, shows the
traceback of an error.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | the data, the model file or the system said no; one line on standard error says why |
| 2 | the command was not understood |
| 70 | a bug in cordwood |
| 130 | interrupted with Ctrl-C |
"""


def page() -> str:
    """Give the whole page as Markdown."""
    return "\n".join([HEAD, *(_section(name) for name in COMMANDS)])


def _section(name: str) -> str:
    command = load_command(name)
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    usage = " ".join(
        ["cordwood", name, *(_argument_usage(param) for param in arguments), "[OPTIONS]"]
    )
    rows = [
        *(f"| `{param.metavar}` | {_help(param)} |" for param in arguments),
        *(f"| {_flags(param)} | {_help(param)} |" for param in options),
    ]
    parts = [
        f"## cordwood {name}",
        command.help,
        f"```\n{usage}\n```",
        "\n".join(["| option | meaning |", "| --- | --- |", *rows]),
    ]
    return "\n\n".join(parts) + "\n"


def _argument_usage(param: Any) -> str:
    return str(param.metavar) if param.required else f"[{param.metavar}]"


def _flags(param: Any) -> str:
    value = f" {param.metavar}" if param.metavar else ""
    return ", ".join(f"`{flag}{value}`" for flag in param.opts)


def _help(param: Any) -> str:
    default = param.default.value if isinstance(param.default, Enum) else param.default
    told = param.show_default and default not in (None, False)
    return " ".join(param.help.split()) + (f" [default: {default}]" if told else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
