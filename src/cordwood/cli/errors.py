"""Error handling of the command line: one line on standard error, and an exit code."""

import errno
import io
import os
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any, TextIO
from unicodedata import category

import typer

from cordwood._base.wording import show_character
from cordwood.exceptions import CordwoodError

FAILED = 1
USAGE = 2
BUG = 70
INTERRUPTED = 130

# Messages of the dynamic linker, and of Python.
_NO_MEMORY = ("failed to map segment", "can't start new thread")

DEBUG_VARIABLE = "CORDWOOD_DEBUG"

# The base class of usage errors has a different import path in different versions of typer.
UsageError: Any = typer.BadParameter.__mro__[1]


class _Terminal(io.TextIOWrapper):
    """A terminal that shows the control characters of labels, texts and names."""

    def __init__(self, terminal: Any) -> None:
        super().__init__(terminal.buffer, terminal.encoding, "backslashreplace")
        self.reconfigure(line_buffering=True)
        self.terminal = terminal  # for the styles of rich

    def write(self, text: str) -> int:
        return super().write(printable(text))


def configure_streams() -> None:
    """Use UTF-8 and Unix line ends in pipes on every platform, and print warnings on one line.

    What is printed to a terminal cannot control it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream.isatty() and type(stream) is io.TextIOWrapper:
            setattr(sys, name, _Terminal(stream))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace", encoding="utf-8", newline="\n")
    warnings.showwarning = _show_warning


def print_error(message: str) -> None:
    """Print one line on standard error."""
    with suppress(OSError):
        print(f"cordwood: {one_line(message)}", file=sys.stderr)


def one_line(text: str) -> str:
    """Collapse white space and replace control characters, which could change the terminal.

    Examples
    --------
    >>> one_line("a label\\n with \\x1b[31mred")
    'a label with \\ufffd[31mred'
    """
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """Replace control characters other than tabs and newlines, and show invisible characters.

    Examples
    --------
    >>> printable("a\\tb\\n\\x9b31m\\u202e")
    'a\\tb\\n\\ufffd31m<U+202E>'
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter in "\t\n" or (kind := category(letter)) == "Zs"
        else show_character(letter)
        if kind == "Cf"
        else "\ufffd"
        for letter in text
    )


def report(error: Exception) -> int:
    """Print an error and return the exit code."""
    _detach_broken_stdout()
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        return FAILED
    if isinstance(error, UsageError):
        print_error(_usage_message(error))
        return USAGE
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    if any(message in _describe_causes(error) for message in _NO_MEMORY):
        print_error(
            "out of memory: a library cannot be loaded, or a thread started; free memory, or raise "
            "the limit of the process"
        )
    elif isinstance(error, CordwoodError):
        print_error(str(error))
    elif isinstance(error, OSError):
        print_error(_os_message(error))
    elif isinstance(error, MemoryError):
        print_error("out of memory")
    else:
        print_error(
            f"unexpected {type(error).__name__}: {error}; this is a bug in cordwood, please report "
            f"it with the output of the same command with {DEBUG_VARIABLE}=1"
        )
        return BUG
    return FAILED


def _describe_causes(error: BaseException | None) -> str:
    return "" if error is None else f"{error} {_describe_causes(error.__context__)}"


def _usage_message(error: Any) -> str:
    path = error.ctx.command_path if error.ctx else "cordwood"
    # Newer versions of typer prefix messages as pydantic does.
    message = str(error.format_message()).rstrip(".").replace("Value error, ", "")
    return f"{message} (see {path} --help)"


def _os_message(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    name = error.filename
    # All other files are written within `cordwood._base.atomic.name_full_disk`.
    if name is None and error.errno == errno.ENOSPC:
        name = "standard output"
    return f"{name}: {reason}" if name else reason


def _detach_broken_stdout() -> None:
    """Redirect a broken standard output, so that Python does not print an error at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print_error(f"warning: {message}")
