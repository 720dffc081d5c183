"""Reader of dataframes: pandas, polars, pyarrow, or a mapping of names to columns.

None of these libraries is imported; a dataframe is used through the methods that they share.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from numbers import Number
from typing import Any, NamedTuple

from cordwood._labels import is_missing
from cordwood.datasets._csv import find_duplicates
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets._rows import ColumnNames, Row, list_names, missing_name_issue
from cordwood.datasets._values import to_list
from cordwood.exceptions import DataError


class _Column(NamedTuple):
    """A column of the dataframe, and the part of a row that it contains."""

    part: str
    name: str
    values: list[Any]


class _InvalidValue(Exception):
    """Raised for a value that cannot be used; the argument describes it."""


def is_dataframe(source: object) -> bool:
    """Return whether an object is a table with named columns.

    Examples
    --------
    >>> is_dataframe({"text": ["it purrs"], "label": ["cat"]}), is_dataframe("pets.csv")
    (True, False)
    """
    names = ("columns", "column_names", "__arrow_c_stream__")
    return isinstance(source, Mapping) or any(hasattr(type(source), name) for name in names)


def read_dataframe_rows(frame: Any, columns: ColumnNames, bad_rows: BadRowHandler) -> Iterator[Row]:
    """Yield the rows of a dataframe, numbered from 0.

    The first valid row determines whether labels are lists.

    Parameters
    ----------
    frame : dataframe
        A dataframe of pandas or polars, a table of pyarrow, a mapping of names to columns, or, if
        pyarrow is installed, any object with the Arrow PyCapsule interface.
    columns : ColumnNames
        The columns to read.
    bad_rows : BadRowHandler
        Handles rows with missing or invalid values.

    Raises
    ------
    DataError
        If a column is missing, and for an invalid row unless it is skipped.
    """
    name = type(frame).__name__
    frame = _to_indexable(frame, name)
    found = [
        _Column(part, column, to_list(frame[column]))
        for part, column in _choose_columns(columns, _list_columns(frame), name)
    ]
    lengths = {column.name: len(column.values) for column in found}
    n_samples = max(lengths.values())
    for short, length in lengths.items():
        if length != n_samples:
            raise DataError(
                f'{name}: the column "{short}" has {length} rows, and others have {n_samples}'
            )
    if n_samples == 0:
        raise DataError(f"{name} has no rows")
    multilabel: bool | None = None
    for number in range(n_samples):
        parts: dict[str, Any] = {}
        for column in found:
            try:
                value = _convert(column.part, column.values[number], multilabel)
            except _InvalidValue as error:
                place = f'{name}, row {number}: the {column.part} (column "{column.name}")'
                bad_rows.handle(RowIssue(f"{place} {error}", "correct or drop the row"))
                break
            parts[column.part] = f"{parts['text']}\n{value}" if column.part in parts else value
        else:
            multilabel = isinstance(parts.get("label"), tuple)
            yield Row(**{"id": str(number), **parts})


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


def _choose_columns(columns: ColumnNames, present: list[str], place: str) -> list[tuple[str, str]]:
    """Return the parts of a row with the names of their columns."""
    chosen = [("text", name) for name in columns.text or ["text"]]
    if columns.labeled:
        usual = "labels" if "labels" in present and "label" not in present else "label"
        chosen.append(("label", columns.label or usual))
    for part in ("id", "split", "group"):
        given = getattr(columns, part)
        if given or part in present:
            chosen.append((part, given or part))
    for part, name in chosen:
        if name not in present:
            issue = missing_name_issue(part, name, present, place=place, noun="column")
            raise DataError(f"{issue.message}; {issue.advice}")
    if duplicates := find_duplicates(present):
        raise DataError(
            f'{place} has more than one column "{duplicates[0]}" among its columns: '
            f"{list_names(present)}; rename one of them"
        )
    return chosen


def _convert(part: str, value: Any, multilabel: bool | None) -> Any:
    """Convert a value to a string; to a tuple of strings if it is a list of labels."""
    is_list = not isinstance(value, str) and hasattr(value, "__len__")
    if part != "label" or not (is_list or multilabel) or is_missing(value):
        return _to_string(part, value)
    if is_list and multilabel is not False:
        return tuple(_to_string(part, entry) for entry in to_list(value))
    found, usual = ("a list", "one label") if is_list else ("not a list", "a list of labels")
    raise _InvalidValue(f"is {found} but the rows before it have {usual}")


def _to_string(part: str, value: Any) -> str:
    if isinstance(value, str):
        if part == "label" and not value.strip():
            raise _InvalidValue("is empty")
        return str(value)
    if is_missing(value):
        raise _InvalidValue(f"is missing ({value!r})")
    # A text that is a number is probably the wrong column; ids and labels often are numbers.
    if part == "text" or not isinstance(value, Number):
        raise _InvalidValue(f"is of type {type(value).__name__}, not a string")
    return str(value)
