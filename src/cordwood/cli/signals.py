"""Termination signals: run the cleanup that follows Ctrl-C, then end by the signal."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_SIGNALS = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


_REPEAT = 0.5  # seconds
_received: list[int] = []


class Terminated(BaseException):
    """Raised in the main thread by a termination signal, as `KeyboardInterrupt` is by Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_on_termination() -> None:
    """Raise `Terminated` for signals that would end the process without removing its files.

    Signals that are ignored, such as SIGHUP below nohup, stay ignored.
    """
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)
    sys.unraisablehook = _report_unraisable


def raise_received() -> None:
    """Raise `Terminated` again if a signal was received, whatever became of its exception."""
    if _received:
        raise Terminated(_received[0])


def end_by_signal(number: int) -> NoReturn:
    """End the process by a signal, so that its parent process learns the cause."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _report_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Print the error of a finalizer, unless it is the signal, which is raised again."""
    if not isinstance(unraisable.exc_value, Terminated):
        sys.__unraisablehook__(unraisable)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    # A second signal must not interrupt the cleanup.
    signal.signal(number, signal.SIG_IGN)
    _received.append(number)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _raise_if_ignored)
        signal.setitimer(signal.ITIMER_REAL, _REPEAT, _REPEAT)
    raise Terminated(number)


def _raise_if_ignored(number: int, frame: FrameType | None) -> None:
    """Raise `Terminated` again if it was caught, as in a finalizer or in a callback of a library.

    During the cleanup, it is the exception that is being handled, or the context of that one.
    """
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Terminated):
        error = error.__context__
    if error is None:
        raise_received()
