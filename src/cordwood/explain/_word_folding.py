"""Words of a text, and the folding of contributions of terms onto the words that they cover."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.csr import locate_columns
from cordwood.explain._term_spans import Occurrences, Span

# A word with its contractions, or a run of punctuation.
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]+")


class Words:
    """The words of a text, to which contributions of terms are folded back.

    A token of a vectorizer that covers several words, such as an emoticon, makes them one.

    Examples
    --------
    >>> Words("I don't :d", [(8, 10)]).spans
    [(0, 1), (2, 7), (8, 10)]
    """

    def __init__(self, text: str, tokens: Iterable[Span] = ()) -> None:
        self.text = text
        spans = [match.span() for match in _WORD.finditer(text)]
        self.spans = _merge_spans(spans, tokens, len(text))
        # One more entry than characters, so that every span can be looked up.
        self._at = np.full(len(text) + 1, -1, np.int64)
        for number, (start, end) in enumerate(self.spans):
            self._at[start:end] = number

    def __len__(self) -> int:
        return len(self.spans)

    @cached_property
    def _numbers(self) -> list[int]:
        return list(self._at.tolist())

    def shares(self, spans: Sequence[Span]) -> list[tuple[int, float]]:
        """Return the words that spans cover, and the share of each.

        Spans count equally; a span that covers several words is shared by the number of characters.
        """
        numbers = self._numbers
        found: dict[int, float] = {}
        for start, end in spans:
            first, last = numbers[start], numbers[end - 1] if end > start else -1
            if first == last >= 0:
                found[first] = found.get(first, 0.0) + 1.0
                continue
            covered = [number for number in numbers[start:end] if number >= 0]
            for number in covered:
                found[number] = found.get(number, 0.0) + 1 / len(covered)
        total = sum(found.values())
        return [(number, share / total) for number, share in found.items()]

    def fold(self, columns: NDArray[np.integer[Any]], occurrences: Occurrences) -> "FoldedTerms":
        """Distribute the terms of sorted columns over words: equally over their occurrences."""
        rows, is_term = locate_columns(np.array(occurrences.columns, np.int64), columns)
        # Most occurrences are one span in one word.
        words = self._at[np.array(occurrences.starts, np.int64)]
        last = self._at[np.array(occurrences.ends, np.int64) - 1]
        is_split = (words != last) | (words < 0)
        is_split[list(occurrences.ngrams)] = True
        is_whole = is_term & ~is_split
        parts = [
            (rows[i], word, share)
            for i in np.flatnonzero(is_term & is_split).tolist()
            for word, share in self.shares(occurrences.spans(i))
        ]
        entries: tuple[Any, ...] = rows[is_whole], words[is_whole], np.ones(is_whole.sum())
        if parts:
            entries = tuple(
                map(np.concatenate, zip(entries, zip(*parts, strict=True), strict=True))
            )
        entry_rows, entry_words, shares = entries
        shares = shares / np.bincount(entry_rows, shares, len(columns))[entry_rows]
        order = np.argsort(entry_words, kind="stable")
        located = np.flatnonzero(is_term), rows[is_term], occurrences
        return FoldedTerms(len(self), entry_rows[order], entry_words[order], shares[order], located)

    def fold_words(self) -> "FoldedTerms":
        """Return the same for terms that are the words themselves."""
        words = np.arange(len(self))
        occurrences = Occurrences()
        for number, (start, end) in enumerate(self.spans):
            occurrences.append(number, self.text[start:end], start, end)
        located = words, words, occurrences
        return FoldedTerms(len(self), words, words, np.ones(len(self)), located)


class FoldedTerms:
    """How the terms of a text are distributed over its words."""

    def __init__(
        self,
        n_words: int,
        rows: NDArray[np.int64],  # pairs of a term and a word that it covers, sorted by the word
        words: NDArray[np.int64],
        shares: NDArray[np.float64],  # of the word; those of a term sum to one
        # Positions of the terms' occurrences, the term of each of these, and the occurrences.
        located: tuple[NDArray[np.intp], NDArray[np.intp], Occurrences],
    ) -> None:
        self._n_words = n_words
        self._rows = rows
        self._shares = shares[:, None]
        self._starts = np.flatnonzero(np.diff(words, prepend=-1))
        self._words = words[self._starts]
        self._located = located

    def is_located(self, n_terms: int) -> NDArray[np.bool_]:
        """Return whether each term covers a word."""
        return np.bincount(self._rows, minlength=n_terms) > 0

    def to_words(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of the terms' contributions over words, of shape (n_words, n_outputs)."""
        total = np.zeros((self._n_words, values.shape[1]))
        if len(self._starts):
            total[self._words] = np.add.reduceat(
                values[self._rows] * self._shares, self._starts, axis=0
            )
        return total

    @cached_property
    def names(self) -> dict[int, str]:
        """The terms that are in the text, by their position."""
        positions, rows, occurrences = self._located
        terms = occurrences.terms
        pairs = zip(rows.tolist(), positions.tolist(), strict=True)
        return {row: terms[position] for row, position in pairs}

    @cached_property
    def spans(self) -> dict[int, tuple[Span, ...]]:
        """The spans of the terms that are in the text, by their position."""
        positions, rows, occurrences = self._located
        found: defaultdict[int, list[Span]] = defaultdict(list)
        for row, position in zip(rows.tolist(), positions.tolist(), strict=True):
            found[row] += occurrences.spans(position)
        return {row: tuple(spans) for row, spans in found.items()}


def _merge_spans(spans: list[Span], tokens: Iterable[Span], length: int) -> list[Span]:
    """Merge the spans that a token covers together."""
    joined = np.zeros(length + 1, np.int64)
    for start, end in tokens:
        if end - start > 1:
            # A boundary strictly inside of the token is no boundary of words.
            joined[start + 1] += 1
            joined[end] -= 1
    is_inside = np.cumsum(joined) > 0
    merged: list[Span] = []
    for start, end in spans:
        if merged and is_inside[start]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
