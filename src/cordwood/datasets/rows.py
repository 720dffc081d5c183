"""Rows of data files, and messages about their columns."""

import difflib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from cordwood._base.wording import shorten
from cordwood.datasets._row_errors import BadRowHandler, RowIssue, SkippedRow

_MAX_SHOWN_NAMES = 20
# A similar name is searched among the first names only, because comparing names is slow.
_MAX_COMPARED_NAMES = 1000


__all__ = ["NO_COLUMNS", "Row", "RowStream", "SkippedRow", "list_names", "missing_name_issue"]

NO_COLUMNS: Mapping[str, Any] = {}
"""Columns of a row without further columns, which are not modified."""


class Row(NamedTuple):
    """A row of a data file."""

    id: str  # the number of the row if there is no other
    text: str
    label: str | tuple[str, ...] | None = None  # a tuple in multilabel data; None if not read
    split: str | None = None
    group: str | None = None
    weight: float | None = None
    time: float | datetime | None = None  # a number, or a date in UTC without a time zone
    # Further columns: strings, numbers, None for missing values, dates as ISO 8601 strings.
    columns: Mapping[str, Any] = NO_COLUMNS


class RowStream(Iterator[Row]):
    """Iterator over the rows of a file, which are read on demand.

    The file is opened for the first row, and closed after the last row or by `close`.
    """

    def __init__(self, rows: Generator[Row, None, None], bad_rows: BadRowHandler) -> None:
        self._rows = rows
        self._bad_rows = bad_rows

    def __next__(self) -> Row:
        return next(self._rows)

    @property
    def n_skipped(self) -> int:
        """Number of bad rows skipped so far."""
        return self._bad_rows.n_skipped

    @property
    def skipped(self) -> tuple[str, ...]:
        """Messages about the first 1000 bad rows skipped so far."""
        return tuple(self._bad_rows.messages)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was determined from the content of the file so far, such as its delimiter."""
        return tuple(self._bad_rows.notes)

    def close(self) -> None:
        """Close the file."""
        self._rows.close()


def list_names(names: Iterable[str]) -> str:
    """Return names separated by commas; long names and long lists are shortened."""
    shown = list(map(shorten, names))
    n_more = len(shown) - _MAX_SHOWN_NAMES
    return ", ".join(shown[:_MAX_SHOWN_NAMES]) + (f" and {n_more} more" if n_more > 0 else "")


def missing_name_issue(
    option: str, name: str, present: Collection[str], *, place: str, noun: str
) -> RowIssue:
    """Describe a missing column or key: where, the most similar name, and all names."""
    folded = {other.casefold(): other for other in islice(present, _MAX_COMPARED_NAMES)}
    similar = difflib.get_close_matches(name.casefold(), folded, n=1)
    hint = f' (did you mean "{folded[similar[0]]}"?)' if similar else ""
    names = f"its {noun}s are: {list_names(present)}" if present else f"it has no {noun}s"
    advice = f"name the {option} {noun} with {option}= / --{option}"
    if option == "extra_columns":
        advice = f"name a {noun} that exists"
    return RowIssue(f'{place} has no {noun} "{name}"{hint}; {names}', advice)
