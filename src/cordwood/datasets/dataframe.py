"""Dataframes as tables: pandas, polars, pyarrow, or a mapping of names to columns.

None of these libraries is imported; a dataframe is used through the methods that they share.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from cordwood.datasets._batched_table import BatchedTable, ColumnBatch
from cordwood.datasets.values import to_list
from cordwood.exceptions import DataError


def is_dataframe(source: object) -> bool:
    """Return whether an object is a table with named columns.

    Examples
    --------
    >>> is_dataframe({"text": ["it purrs"], "label": ["cat"]}), is_dataframe("pets.csv")
    (True, False)
    """
    names = ("columns", "column_names", "__arrow_c_stream__")
    return isinstance(source, Mapping) or any(hasattr(type(source), name) for name in names)


def open_dataframe(frame: Any) -> BatchedTable:
    """Return a dataframe as a table, whose rows are numbered from 0."""
    name = type(frame).__name__
    frame = _to_indexable(frame, name)

    def iter_batches(columns: list[str]) -> Iterator[ColumnBatch]:
        values = {column: to_list(frame[column]) for column in columns}
        lengths = {column: len(entries) for column, entries in values.items()}
        n_samples = max(lengths.values(), default=0)
        for column, length in lengths.items():
            if length != n_samples:
                raise DataError(
                    f'{name}: the column "{column}" has {length} rows, and others have {n_samples}'
                )
        yield ColumnBatch(range(n_samples), values)

    return BatchedTable(name=name, columns=_list_columns(frame), iter_batches=iter_batches)


def _to_indexable(frame: Any, name: str) -> Any:
    """Return an object with named columns that are accessed by ``frame[name]``."""
    if hasattr(frame, "collect") and not hasattr(frame, "__len__"):
        raise DataError(f"{name} has not been computed; pass {name}.collect() instead")
    if isinstance(frame, Mapping) or hasattr(frame, "columns") or hasattr(frame, "column_names"):
        return frame
    if find_spec("pyarrow") is None:
        raise DataError(f"{name} can only be read if pyarrow is installed; install it")
    return import_module("pyarrow").table(frame)


def _list_columns(frame: Any) -> list[str]:
    # The columns of a pyarrow table are arrays; their names are in column_names.
    if isinstance(frame, Mapping):
        names = list(frame)
    else:
        names = list(getattr(frame, "column_names", None) or frame.columns)
    return [name for name in names if isinstance(name, str)]
