"""Effort: what a piece of work costs in seconds and in memory.

Seconds are those of the wall and those of the processor, the latter of all threads of this process
but not of processes that it starts.

Memory is the highest resident size of the whole process, with interpreter and data, while the work
was done. Linux forgets the highest size so far when it is told to. Other systems never do: there
the figure is known when the work brings a new high, and otherwise it is None, not a guess. Windows
is not asked.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import resource

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")


@dataclass
class Seconds:
    """Seconds of work, which are there when its `with` block has ended; see `timed`."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def timed() -> Iterator[Seconds]:
    """Time a `with` block.

    Examples
    --------
    >>> with timed() as seconds:
    ...     _ = sum(range(1000))
    >>> 0 <= seconds.cpu < 1
    True
    """
    seconds = Seconds()
    wall, cpu = time.perf_counter(), time.process_time()
    yield seconds
    seconds.cpu, seconds.wall = time.process_time() - cpu, time.perf_counter() - wall


class PeakMemory:
    """The highest resident size of this process since this object was made.

    Examples
    --------
    >>> peak = PeakMemory()
    >>> block = bytearray(50_000_000)
    >>> (measured := peak.read()) is None or measured > 50_000_000
    True
    """

    def __init__(self) -> None:
        self._exact = _forget()
        self._before = _highest()

    def read(self) -> int | None:
        """Give it in bytes, or None where the system cannot tell it; see this module."""
        now = _highest()
        return now if self._exact or now > self._before else None


def _forget() -> bool:
    """Let the highest size so far be the present one; tell whether that worked."""
    with suppress(OSError):
        _FORGET.write_text("5")
        return True
    return False


if sys.platform == "win32":

    def _highest() -> int:
        return 0

else:

    def _highest() -> int:
        if _STATUS.exists():
            # Not the one of `getrusage`, which not every version of Linux forgets.
            lines = _STATUS.read_text().splitlines()
            return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
        highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return highest if sys.platform == "darwin" else 1024 * highest
