"""Events of labelling on disk: append-only, so that nothing that was confirmed is ever lost.

SQLite, because several processes may write at the same time, a power failure leaves a transaction
whole or not at all, and every data tool reads the file. An event is one transaction, which is on
the disk when `append` returns: with a write-ahead log, `synchronous=FULL` waits for it.
"""

import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from cordwood.exceptions import CordwoodError

_FORMAT = 0x636F7264, 1  # in the header of the file: "cord", and the version
_BUSY_SECONDS = 30.0
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,       -- ISO 8601, UTC
    annotator TEXT NOT NULL,  -- empty for events of the program
    action TEXT NOT NULL,
    sample TEXT,              -- SHA-256 of the text, in UTF-8
    labels TEXT NOT NULL,     -- JSON list
    details TEXT NOT NULL     -- JSON object
);
CREATE TRIGGER IF NOT EXISTS no_update BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER IF NOT EXISTS no_delete BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
PRAGMA application_id = {_FORMAT[0]};
PRAGMA user_version = {_FORMAT[1]};
COMMIT;
"""


class Event(NamedTuple):
    """What an annotator or the program did."""

    id: int
    time: str
    annotator: str
    action: str
    sample: str | None
    labels: tuple[str, ...]
    details: Mapping[str, Any]


def name_store(output: Path) -> Path:
    """Return the file of the events of an output, which is beside it."""
    return output.with_name(f"{output.name}.events.sqlite")


class Store:
    """Events in one SQLite file, for any number of threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            raise CordwoodError(
                f"cannot use {path} for the labels ({error}); give another -o, or move the file"
            ) from error

    def _open(self) -> None:
        if not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            # Another process may create it at the same time: each statement allows for that.
            self._connection.executescript(_SCHEMA)
        if (self._pragma("application_id"), self._pragma("user_version")) != _FORMAT:
            raise CordwoodError(
                f"{self.path} was not written by this version of cordwood label; give another -o, "
                "or move the file"
            )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def append(
        self,
        annotator: str,
        action: str,
        sample: str | None = None,
        labels: tuple[str, ...] = (),
        **details: Any,
    ) -> int:
        """Write an event, and return its number once it is on the disk."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        values = (time, annotator, action, sample, json.dumps(labels), json.dumps(details))
        try:
            with self._lock, closing(self._connection.cursor()) as cursor:
                cursor.execute(
                    "INSERT INTO events (time, annotator, action, sample, labels, details) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    values,
                )
                return int(cursor.lastrowid or 0)
        except sqlite3.Error as error:
            raise CordwoodError(f"the label was not stored in {self.path}: {error}") from error

    def read(self, after: int) -> list[Event]:
        """Return the events after the one of this number, also those of other processes."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT id, time, annotator, action, sample, labels, details FROM events "
                "WHERE id > ? ORDER BY id",
                (after,),
            ).fetchall()
        return [
            Event._make((*each, tuple(json.loads(labels)), json.loads(details)))
            for *each, labels, details in rows
        ]

    def close(self) -> None:
        """Close the file; the write-ahead log is merged into it by the last process."""
        with self._lock:
            self._connection.close()
