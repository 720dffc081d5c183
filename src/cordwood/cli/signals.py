"""Termination signals: run the cleanup that follows Ctrl-C, then end by the signal."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_SIGNALS = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


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


def end_by_signal(number: int) -> NoReturn:
    """End the process by a signal, so that its parent process learns the cause."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    # A second signal must not interrupt the cleanup.
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(number)
