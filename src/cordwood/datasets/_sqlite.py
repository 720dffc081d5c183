"""Tables and queries of SQLite databases, which are opened read-only."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cordwood.datasets._batched_table import BatchedTable, ColumnBatch
from cordwood.datasets.lines import PathLike
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import list_names
from cordwood.exceptions import CordwoodError, DataError

_BATCH_SIZE = 1000
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
    with _sqlite_errors(path), closing(_connect(path)) as database:
        if query is None:
            table = _choose_table(database, path, table)
            quoted = table.replace('"', '""')
            query = f'SELECT * FROM "{quoted}"'
        columns = _list_columns(database, query)
    if not columns:
        raise DataError(f"{path}: the query returns no columns; write a SELECT statement")
    name = f"{path}, query" if table is None else f"{path}, table {table}"

    def iter_batches(wanted: list[str]) -> Iterator[ColumnBatch]:
        indices = {column: columns.index(column) for column in wanted}
        with _sqlite_errors(path), closing(_connect(path)) as database:
            cursor = database.execute(query)
            start = 1
            while rows := cursor.fetchmany(_BATCH_SIZE):
                values = {column: [row[index] for row in rows] for column, index in indices.items()}
                yield ColumnBatch(range(start, start + len(rows)), values)
                start += len(rows)

    return BatchedTable(name=name, columns=columns, iter_batches=iter_batches, untyped=True)


def _connect(path: str) -> sqlite3.Connection:
    # An absolute path, because a relative one is not a valid URI.
    uri = f"{Path(path).resolve().as_uri()}?mode=ro"
    database = sqlite3.connect(uri, uri=True)
    # A malicious database must not call functions from views.
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.set_authorizer(_authorize)
    # Text that is not UTF-8 makes one row invalid, and not the file.
    database.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    return database


def _authorize(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _list_columns(database: sqlite3.Connection, query: str) -> list[str]:
    cursor = database.execute(query)
    return [description[0] for description in cursor.description or ()]


def _choose_table(database: sqlite3.Connection, path: str, table: str | None) -> str:
    found = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    names = [name for (name,) in found if not name.startswith("sqlite_")]
    shown = f"its tables are: {list_names(names)}" if names else "it has no tables"
    if table is None and len(names) == 1:
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
        raise DataError(
            f"{path} cannot be read with SQLite ({error}); check the file and the query"
        ) from error
