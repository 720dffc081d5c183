"""The ledger: a file that only grows, with one line for each unit of work that is finished.

It is small text, to be kept under version control; the predictions of each unit lie beside it in
a folder of their own. Any number of processes may write to one ledger, and any of them may be
killed at any moment.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood import _atomic as atomic
from cordwood.compare.runner import lock
from cordwood.exceptions import DataError


class _Place(NamedTuple):
    """How far a file has been read; always at the start of a line."""

    byte: int
    line: int


class _Part(NamedTuple):
    """What was read of a file from `start` to `end`."""

    whole: list[dict[str, Any]]
    last: dict[str, Any] | None  # after `end`: a record that lacks nothing but its end of line
    start: _Place
    end: _Place


_START = _Place(0, 0)
_FILE_LOCK = "ledger"


class Ledger:
    """Records of finished units in a file of JSON lines, safe among processes.

    A record is a mapping with a `key`, which says what was done; the other fields are the
    writer's affair, see `cordwood.compare.runner.run`. What a killed process has left half-written at
    the end of the file is no record, and the next one takes its place.

    Beside ``results.jsonl`` are the folders ``results.predictions``, with an archive of arrays for
    each key, and ``results.locks``, which may be deleted when nobody is at work.

    Processes must share a file system that carries locks, as every local one does. Network file
    systems often do not: there, give each machine a ledger of its own.

    Parameters
    ----------
    path : path
        The file; it and its folder are made when they are first written to.

    Examples
    --------
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
        self._seen: Counter[str] = Counter()
        self._start = _START

    def records(self) -> list[dict[str, Any]]:
        """Read all records, in the order in which they were written.

        Returns
        -------
        list of dict
            Empty if there is no file. A key comes more than once where a unit that failed was
            tried again; the last one counts.

        Raises
        ------
        DataError
            If a line is not a record; it names the line.
        """
        part = self._read(_START)
        return part.whole if part.last is None else [*part.whole, part.last]

    def count(self, key: str) -> int:
        """Count the records of a key, those included that others have just written."""
        part = self._read(self._start)
        if part.start == _START:
            self._seen.clear()
        self._seen.update(record["key"] for record in part.whole)
        self._start = part.end
        return self._seen[key] + (part.last is not None and part.last["key"] == key)

    def has(self, key: str) -> bool:
        """Tell whether there is a record of a key."""
        return self.count(key) > 0

    def claim(self, key: str, *, known: int = 0) -> lock.Lock | None:
        """Reserve a key, so that no other process does the same work.

        Parameters
        ----------
        key : str
            What is to be done; it serves as the name of a file.
        known : int, default=0
            How many records of the key there may be: more than none to do it again.

        Returns
        -------
        Lock or None
            To be used in a `with` block; it ends with the process if not before. None if another
            has the key at the moment, or if a record of it has appeared.
        """
        self._locks.mkdir(parents=True, exist_ok=True)
        held = lock.attempt(self._locks / f"{key}.lock")
        if held is None:
            return None
        with ExitStack() as stack:
            stack.enter_context(held)
            if self.count(key) > known:
                return None
            stack.pop_all()
        return held

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; when this returns, it is on the disk.

        Parameters
        ----------
        record : mapping
            With a `key`; what JSON can say, without NaN and infinity.
        """
        if not isinstance(record.get("key"), str):
            raise ValueError(f"a record must have a key that is a string: {dict(record)!r}")
        line = json.dumps(record, allow_nan=False, separators=(",", ":"))
        with self._exclusive(), open(self.path, "a+b", buffering=0) as file:
            end = _mend(file)
            piece = f"{line}\n".encode()
            if file.write(piece) != len(piece):
                file.truncate(end)
                raise OSError(f"{self.path}: there is no room for another record")
            os.fsync(file.fileno())

    def write_predictions(self, key: str, **arrays: ArrayLike) -> None:
        """Keep arrays beside the ledger, whole or not at all; the key must be claimed.

        Parameters
        ----------
        key : str
            Whose predictions they are; earlier ones of the same key are replaced.
        **arrays : array-like
            Of numbers or strings, by name.
        """
        self._predictions.mkdir(parents=True, exist_ok=True)
        path = self._predictions / f"{key}.npz"
        # Nobody else has the key: these were left by writers that were killed.
        for stale in self._predictions.glob(f".{path.name}.*"):
            stale.unlink()
        plain: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
        for name, array in plain.items():
            if array.dtype.hasobject:  # numpy would pickle them
                raise TypeError(f"{name} is an array of objects; make it numbers or strings")
        with atomic.write(path, "wb") as file:
            np.savez_compressed(file, **plain)

    def read_predictions(self, key: str) -> dict[str, NDArray[Any]]:
        """Read the arrays that were kept for a key.

        Raises
        ------
        DataError
            If there are none; a ledger is often passed on without them.
        """
        path = self._predictions / f"{key}.npz"
        if not path.exists():
            raise DataError(
                f"there is no {path}, which held the predictions; copy the folder "
                f"{self._predictions.name} with the ledger, or do the unit again"
            )
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._locks.mkdir(parents=True, exist_ok=True)
        with lock.hold(self._locks / _FILE_LOCK):
            yield

    def _read(self, start: _Place) -> _Part:
        """Read the records from a place on, or from the start of a file that is now shorter."""
        door = self._locks / _FILE_LOCK
        if not door.exists():  # nobody has ever written here
            return self._read_freely(start)
        with lock.hold(door, shared=True):
            return self._read_freely(start)

    def _read_freely(self, start: _Place) -> _Part:
        if not self.path.exists():
            return _Part([], None, _START, _START)
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < start.byte:
                start = _START
            file.seek(start.byte)
            *lines, rest = file.read().split(b"\n")
        whole = []
        for number, line in enumerate(lines, start=start.line + 1):
            record = _parse(line)
            if record is None:
                raise DataError(
                    f"{self.path}, line {number} is not a record; restore the file from a copy, or "
                    "delete the line and do its unit again"
                )
            whole.append(record)
        n_bytes = sum(map(len, lines)) + len(lines)
        end = _Place(start.byte + n_bytes, start.line + len(lines))
        return _Part(whole, _parse(rest), start, end)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Read a line as a record, or as nothing; no piece of a record's line is a record."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("key"), str) else None


def _mend(file: RawIOBase) -> int:
    """Bring a file's end to the end of a line, and return where that is."""
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
