"""What a command that fails leaves behind: one line on standard error and an exit code."""

import errno
import os
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any, TextIO

import typer

from cordwood.exceptions import CordwoodError

FAILED = 1
USAGE = 2
BUG = 70
INTERRUPTED = 130

DEBUG_VARIABLE = "CORDWOOD_DEBUG"

# The base of all usage errors has no public name that is the same in all versions of typer.
UsageError: Any = typer.BadParameter.__mro__[1]


def prepare_streams() -> None:
    """Make output the same on every machine, and warnings one line each."""
    for stream in (sys.stdout, sys.stderr):
        # What is piped on is read by machines: UTF-8 and bare newlines on Windows as well.
        if hasattr(stream, "reconfigure"):
            piped = {} if stream.isatty() else {"encoding": "utf-8", "newline": "\n"}
            stream.reconfigure(errors="backslashreplace", **piped)
    warnings.showwarning = _show_warning


def say(sentence: str) -> None:
    """Print one line on standard error."""
    with suppress(OSError):
        print(f"cordwood: {one_line(sentence)}", file=sys.stderr)


def one_line(text: str) -> str:
    """Fold white space and replace what could steer a terminal.

    Examples
    --------
    >>> one_line("a label\\n with \\x1b[31mcolour")
    'a label with \\ufffd[31mcolour'
    """
    folded = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in folded)


def report(error: Exception) -> int:
    """Say in one line what went wrong and return the exit code."""
    _let_go_of_output()
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        return FAILED
    if isinstance(error, UsageError):
        say(_usage_sentence(error))
        return USAGE
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    if isinstance(error, CordwoodError):
        say(str(error))
    elif isinstance(error, OSError):
        say(_system_sentence(error))
    elif isinstance(error, MemoryError):
        say("there is not enough memory for this")
    else:
        say(
            f"unexpected {type(error).__name__}: {error}; this is a bug in cordwood, please report "
            f"it with what the same command shows when {DEBUG_VARIABLE}=1 is set"
        )
        return BUG
    return FAILED


def _usage_sentence(error: Any) -> str:
    path = error.ctx.command_path if error.ctx else "cordwood"
    # Newer versions of typer say of values what pydantic says.
    message = str(error.format_message()).rstrip(".").replace("Value error, ", "")
    return f"{message} (see {path} --help)"


def _system_sentence(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _let_go_of_output() -> None:
    """Keep Python from complaining at exit of output that nobody can take any more."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say(f"warning: {message}")
