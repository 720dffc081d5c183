"""Invalid rows of a file: raise an error for the first one, or skip and count them."""

from typing import NamedTuple, NoReturn

from cordwood.exceptions import DataError


class RowIssue(NamedTuple):
    """What is wrong with a row, and how to correct it."""

    message: str
    advice: str


class BadRowHandler:
    """Raises an error for an invalid row, or skips and counts it."""

    def __init__(self, *, skip: bool, max_messages: int | None = None) -> None:
        self.skip = skip
        self.max_messages = max_messages  # None stores a message about each skipped row
        self.n_skipped = 0
        self.messages: list[str] = []
        # What was determined from the content of the file, such as its delimiter.
        self.notes: list[str] = []

    def handle(self, issue: RowIssue) -> None:
        """Raise a `DataError`, or count the row if invalid rows are skipped."""
        if not self.skip:
            raise DataError(
                f"{issue.message}; {issue.advice}, or skip bad rows with "
                "on_bad_rows='skip' / --on-bad-rows skip"
            )
        self.n_skipped += 1
        if self.max_messages is None or self.n_skipped <= self.max_messages:
            self.messages.append(issue.message)

    def raise_all_skipped(self, name: str) -> NoReturn:
        """Raise a `DataError` because every row was skipped."""
        raise DataError(
            f"{name} has no valid row; the first of its {self.n_skipped} bad rows: "
            f"{self.messages[0]}"
        )
