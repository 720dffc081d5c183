"""Cache of vectors on disk, so that a text is encoded once.

A folder per fingerprint of an encoder contains a SQLite database with one row per text: the digest
of the text, the vector as float16, and whether the text was truncated. The text itself is not
stored. SQLite makes it safe to use from several processes, and to kill a process at any time.
"""

import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cordwood._user_dirs import create_private_dir, user_cache_dir
from cordwood.encoders.encoder import EncodedTexts, Encoder

logger = logging.getLogger(__name__)

MAX_BYTES = 2_000_000_000
"""Size of the cache of all encoders above which vectors that were not used recently are deleted."""

_FILE = "vectors.sqlite"
# Seconds to wait for another process that is writing, which takes milliseconds.
_TIMEOUT = 10.0
# Keys per query; SQLite allows at least 999 parameters.
_QUERY_SIZE = 900
# Fraction of the vectors of an encoder that are deleted when the cache is full.
_EVICTED_FRACTION = 0.25
# Bytes of a row besides the vector, with those of the index.
_ROW_BYTES = 80
# In the year 9891: a clock may have been wrong, and dates end in the year 9999.
_LAST_TIME = 2.5e11

_SCHEMA = """
DROP TABLE IF EXISTS vectors;
DROP TABLE IF EXISTS encoder;
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,  -- increasing, so that deleting the oldest rows frees whole pages
    key BLOB NOT NULL UNIQUE,  -- digest of the text
    truncated INTEGER NOT NULL,
    checksum INTEGER NOT NULL,  -- CRC-32 of the vector: SQLite does not detect changed values
    vector BLOB NOT NULL  -- float16, little-endian
);
CREATE TABLE encoder (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL, fingerprint TEXT NOT NULL, dimension INTEGER NOT NULL,
    max_tokens INTEGER NOT NULL
);
"""

# Changes with the schema, so that a database of another version of cordwood is not used.
_SCHEMA_VERSION = crc32(_SCHEMA.encode()) % 2**31

Key = bytes

# Caches whose errors were logged: each fold of a cross-validation opens the cache again.
_REPORTED: set[tuple[Path, str]] = set()

UNREADABLE = "unreadable"
"""Name of the encoder of a cache that is damaged or written by another version of cordwood."""


@dataclass(frozen=True, kw_only=True)
class CacheInfo:
    """Cached vectors of one encoder."""

    path: Path  # folder of the cache
    name: str  # name of the encoder
    fingerprint: str
    dimension: int
    max_tokens: int
    n_vectors: int
    n_bytes: int  # size on disk
    used: float  # time of last use, in seconds since 1970


def text_key(text: str) -> Key:
    """Return the digest of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def default_cache_dir() -> Path:
    """Return the folder of the caches of all encoders."""
    return user_cache_dir() / "embeddings"


class EmbeddingCache:
    """Cached vectors of one encoder.

    A cache that cannot be read or written is not an error: a warning is logged, and texts are
    encoded again.
    """

    def __init__(self, root: Path, encoder: Encoder, max_bytes: int = MAX_BYTES) -> None:
        if encoder.fingerprint is None:
            raise ValueError("the encoder has no fingerprint")
        self._root = root
        self._encoder = encoder
        self._max_bytes = max_bytes
        self.path = root / encoder.fingerprint[:32]
        self._is_usable = True

    def read(self, keys: Sequence[Key]) -> tuple[NDArray[np.intp], EncodedTexts]:
        """Return the positions of the keys that are cached, and their vectors as float16."""
        found: dict[Key, tuple[bool, bytes]] = {}
        if self._is_usable and (self.path / _FILE).is_file():
            with self._report_errors("read"), self._connect() as database:
                n_keys = len(keys) if _has_schema(database) else 0
                for first in range(0, n_keys, _QUERY_SIZE):
                    part = keys[first : first + _QUERY_SIZE]
                    query = (
                        "SELECT key, truncated, checksum, vector FROM vectors "
                        f"WHERE key IN ({','.join('?' * len(part))})"
                    )
                    for key, truncated, checksum, vector in database.execute(query, part):
                        if isinstance(vector, bytes) and crc32(vector) == checksum:
                            found[key] = bool(truncated), vector
                with suppress(OSError):  # in a read-only folder
                    (self.path / _FILE).touch()
        size = 2 * self._encoder.dimension
        hits = [i for i, key in enumerate(keys) if key in found and len(found[key][1]) == size]
        data = b"".join(found[keys[i]][1] for i in hits)
        vectors = np.frombuffer(data, "<f2").reshape(len(hits), self._encoder.dimension)
        truncated = np.array([found[keys[i]][0] for i in hits], np.bool_)
        # A process that writes other vectors can write their checksums, too.
        is_finite = np.isfinite(vectors).all(axis=1)
        encoded = EncodedTexts(vectors[is_finite].astype(np.float32), truncated[is_finite])
        return np.array(hits, np.intp)[is_finite], encoded

    def write(self, keys: Sequence[Key], encoded: EncodedTexts) -> None:
        """Add vectors, whose elements must be representable as float16."""
        if not self._is_usable:
            return
        vectors = encoded.vectors.astype("<f2")
        rows = [
            (key, bool(truncated), crc32(vector.tobytes()), vector.tobytes())
            for key, truncated, vector in zip(keys, encoded.truncated, vectors, strict=True)
        ]
        with self._report_errors("written"):
            create_private_dir(self.path)
            with self._connect() as database:
                self._initialize(database)
                self._make_space(database, vectors.nbytes + len(rows) * _ROW_BYTES)
                with database:
                    database.execute("BEGIN IMMEDIATE")
                    database.executemany(
                        "INSERT OR REPLACE INTO vectors VALUES (NULL, ?, ?, ?, ?)", rows
                    )

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        # A connection per call: connections are not shared between threads and processes.
        with closing(
            sqlite3.connect(self.path / _FILE, timeout=_TIMEOUT, isolation_level=None)
        ) as database:
            yield database

    def _initialize(self, database: sqlite3.Connection) -> None:
        """Create the tables, and replace those of another version of cordwood."""
        if _has_schema(database):
            return
        # Vectors have up to several kilobytes; with the default of 4 KB, a quarter is unused.
        database.execute("PRAGMA page_size = 16384")
        encoder = self._encoder
        with database:
            database.execute("BEGIN IMMEDIATE")
            if _has_schema(database):  # Another process has created the tables in the meantime.
                return
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            database.execute(
                "INSERT INTO encoder VALUES (1, ?, ?, ?, ?)",
                (encoder.name, encoder.fingerprint, encoder.dimension, encoder.max_tokens),
            )
            database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")

    def _make_space(self, database: sqlite3.Connection, n_bytes: int) -> None:
        """Delete the caches of other encoders, then vectors of this one, the oldest first."""
        files = [file for file in self._root.glob(f"*/{_FILE}") if file.parent != self.path]
        others = sorted((file.stat().st_mtime, file.stat().st_size, file) for file in files)
        excess = _used_bytes(database) + sum(size for _, size, _ in others) + n_bytes
        excess -= self._max_bytes
        for _, size, file in others:
            if excess <= 0:
                return
            if delete_cache(file.parent):
                excess -= size
        if excess > 0:
            share = min(max(_EVICTED_FRACTION, excess / self._max_bytes), 1.0)
            database.execute(
                "DELETE FROM vectors WHERE id <= (SELECT MIN(id) + (MAX(id) - MIN(id)) * ? "
                "FROM vectors)",
                (share,),
            )

    @contextmanager
    def _report_errors(self, done: str) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.DatabaseError) and _is_damaged(error):
                logger.warning("The embedding cache %s is damaged and is deleted.", self.path)
                delete_cache(self.path)
                return
            if (self.path, done) not in _REPORTED:
                _REPORTED.add((self.path, done))
                logger.warning(
                    "The embedding cache %s cannot be %s: %s. Texts are encoded each time.",
                    self.path,
                    done,
                    getattr(error, "strerror", None) or error,
                )
            # Otherwise, every further access would wait again.
            self._is_usable = False


def list_caches(root: Path) -> list[CacheInfo]:
    """List the caches of all encoders."""
    found = []
    for file in sorted(root.glob(f"*/{_FILE}")):
        with suppress(FileNotFoundError):  # deleted by another process
            name, fingerprint, dimension, max_tokens, n_vectors = _describe(file)
            found.append(
                CacheInfo(
                    path=file.parent,
                    name=name,
                    fingerprint=fingerprint,
                    dimension=dimension,
                    max_tokens=max_tokens,
                    n_vectors=n_vectors,
                    n_bytes=file.stat().st_size,
                    used=min(max(file.stat().st_mtime, 0.0), _LAST_TIME),
                )
            )
    return found


def _describe(file: Path) -> tuple[str, str, int, int, int]:
    """Return name, fingerprint, dimension and length of the encoder, and the number of vectors."""
    with suppress(OSError, sqlite3.Error), closing(sqlite3.connect(file)) as database:
        row: tuple[str, str, int, int, int] | None = database.execute(
            "SELECT name, fingerprint, dimension, max_tokens, (SELECT COUNT(*) FROM vectors) "
            "FROM encoder"
        ).fetchone()
        if row is not None:
            return row
    return UNREADABLE, file.parent.name, 0, 0, 0


def delete_cache(path: Path) -> bool:
    """Delete the cache of one encoder; return False if another process prevents that."""
    with suppress(OSError):  # on Windows, if the file is open
        for file in (path / _FILE, path / f"{_FILE}-journal"):
            file.unlink(missing_ok=True)
        path.rmdir()
    return not (path / _FILE).exists()


def _has_schema(database: sqlite3.Connection) -> bool:
    """Return whether the tables are those of this version of cordwood."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return bool(version == _SCHEMA_VERSION)


def _used_bytes(database: sqlite3.Connection) -> int:
    """Return the size of a database without the space that deleted rows have left."""
    size, count, free = (
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "page_count", "freelist_count")
    )
    return int(size * (count - free))


def _is_damaged(error: sqlite3.DatabaseError) -> bool:
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return getattr(error, "sqlite_errorcode", None) in codes
