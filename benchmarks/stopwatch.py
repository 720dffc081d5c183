"""Timing that a shared machine disturbs little, and a note of what was run where."""

import gc
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from typing import Any


def measure(
    function: Callable[..., Any],
    *arguments: Any,
    clock: Callable[[], Any] = time.thread_time,
) -> tuple[Any, Any]:
    """Return the seconds that a call takes, and what it returns.

    By default they are seconds of processor time of this thread, which does not count while others
    have the processor. The garbage collector rests.
    """
    gc.collect()
    gc.disable()
    try:
        start = clock()
        result = function(*arguments)
        return clock() - start, result
    finally:
        gc.enable()


def print_run(*packages: str) -> None:
    """Print the date, the versions and how busy the machine is."""
    names = ("cordwood", "scikit-learn", "numba", "numpy", *packages)
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"{date.today()}, Python {platform.python_version()}, {versions}")
    print(f"{os.cpu_count()} processors{load()}\n")


def load() -> str:
    """Say how busy the machine is, where the system knows."""
    if not hasattr(os, "getloadavg"):  # Windows has none
        return ""
    return f", load {os.getloadavg()[0]:.1f}"


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def print_head(*cells: str) -> None:
    """Print the head of a Markdown table, whose first column is text and whose others numbers."""
    print_row(*cells)
    print("|---" + "|---:" * (len(cells) - 1) + "|", flush=True)
