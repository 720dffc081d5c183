"""Tables and queries of SQLite databases, which are opened read-only."""

import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from time import thread_time
from typing import Any

from cordwood.datasets._batched_table import BatchedTable, ColumnBatch
from cordwood.datasets.lines import Budget, PathLike
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import list_names
from cordwood.exceptions import CordwoodError, DataError

_BATCH_SIZE = 1000
_VALUE_SIZE = 8
# Bytes of a value: more than any name in a schema, and the largest limit of SQLite.
_MIN_LENGTH, _MAX_LENGTH = 1 << 16, 2**31 - 1
# CPU time of reading a table: about a hundred times what is usual.
_MIN_SECONDS, _SECONDS_PER_BYTE = 5.0, 1e-6
_STEPS = 200  # instructions of SQLite between two looks at the clock
# Functions that views may call: their time and their results are at most those of their arguments.
_FUNCTIONS = (
    *("abs", "avg", "coalesce", "count", "date", "datetime", "ifnull", "iif", "julianday"),
    *("length", "lower", "ltrim", "max", "min", "nullif", "round", "rtrim", "strftime"),
    *("substr", "substring", "sum", "time", "total", "trim", "typeof", "unixepoch", "upper"),
)
_ADVICE: dict[int | None, str] = {
    sqlite3.SQLITE_INTERRUPT: "a view or a column takes too long; read it with query= / --query",
    sqlite3.SQLITE_TOOBIG: "if it is not malicious, raise the limit with max_bytes= / --max-bytes",
}
# Everything else, such as writing or attaching another database, is denied.
_ALLOWED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


def open_sqlite(path: PathLike, options: ReadOptions) -> BatchedTable:
    """Open a table, which may be omitted if there is only one, or the result of a query."""
    table, query = options.table, options.query
    if table is not None and query is not None:
        raise CordwoodError("table and query exclude each other; leave out one of them")
    path = os.fspath(path)
    own_query = query is not None
    with _sqlite_errors(path), closing(_connect(path, own_query)) as database:
        if query is None:
            table = _choose_table(database, path, table)
            quoted = table.replace('"', '""')
            query = f'SELECT * FROM "{quoted}"'
        columns = _list_columns(database, query if own_query else f"{query} LIMIT 0")
    if not columns:
        raise DataError(f"{path}: the query returns no columns; write a SELECT statement")
    name = f"{path}, query" if table is None else f"{path}, table {table}"

    def iter_batches(wanted: list[str]) -> Iterator[ColumnBatch]:
        indices = {column: columns.index(column) for column in wanted}
        size = os.path.getsize(path)
        budget = Budget(path, size, options.max_bytes)
        with _sqlite_errors(path), closing(_connect(path, own_query)) as database:
            # A row is in memory before its size is known.
            longest = min(budget.limit // len(columns), _MAX_LENGTH)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(longest, _MIN_LENGTH))
            clock = _Clock(math.inf if own_query else _MIN_SECONDS + size * _SECONDS_PER_BYTE)
            database.set_progress_handler(clock.is_over, _STEPS)
            clock.start()
            cursor = database.execute(query)
            start = 1
            while rows := list(islice(_charge(cursor, budget), _BATCH_SIZE)):
                clock.stop()
                values = {column: [row[index] for row in rows] for column, index in indices.items()}
                yield ColumnBatch(range(start, start + len(rows)), values)
                start += len(rows)
                clock.start()

    return BatchedTable(name=name, columns=columns, iter_batches=iter_batches, untyped=True)


def _charge(rows: Iterator[tuple[Any, ...]], budget: Budget) -> Iterator[tuple[Any, ...]]:
    """Yield rows within a budget: defaults and views can make them larger than the file."""
    for row in rows:
        lengths = (len(value) if isinstance(value, str | bytes) else 0 for value in row)
        budget.spend(sum(lengths, _VALUE_SIZE * len(row)))
        yield row


class _Clock:
    """Limits the time that a database spends on its views and generated columns."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._start = 0.0

    def start(self) -> None:
        """Start to count."""
        self._start = thread_time()

    def stop(self) -> None:
        """Stop to count, while the rows are used."""
        self._left -= thread_time() - self._start

    def is_over(self) -> bool:
        """Return whether SQLite has to stop."""
        return thread_time() - self._start > self._left


def _connect(path: str, own_query: bool) -> sqlite3.Connection:
    # An absolute path, because a relative one is not a valid URI.
    uri = f"{Path(path).resolve().as_uri()}?mode=ro"
    database = sqlite3.connect(uri, uri=True)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    database.execute("PRAGMA query_only = ON")
    database.set_authorizer(partial(_authorize, own_query))
    # Text that is not UTF-8 makes one row invalid, and not the file.
    database.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    return database


def _authorize(
    own_query: bool, action: int, _: Any, name: str | None, database: Any, source: str | None
) -> int:
    # `source` is the view that calls a function, None for the query itself.
    is_allowed = action in _ALLOWED
    if action == sqlite3.SQLITE_FUNCTION and not (own_query and source is None):
        is_allowed = name in _FUNCTIONS
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _list_columns(database: sqlite3.Connection, query: str) -> list[str]:
    cursor = database.execute(query)
    return [description[0] for description in cursor.description or ()]


def _choose_table(database: sqlite3.Connection, path: str, table: str | None) -> str:
    # A view runs statements of the database, so it must be named. Virtual tables run other code.
    found = database.execute(
        "SELECT name, type FROM sqlite_master WHERE type = 'view' OR type = 'table' AND rootpage"
    )
    kinds = {name: kind for name, kind in found if not name.startswith("sqlite_")}
    names = list(kinds)
    shown = f"its tables are: {list_names(names)}" if names else "it has no tables"
    if table is None and list(kinds.values()) == ["table"]:
        return str(names[0])
    if table is None:
        raise DataError(f"name the table of {path} with table= / --table; {shown}")
    if table not in names:
        raise DataError(f'{path} has no table "{table}"; {shown}')
    return table


@contextmanager
def _sqlite_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        # UnicodeError: messages of SQLite quote the content of corrupt files.
        code = getattr(error, "sqlite_errorcode", None)
        advice = _ADVICE.get(code, "check the file and the query")
        raise DataError(f"{path} cannot be read with SQLite ({error}); {advice}") from error
