"""Generate docs/cli.md from the definitions of the commands: python docs/generate_cli.py.

The page is made from the parameters of the commands, not from the output of `--help`, whose layout
depends on the version of typer.
"""

from enum import Enum
from pathlib import Path
from typing import Any

from cordwood.cli.main import COMMANDS, load_command

PAGE = Path(__file__).with_name("cli.md")

HEADER = """\
# Command line reference

This page is generated from the help texts of the commands by `python docs/generate_cli.py`.

Results are printed to standard output, progress and errors to standard error; progress bars are
shown on a terminal only. Output files are replaced atomically: an error leaves an existing file
unchanged. `--json` prints the result as JSON. `cordwood --version` prints the version;
`cordwood --debug COMMAND`, or `CORDWOOD_DEBUG=1`, prints the traceback of an error.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | runtime error: invalid data, invalid model file, or I/O error; one line on standard error |
| 2 | usage error: unknown command or option, or invalid value |
| 70 | bug in cordwood |
| 130 | interrupted with Ctrl-C |
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEADER, *(_section(name) for name in COMMANDS)])


def _section(name: str) -> str:
    command = load_command(name)
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    usage = " ".join(
        ["cordwood", name, *(_argument_usage(param) for param in arguments), "[OPTIONS]"]
    )
    rows = [
        *((f"`{param.metavar}`", _help(param)) for param in arguments),
        *((_flags(param), _help(param)) for param in options),
    ]
    parts = [
        f"## cordwood {name}",
        command.help,
        f"```text\n{usage}\n```",
        "\n".join(["| option | meaning |", "| --- | --- |", *(_table_row(row) for row in rows)]),
    ]
    return "\n\n".join(parts) + "\n"


def _table_row(cells: tuple[str, ...]) -> str:
    """Format a row of a Markdown table; a bar inside a cell, even in code, must be escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _argument_usage(param: Any) -> str:
    return str(param.metavar) if param.required else f"[{param.metavar}]"


def _flags(param: Any) -> str:
    value = f" {param.metavar}" if param.metavar else ""
    return ", ".join(f"`{flag}{value}`" for flag in param.opts)


def _help(param: Any) -> str:
    default = param.default.value if isinstance(param.default, Enum) else param.default
    has_default = param.show_default and default is not None and default is not False
    return " ".join(param.help.split()) + (f" [default: {default}]" if has_default else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
