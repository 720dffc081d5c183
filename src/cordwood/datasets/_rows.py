"""Rows of data files, and the names of the columns that they are read from."""

import difflib
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from cordwood.datasets._row_errors import BadRowHandler, RowIssue

_MAX_SHOWN_NAMES = 20
# A similar name is searched among the first names only, because comparing names is slow.
_MAX_COMPARED_NAMES = 1000
_MAX_SHOWN_CHARACTERS = 30


class Row(NamedTuple):
    """A row of a data file.

    Parameters
    ----------
    id : str
        The value of the id column, or the number of the row, starting from 1.
    text : str
        The text, which may be empty.
    label : str, tuple of str, or None, default=None
        The label; a tuple of labels, which may be empty, in multilabel data; None if labels are
        not read.
    split : str or None, default=None
        The subset of a predefined split that contains the row.
    group : str or None, default=None
        The group of the row.
    """

    id: str
    text: str
    label: str | tuple[str, ...] | None = None
    split: str | None = None
    group: str | None = None


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

    def close(self) -> None:
        """Close the file."""
        self._rows.close()


@dataclass(frozen=True, kw_only=True)
class ColumnNames:
    """Names of the columns that a row is read from.

    Parameters
    ----------
    text : tuple of str or None
        Columns of the text, which are joined by newlines; None means "text".
    label : str or None
        Column of the label; None means "label", if `labeled`.
    labeled : bool
        Whether labels are read.
    id : str or None
        Column of the id; None means the column "id", if there is one.
    split : str or None
        Column of the split; None means the column "split", if there is one.
    group : str or None
        Column of the group; None means the column "group", if there is one.
    """

    text: tuple[str, ...] | None
    label: str | None
    labeled: bool
    id: str | None
    split: str | None
    group: str | None

    @property
    def given(self) -> list[str]:
        """The parts of a row whose columns were named explicitly."""
        parts = ("text", "label", "id", "split", "group")
        return [part for part in parts if getattr(self, part) is not None]


def list_names(names: Iterable[str]) -> str:
    """Return names separated by commas; long names and long lists are shortened."""
    shown = list(map(shorten, names))
    n_more = len(shown) - _MAX_SHOWN_NAMES
    return ", ".join(shown[:_MAX_SHOWN_NAMES]) + (f" and {n_more} more" if n_more > 0 else "")


def shorten(value: str) -> str:
    """Return the start of a long value, for messages."""
    if len(value) <= _MAX_SHOWN_CHARACTERS:
        return value
    return value[: _MAX_SHOWN_CHARACTERS - 3] + "..."


def missing_name_issue(
    option: str, name: str, present: Collection[str], *, place: str, noun: str
) -> RowIssue:
    """Describe a missing column or key: where, the most similar name, and all names."""
    folded = {other.casefold(): other for other in islice(present, _MAX_COMPARED_NAMES)}
    similar = difflib.get_close_matches(name.casefold(), folded, n=1)
    hint = f' (did you mean "{folded[similar[0]]}"?)' if similar else ""
    names = f"its {noun}s are: {list_names(present)}" if present else f"it has no {noun}s"
    return RowIssue(
        f'{place} has no {noun} "{name}"{hint}; {names}',
        f"name the {option} {noun} with {option}= / --{option}",
    )
