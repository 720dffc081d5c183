"""The ledger: an append-only file with one JSON line per finished trial.

A ledger is a small text file that can be kept under version control. The predictions of the trials
are stored in a folder beside it. Several processes may write to a ledger at the same time, and any
of them may be killed at any moment.
"""

import errno
import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from io import RawIOBase
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import ArrayLike

from cordwood._base import atomic, strict_json
from cordwood._base.locks import hold_lock
from cordwood.exceptions import DataError

_FILE_LOCK = "ledger"


class _Position(NamedTuple):
    """Position in the file, always at the start of a line."""

    byte: int
    line: int


class _Chunk(NamedTuple):
    """The part of the file from `start` to `end`."""

    records: list[dict[str, Any]]
    unterminated: dict[str, Any] | None  # a record after `end` that lacks only its line break
    start: _Position
    end: _Position


_FILE_START = _Position(0, 0)


class Claim:
    """Exclusive right to run the trial of a key, until `release` or the end of a `with` block.

    The operating system releases the claim of a process that is killed.
    """

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    def release(self) -> None:
        """Release the claim, so that other processes can claim the key."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Ledger:
    """Records of finished trials in a JSON Lines file, safe for concurrent processes.

    A process that is killed while it writes may leave an incomplete last line, which readers ignore
    and the next writer overwrites.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder, "results.jsonl"))
    ...     with ledger.claim("a1"):
    ...         ledger.append({"key": "a1", "scores": {"micro_f1": 0.9}})
    ...     ledger.records(), ledger.claim("a1")
    ([{'key': 'a1', 'scores': {'micro_f1': 0.9}}], None)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._predictions = self.path.with_name(f"{self.path.stem}.predictions")
        self._locks = self.path.with_name(f"{self.path.stem}.locks")
        self._counts: Counter[str] = Counter()
        self._counted_to = _FILE_START

    def records(self) -> list[dict[str, Any]]:
        """Read all records, in the order in which they were written."""
        # A key with several records belongs to a failed trial that was run again; the last counts.
        chunk = self._read(_FILE_START)
        if chunk.unterminated is None:
            return chunk.records
        return [*chunk.records, chunk.unterminated]

    def count(self, key: str) -> int:
        """Count the records of a key, including the latest of other processes."""
        chunk = self._read(self._counted_to)
        if chunk.start == _FILE_START:
            self._counts.clear()
        self._counts.update(record["key"] for record in chunk.records)
        self._counted_to = chunk.end
        last = chunk.unterminated
        return self._counts[key] + (last is not None and last["key"] == key)

    def claim(self, key: str, *, n_known: int = 0) -> Claim | None:
        """Claim a key, so that no other process runs the same trial.

        Returns None if another process has claimed the key, or if there are more records of it than
        the caller knows.
        """
        self._locks.mkdir(parents=True, exist_ok=True)
        # Not thread-local, so that any thread can release the claim.
        lock = FileLock(self._locks / f"{key}.lock", thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        try:
            has_new_record = self.count(key) > n_known
        except BaseException:
            lock.release()
            raise
        if has_new_record:
            lock.release()
            return None
        return Claim(lock)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record, JSON with a string `key`, and flush it to disk."""
        if not isinstance(record.get("key"), str):
            raise ValueError(f"record must have a 'key' of type str; got {dict(record)!r}.")
        line = json.dumps(record, allow_nan=False, separators=(",", ":"))
        with (
            self._lock_file(),
            atomic.name_full_disk(self.path),
            open(self.path, "a+b", buffering=0) as file,
        ):
            end = _repair_last_line(file)
            data = f"{line}\n".encode()
            if file.write(data) != len(data):
                file.truncate(end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())

    def write_predictions(self, key: str, **arrays: ArrayLike) -> None:
        """Write the predictions of a trial atomically; the key must be claimed."""
        self._predictions.mkdir(parents=True, exist_ok=True)
        path = self._predictions / f"{key}.npz"
        # The key is claimed, so temporary files are leftovers of killed processes.
        for stale in self._predictions.glob(f".{path.name}.*"):
            stale.unlink()
        plain: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
        for name, array in plain.items():
            if array.dtype.hasobject:  # numpy would pickle them
                raise TypeError(
                    f"{name} must be an array of numbers or strings; got an array of objects."
                )
        with atomic.write(path, "wb") as file:
            np.savez_compressed(file, **plain)

    def _lock_file(self) -> AbstractContextManager[None]:
        self._locks.mkdir(parents=True, exist_ok=True)
        return hold_lock(self._locks / _FILE_LOCK)

    def _read(self, start: _Position) -> _Chunk:
        """Read from a position on, or from the beginning if the file has become shorter."""
        # Without a lock file there is no writer, and reading should not create files.
        if (self._locks / _FILE_LOCK).exists():
            try:
                with self._lock_file():
                    return self._read_unlocked(start)
            except OSError as error:
                # A copy that cannot be written has no writer.
                if not isinstance(error, PermissionError) and error.errno != errno.EROFS:
                    raise
        return self._read_unlocked(start)

    def _read_unlocked(self, start: _Position) -> _Chunk:
        if not self.path.exists():
            return _Chunk([], None, _FILE_START, _FILE_START)
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < start.byte:
                start = _FILE_START
            file.seek(start.byte)
            *lines, rest = file.read().split(b"\n")
        records = []
        for number, line in enumerate(lines, start=start.line + 1):
            record = _parse(line)
            if record is None:
                raise DataError(
                    f"{self.path}, line {number} is not a record; restore the file from a backup, "
                    "or delete the line and run its trial again"
                )
            records.append(record)
        n_bytes = sum(map(len, lines)) + len(lines)
        end = _Position(start.byte + n_bytes, start.line + len(lines))
        return _Chunk(records, _parse(rest), start, end)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Parse a line as a record; None for anything else, such as a part of a record."""
    try:
        record = strict_json.parse(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("key"), str) else None


def _repair_last_line(file: RawIOBase) -> int:
    """Terminate a complete last record, or remove an incomplete one; return the end of file."""
    n_bytes = file.seek(0, os.SEEK_END)
    file.seek(max(n_bytes - 1, 0))
    if file.read(1) in (b"", b"\n"):
        return n_bytes
    file.seek(0)
    content = file.readall()
    end = content.rfind(b"\n") + 1
    if _parse(content[end:]) is not None:
        file.write(b"\n")
        return n_bytes + 1
    file.truncate(end)
    return end
