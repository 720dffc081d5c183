"""One labelled document at a time, and the names of the columns that it is made from."""

import difflib
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cordwood.datasets._row_errors import BadRows, Fault

_SHOWN_NAMES = 20
_SHOWN_LETTERS = 30


class Row(NamedTuple):
    """A document as it stands in its file.

    Parameters
    ----------
    id : str
        From the file's id column, or the number of the row, from 1.
    text : str
        May be empty.
    label : str, tuple of str, or None
        A tuple where a row may have several labels, or none; None where labels are not read.
    split : str or None
        The official part that the row belongs to.
    group : str or None
        Rows of one group must stay on one side of any split.
    line : int or None
        Where the row begins in its file, from 1; None where the document is a file of its own.
    """

    id: str
    text: str
    label: str | tuple[str, ...] | None = None
    split: str | None = None
    group: str | None = None
    line: int | None = None


class RowStream(Iterator[Row]):
    """Rows that are read as they are asked for.

    The file is opened for the first row, and closed after the last or by `close`.
    """

    def __init__(self, rows: Generator[Row, None, None], bad_rows: BadRows) -> None:
        self._rows = rows
        self._bad_rows = bad_rows

    def __next__(self) -> Row:
        return next(self._rows)

    @property
    def n_skipped(self) -> int:
        """How many bad rows have been left out so far."""
        return self._bad_rows.count

    @property
    def skipped(self) -> tuple[str, ...]:
        """One sentence for each of the first 1000 bad rows that were left out so far."""
        return tuple(self._bad_rows.sentences)

    def close(self) -> None:
        """Close the file before its end."""
        self._rows.close()


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that a row is made from.

    Parameters
    ----------
    text : tuple of str, optional
        Joined by a newline, in this order; None stands for "text".
    label : str, optional
        None stands for the usual name, where `labelled`.
    labelled : bool
        Whether labels are read.
    id, split, group : str, optional
        None stands for a column of that very name, if there is one.
    """

    text: tuple[str, ...] | None
    label: str | None
    labelled: bool
    id: str | None
    split: str | None
    group: str | None

    @property
    def named(self) -> list[str]:
        """The parts of a row whose columns were named."""
        return [
            part
            for part in ("text", "label", "id", "split", "group")
            if getattr(self, part) is not None
        ]


def list_names(names: Iterable[str]) -> str:
    """Write column names in a sentence, with long names and long lists cut short."""
    shown = [
        name if len(name) <= _SHOWN_LETTERS else name[: _SHOWN_LETTERS - 3] + "..."
        for name in names
    ]
    more = len(shown) - _SHOWN_NAMES
    return ", ".join(shown[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def missing_name(
    option: str, name: str, present: Collection[str], *, place: str, noun: str
) -> Fault:
    """Say that a column is not there, what is, and which was perhaps meant."""
    folded = {other.casefold(): other for other in present}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    hint = f' (did you mean "{folded[near[0]]}"?)' if near else ""
    there = f"its {noun}s are: {list_names(present)}" if present else f"it has no {noun}s"
    return Fault(
        f'{place} has no {noun} "{name}"{hint}; {there}',
        f"name the {option} {noun} with {option}= / --{option}",
    )
