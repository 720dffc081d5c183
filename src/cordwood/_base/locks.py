"""Locks between processes, which the operating system releases when a process ends."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)

_PATIENCE = 10.0  # seconds
_POLL_INTERVAL = 0.01  # seconds


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file; a long wait for another process, which may be stopped, is logged."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=_PATIENCE, poll_interval=_POLL_INTERVAL)
    except Timeout:
        logger.warning(
            "Waiting for another process that has locked %s; continue it if it is stopped, or end "
            "it.",
            path,
        )
        lock.acquire(poll_interval=_POLL_INTERVAL)
    try:
        yield
    finally:
        lock.release()
