"""Rows that cannot be used: refused at once, or left out, counted and told."""

from typing import NamedTuple, NoReturn

from cordwood.exceptions import DataError


class Fault(NamedTuple):
    """What is wrong with a row, and what a person can do about it."""

    sentence: str
    remedy: str


class BadRows:
    """What became of the bad rows of one file.

    Parameters
    ----------
    skip : bool
        Whether to count bad rows rather than to raise at the first.
    most_sentences : int, optional
        How many sentences to keep; a stream must not grow with its bad rows. All by default.

    Attributes
    ----------
    count : int
        How many rows were left out.
    sentences : list of str
        What was wrong with them, of the first `most_sentences`.
    """

    def __init__(self, *, skip: bool, most_sentences: int | None = None) -> None:
        self.skip = skip
        self.most_sentences = most_sentences
        self.count = 0
        self.sentences: list[str] = []

    def refuse(self, fault: Fault) -> None:
        """Raise a `DataError`, or count the row where bad rows are to be skipped."""
        if not self.skip:
            raise DataError(
                f"{fault.sentence}; {fault.remedy}, or leave bad rows out with "
                "on_bad_rows='skip' / --on-bad-rows skip"
            )
        self.count += 1
        if self.most_sentences is None or self.count <= self.most_sentences:
            self.sentences.append(fault.sentence)

    def refuse_all(self, file_name: str) -> NoReturn:
        """Raise a `DataError` because no row is left."""
        raise DataError(
            f"{file_name} has no good row; the first of its {self.count} bad rows: "
            f"{self.sentences[0]}"
        )
