"""Measure CPU time, wall time and peak memory of a block of code.

CPU time covers all threads of this process, but not its child processes. Memory is the peak
resident set size of the whole process, interpreter and data included, while the block was running.

Linux can reset the peak of a process, so the measurement is exact there. On macOS the peak is that
of the whole lifetime of the process: it is reported if the block has set a new peak, and is None
otherwise. On Windows it is always None.
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
_RESET_PEAK = Path("/proc/self/clear_refs")
_MEMORY = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container
_USED = Path("/sys/fs/cgroup/memory.current")


@dataclass
class Timing:
    """Seconds spent in a `with` block of `timer`; zero until the block has ended."""

    cpu: float = 0.0  # CPU seconds of all threads of this process
    wall: float = 0.0  # elapsed seconds


@contextmanager
def timer() -> Iterator[Timing]:
    """Time a `with` block."""
    timing = Timing()
    wall, cpu = time.perf_counter(), time.process_time()
    yield timing
    timing.cpu, timing.wall = time.process_time() - cpu, time.perf_counter() - wall


class PeakMemory:
    """Peak resident set size of this process since the object was created."""

    def __init__(self) -> None:
        self._is_exact = _reset_peak()
        self._before = _peak_rss()

    def read(self) -> int | None:
        """Return the peak in bytes, or None if the operating system does not provide it."""
        peak = _peak_rss()
        return peak if self._is_exact or peak > self._before else None


def available_memory() -> int | None:
    """Return the bytes that a process may still use, or None if this is unknown."""
    found = []
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMORY.read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable"))
        found.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # "max" is no limit
        found.append(int(_LIMIT.read_text()) - int(_USED.read_text()))
    return min(found, default=None)


def _reset_peak() -> bool:
    """Reset the peak to the current size; return whether the operating system supports it."""
    with suppress(OSError):
        _RESET_PEAK.write_text("5")
        return True
    return False


if sys.platform == "win32":

    def _peak_rss() -> int:
        return 0

else:

    def _peak_rss() -> int:
        if _STATUS.exists():
            # Not `getrusage`: some kernels do not reset its value with `clear_refs`.
            lines = _STATUS.read_text().splitlines()
            return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak
