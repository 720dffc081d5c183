"""Progress of steps that take long, for an application that shows it, such as the command line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeAlias

# Called with the name of a step, how much of it is done, and its total.
Report: TypeAlias = Callable[[str, int, int], None]

_report: Report | None = None
_counting = Lock()


@contextmanager
def report_progress(report: Report) -> Iterator[None]:
    """Call ``report(name, done, total)`` while a step is in progress."""
    global _report
    before, _report = _report, report
    try:
        yield
    finally:
        _report = before


def find_report() -> Report | None:
    """Return the function to be called, if any."""
    return _report


@contextmanager
def count_parts(name: str, total: int) -> Iterator[Callable[[], None]]:
    """Report the parts of a step; yields a function to be called after each, from any thread."""
    # Of steps within one another, such as stacks that are members of stacks, only the first is.
    report = _report
    if report is None or not _counting.acquire(blocking=False):
        yield lambda: None
        return
    done, lock = 0, Lock()

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            report(name, done, total)

    try:
        report(name, 0, total)
        yield advance
    finally:
        report(name, total, total)
        _counting.release()
