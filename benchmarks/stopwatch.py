"""Timing that other processes hardly disturb, and a note of versions and load."""

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
    """Return the seconds of a call, and its result.

    By default, the CPU time of this thread, which other processes hardly affect. Garbage collection
    is disabled during the call.
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
    """Print the date, the versions and the load of the computer."""
    names = ("cordwood", "scikit-learn", "numba", "numpy", *packages)
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"{date.today()}, Python {platform.python_version()}, {versions}")
    print(f"{os.cpu_count()} CPUs{load()}\n")


def load() -> str:
    """Return the load average as text, or an empty string if it is unknown."""
    if not hasattr(os, "getloadavg"):  # not on Windows
        return ""
    return f", load {os.getloadavg()[0]:.1f}"


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def print_head(*cells: str) -> None:
    """Print the head of a Markdown table with one text column, followed by numbers."""
    print_row(*cells)
    print("|---" + "|---:" * (len(cells) - 1) + "|", flush=True)
