"""Invalid rows of a file: raise an error that names them, or skip and count them."""

import re
from typing import NamedTuple, NoReturn

from cordwood._base.wording import count
from cordwood.exceptions import DataError

_MAX_NAMED = 10
_FILE_NAME = re.compile(r"^.*?, (?=(line|row) \d)")


class RowIssue(NamedTuple):
    """What is wrong with a row, and how to correct it."""

    message: str
    advice: str
    is_of_file: bool = False  # the advice corrects all such rows at once


class SkippedRow(str):
    """Message about a row that was skipped, with the number of the row, counted from 1."""

    number: int


class BadRowHandler:
    """Raises an error for an invalid row, or skips and counts it.

    With `defer`, the error is raised by `finish`, or after `defer` rows, and names ten rows.
    """

    def __init__(
        self, *, skip: bool, max_messages: int | None = None, defer: int | None = None
    ) -> None:
        self.skip = skip
        self.max_messages = max_messages  # None stores a message about each skipped row
        self.n_skipped = 0
        self.messages: list[SkippedRow] = []
        # What was determined from the content of the file, such as its delimiter.
        self.notes: list[str] = []
        self._defer = 1 if defer is None else defer
        self._advice = ""

    def handle(self, issue: RowIssue, number: int = 0) -> None:
        """Count the row of this number; raise a `DataError` unless invalid rows are skipped."""
        self.n_skipped += 1
        self._advice = self._advice or issue.advice
        note = f"rows that cannot be decoded are left out; to keep them, {issue.advice}"
        if self.skip and issue.is_of_file and note not in self.notes:
            self.notes.append(note)
        limit = self.max_messages if self.skip else _MAX_NAMED
        if limit is None or self.n_skipped <= limit:
            message = SkippedRow(issue.message)
            message.number = number
            self.messages.append(message)
        if self.n_skipped >= self._defer:
            self.finish()

    def finish(self) -> None:
        """Raise a `DataError` that names the first invalid rows, unless they are skipped."""
        if self.skip or not self.n_skipped:
            return
        first, *others = self.messages
        message = (
            f"{first}; {self._advice}, or skip bad rows with on_bad_rows='skip' / --on-bad-rows "
            "skip"
        )
        if others:
            # Only the first of them has the name of the file.
            found = _FILE_NAME.match(first)
            shown = [each.removeprefix(found[0] if found else "") for each in others]
            n_unnamed = self.n_skipped - len(self.messages)
            more = f"; and {n_unnamed:,} more" if n_unnamed else ""
            bad = count(self.n_skipped - 1, "more row is bad", "more rows are bad")
            message += f"; {bad}: {'; '.join(shown)}{more}"
        raise DataError(message)

    def raise_all_skipped(self, name: str) -> NoReturn:
        """Raise a `DataError` because every row was skipped."""
        self.finish()
        raise DataError(
            f"{name} has no valid row; the first of its {self.n_skipped} bad rows: "
            f"{self.messages[0]}"
        )
