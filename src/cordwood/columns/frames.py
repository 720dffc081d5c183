"""Columns of tables: dataframes of any library, mappings, and corpora with further columns."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base import sklearn_private
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.dataframe import is_dataframe, open_dataframe
from cordwood.datasets.rows import list_names
from cordwood.exceptions import DataError


def is_table(data: Any) -> bool:
    """Return whether an object is a dataframe, a mapping of columns, or a corpus."""
    # A series has an Arrow stream, too.
    is_frame = any(hasattr(type(data), name) for name in ("columns", "column_names"))
    return isinstance(data, Corpus | Mapping) or is_frame


def list_columns(table: Any) -> list[str]:
    """Return the names of the columns of a table.

    The texts of a corpus are the column "text", unless it has a further column of that name.
    """
    if isinstance(table, Corpus):
        return list({"text": None, **dict.fromkeys(table.columns)})
    return list(open_dataframe(_check_table(table)).columns)


def read_columns(table: Any, names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Return columns of a table as lists of Python objects, all of the same length."""
    present = list_columns(table)
    for name in names:
        if name not in present:
            raise DataError(
                f'the table has no column "{name}", which the model needs; its columns are: '
                f"{list_names(present)}"
            )
    if isinstance(table, Corpus):
        columns: Mapping[str, Any] = {"text": table.texts, **table.columns}
        return {name: list(columns[name]) for name in names}
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in open_dataframe(table).iter_batches(list(names)):
        for name in names:
            found[name] += batch.columns[name]
    return found


def _check_table(table: Any) -> Any:
    if not is_dataframe(table):
        raise DataError(
            f"the model needs a table with named columns, such as a dataframe or a dict of lists; "
            f"got a {type(table).__name__}"
        )
    return table


def count_rows(table: Any) -> int:
    """Return the number of rows of a table."""
    if isinstance(table, Corpus):
        return len(table)
    names = list_columns(table)
    return len(read_columns(table, (names[0],))[names[0]]) if names else 0


def take_rows(table: Any, indices: NDArray[np.intp]) -> Any:
    """Return a table of the same kind with only these rows."""
    if isinstance(table, Corpus):
        return table.select(indices)
    if isinstance(table, Mapping):
        columns = read_columns(table, tuple(list_columns(table)))
        return {name: [values[i] for i in indices] for name, values in columns.items()}
    if hasattr(table, "column_names"):  # of pyarrow, which not every scikit-learn can index
        return table.take(indices)
    return sklearn_private.take_rows(table, indices)


def take_label_column(table: Any, name: str) -> list[Any]:
    """Return the column with the labels, which is named by the user."""
    if name not in list_columns(table):
        raise DataError(
            f'the table has no column "{name}" for the labels; its columns are: '
            f"{list_names(list_columns(table))}"
        )
    return read_columns(table, (name,))[name]
