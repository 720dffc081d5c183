"""Locks between processes that the system takes away when their holder dies.

They are locks of open files, not files that exist or do not: a process that is killed leaves none
behind. On network file systems they hold only as far as the server carries locks; runners on
several machines should each have a ledger of their own.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PAUSE = 0.01  # seconds between attempts, where the system cannot wait for us


class Lock:
    """A lock that is held, until `release` or the end of a `with` block; see `attempt`."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path

    def release(self) -> None:
        """Let others have it, and remove its file where that is safe."""
        if sys.platform != "win32":
            # Before the lock goes: who has opened this file already finds it gone and opens anew.
            self._path.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def attempt(path: Path) -> Lock | None:
    """Take a lock now, or not at all.

    Parameters
    ----------
    path : Path
        The file to lock; made if need be, in a folder that must exist.

    Returns
    -------
    Lock or None
        None if another holds it, in this process or in any other.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with attempt(Path(folder, "door")):
    ...         attempt(Path(folder, "door")) is None
    True
    """
    while True:
        file = open(path, "ab")
        if not _take(file, wait=False, shared=False):
            file.close()
            return None
        if _is_at(file, path):
            return Lock(file, path)
        file.close()  # its last holder has removed it in between


@contextmanager
def hold(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Wait for a lock and hold it during a `with` block; its file stays.

    Parameters
    ----------
    path : Path
        The file to lock. With `shared` it must exist, and may be one that cannot be written.
    shared : bool, default=False
        Whether others who share may hold it too; on Windows they may not.
    """
    with open(path, "rb" if shared else "ab") as file:
        while not _take(file, wait=True, shared=shared):
            time.sleep(_PAUSE)
        yield


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _take(file: IO[bytes], *, wait: bool, shared: bool) -> bool:
        # The system's own waiting gives up after ten seconds, so `hold` asks again and again.
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _take(file: IO[bytes], *, wait: bool, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
