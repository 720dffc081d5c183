"""Progress of the encoding of texts: a bar on a terminal, or a report to the application."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from cordwood._base.progress import find_report

_NAME = "encoding texts"

# Seconds after which a progress bar appears.
_DELAY = 2.0


@contextmanager
def show_progress(total: int, verbose: bool | None) -> Iterator[Callable[[int], None]]:
    """Show the progress of a task; yields a function to be called with each completed amount."""
    # If `verbose` is None, the bar appears after two seconds, on a terminal only.
    done = 0
    bar: Any = None
    start = time.monotonic()
    is_shown = sys.stderr.isatty() if verbose is None else verbose
    delay = _DELAY if verbose is None else 0.0

    def advance(amount: int) -> None:
        nonlocal done, bar
        done += amount
        report = find_report()
        if report is not None:
            report(_NAME, done, total)
        elif is_shown and time.monotonic() - start >= delay and (bar or done < total):
            bar = bar or _start_bar(total, is_transient=verbose is None)
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _start_bar(total: int, *, is_transient: bool) -> Any:
    rich = import_module("rich.progress")
    bar = rich.Progress(
        rich.TextColumn(_NAME),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TimeRemainingColumn(),
        console=import_module("rich.console").Console(
            # The command replaces the stream by one that shows control characters.
            file=getattr(sys.stderr, "terminal", None),
            stderr=True,
        ),
        speed_estimate_period=24 * 3600.0,
        transient=is_transient,
    )
    bar.add_task(_NAME, total=total)
    bar.start()
    return bar
