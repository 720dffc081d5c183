"""Where the terms of a text are: character spans of its terms, and the words that they cover."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import FeatureUnion

from cordwood.text._analyzer import build_analyzer
from cordwood.text.vectorizer import TextVectorizer

# A word with its contractions, or a run of punctuation.
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]+")
_WHITE_SPACE = re.compile(r"\s\s+")  # as in scikit-learn's character n-grams

Span = tuple[int, int]

# Words of one text by the parameters of their vectorizer: several members often have the same.
WordCache = dict[Hashable, list[tuple[Span, str]]]


class Occurrence(NamedTuple):
    """One occurrence of a term: its column, and the spans of its words or of its characters."""

    column: int
    term: str
    spans: tuple[Span, ...]


class TermLocator:
    """Finds the occurrences of a vectorizer's terms in texts.

    Parameters
    ----------
    vectorizer : TextVectorizer or FeatureUnion of these
        Fitted.

    Examples
    --------
    >>> vectorizer = TextVectorizer(preset="social", ngram_range=(1, 2)).fit(["not good", "bad"])
    >>> locator = TermLocator(vectorizer)
    >>> [(each.term, each.spans) for each in locator.locate("Not good!")]
    [('not', ((0, 3),)), ('good', ((4, 8),)), ('not good', ((0, 3), (4, 8)))]
    """

    def __init__(self, vectorizer: Any) -> None:
        self._vectorizers = split_vectorizer(vectorizer)
        self._finders = [_make_finder(part) for part in self._vectorizers]
        widths = [len(part.vocabulary_) for part in self._vectorizers]
        self._offsets = list(accumulate(widths, initial=0))
        self._names: list[list[str]] = [[] for _ in widths]

    def locate(self, text: str, cache: WordCache | None = None) -> list[Occurrence]:
        """Return all occurrences of known terms, in the order of the vectorizers."""
        cache = {} if cache is None else cache
        return [
            Occurrence(column + offset, term, spans)
            for offset, finder in zip(self._offsets, self._finders, strict=False)
            for term, spans in finder.find(text, cache)
            if (column := finder.columns(term, -1)) >= 0
        ]

    def tokens(self, text: str, cache: WordCache) -> Iterator[Span]:
        """Yield the spans of the words, except those of vectorizers of characters."""
        for finder in self._finders:
            if isinstance(finder, _WordFinder):
                yield from (span for span, _ in finder.words(text, cache))

    def transform(self, text: str) -> sp.csr_matrix:
        """Return the features of one text."""
        # Without FeatureUnion.transform, which would start joblib for a single text.
        blocks = [part.transform([text]) for part in self._vectorizers]
        return blocks[0] if len(blocks) == 1 else _join_rows(blocks)

    def term(self, column: int) -> str:
        """Return the term of a column."""
        part = bisect(self._offsets, column) - 1
        if not self._names[part]:
            self._names[part] = sorted(self._vectorizers[part].vocabulary_)
        return self._names[part][column - self._offsets[part]]


def split_vectorizer(vectorizer: Any) -> list[TextVectorizer]:
    """Return the vectorizers of a union in the order of their columns; [] if one is unknown."""
    if isinstance(vectorizer, FeatureUnion):
        if vectorizer.transformer_weights:
            return []
        parts = [split_vectorizer(part) for _, part in vectorizer.transformer_list]
        return [part for each in parts for part in each] if all(parts) else []
    return [vectorizer] if isinstance(vectorizer, TextVectorizer) else []


def _join_rows(blocks: Sequence[sp.csr_matrix]) -> sp.csr_matrix:
    """Concatenate matrices of one row: scipy's hstack takes several times as long."""
    offsets = list(accumulate((block.shape[1] for block in blocks), initial=0))
    pairs = zip(blocks, offsets, strict=False)
    indices = np.concatenate([block.indices + offset for block, offset in pairs])
    data = np.concatenate([block.data for block in blocks])
    indptr = np.array([0, len(indices)], np.int32)
    return sp.csr_matrix((data, indices.astype(np.int32), indptr), shape=(1, offsets[-1]))


class _Finder:
    """Finds the terms of one vectorizer in a text."""

    def __init__(self, vectorizer: TextVectorizer) -> None:
        self.columns = dict(vectorizer.vocabulary_).get  # a mapping proxy takes twice as long
        self.params = vectorizer.resolved_params_
        self._preprocess = CountVectorizer(
            lowercase=self.params.lowercase, strip_accents=self.params.strip_accents or None
        ).build_preprocessor()

    def find(self, text: str, cache: WordCache) -> Iterator[tuple[str, tuple[Span, ...]]]:
        """Yield terms, which may not be in the vocabulary, with their spans in the text."""
        raise NotImplementedError

    def preprocess(self, text: str) -> tuple[str, Sequence[int]]:
        """Return the preprocessed text, and where each of its characters begins in the text."""
        processed = self._preprocess(text)
        if len(processed) == len(text) and not self.params.strip_accents:
            return processed, range(len(text) + 1)
        # A few characters, such as a dotted capital I, become longer in lower case.
        positions = [i for i, char in enumerate(text) for _ in self._preprocess(char)]
        positions += [len(text)] * (len(processed) + 1 - len(positions))
        return processed, positions


class _WordFinder(_Finder):
    """Words and n-grams of words."""

    def __init__(self, vectorizer: TextVectorizer) -> None:
        super().__init__(vectorizer)
        params = self.params
        self._pattern = re.compile(params.token_pattern)
        self._key = (
            params.token_pattern,
            params.lowercase,
            params.strip_accents,
            params.stop_words,
            params.stemmer,
        )
        self._analyzer = build_analyzer(replace(self.params, ngram_range=(1, 1)))
        # Stemming a word takes longer than everything else, and most words occur again.
        self._stems: dict[str, str | None] = {}

    def words(self, text: str, cache: WordCache) -> list[tuple[Span, str]]:
        """Return the words that are not stop words: their spans, and the words as in terms."""
        if self._key not in cache:
            cache[self._key] = self._find_words(text)
        return cache[self._key]

    def _find_words(self, text: str) -> list[tuple[Span, str]]:
        processed, positions = self.preprocess(text)
        group = self._pattern.groups
        matches = self._pattern.finditer(processed)
        found = [(match.span(group), self._to_term(match.group(group) or "")) for match in matches]
        if isinstance(positions, range):
            return [(span, word) for span, word in found if word is not None]
        return [
            ((positions[start], _end(positions, start, end)), word)
            for (start, end), word in found
            if word is not None
        ]

    def find(self, text: str, cache: WordCache) -> Iterator[tuple[str, tuple[Span, ...]]]:
        words = self.words(text, cache)
        min_n, max_n = self.params.ngram_range
        for n in range(min_n, max_n + 1):
            if n == 1:
                yield from ((word, (span,)) for span, word in words)
                continue
            for i in range(len(words) - n + 1):
                ngram = words[i : i + n]
                yield " ".join([word for _, word in ngram]), tuple([span for span, _ in ngram])

    def _to_term(self, word: str) -> str | None:
        if not self._analyzer.stem:
            return None if word in self._analyzer.stop_words else word
        if word not in self._stems:
            [self._stems[word]] = self._analyzer.to_terms([word])
        return self._stems[word]


class _WordCharFinder(_Finder):
    """N-grams of the characters of words that are padded with spaces, ``analyzer="char_wb"``."""

    def find(self, text: str, cache: WordCache) -> Iterator[tuple[str, tuple[Span, ...]]]:
        processed, positions = self.preprocess(text)
        is_same = isinstance(positions, range)
        min_n, max_n = self.params.ngram_range
        for match in re.finditer(r"\S+", processed):
            first, last = match.span()
            padded = f" {match.group()} "
            n_chars = len(padded)
            for n in range(min_n, max_n + 1):
                if n > n_chars:
                    continue
                # The padding belongs to no span, except where it is the whole n-gram.
                starts = [first, *range(first, last + 2 - n)]
                ends = [*range(first + n - 1, last + 1), last]
                if n == 1:
                    starts[-1], ends[0] = last - 1, first + 1
                if not is_same:
                    pairs = zip(starts, ends, strict=True)
                    ends = [_end(positions, start, end) for start, end in pairs]
                    starts = [positions[start] for start in starts]
                for i in range(n_chars - n + 1):
                    yield padded[i : i + n], ((starts[i], ends[i]),)
            if n_chars < min_n:
                yield padded, ((positions[first], _end(positions, first, last)),)


class _CharFinder(_Finder):
    """N-grams of all characters, ``analyzer="char"``."""

    def find(self, text: str, cache: WordCache) -> Iterator[tuple[str, tuple[Span, ...]]]:
        processed, positions = self.preprocess(text)
        chars: list[str] = []
        where: list[int] = []
        end = 0
        for match in _WHITE_SPACE.finditer(processed):
            chars += [*processed[end : match.start()], " "]
            where += [*range(end, match.start()), match.start()]
            end = match.end()
        chars += processed[end:]
        where += [*range(end, len(processed)), len(processed)]
        joined = "".join(chars)
        min_n, max_n = self.params.ngram_range
        for n in range(min_n, min(max_n, len(joined)) + 1):
            for i in range(len(joined) - n + 1):
                start, stop = where[i], where[i + n - 1] + 1
                yield joined[i : i + n], ((positions[start], _end(positions, start, stop)),)


def _make_finder(vectorizer: TextVectorizer) -> _Finder:
    finders = {"word": _WordFinder, "char_wb": _WordCharFinder, "char": _CharFinder}
    return finders[vectorizer.resolved_params_.analyzer](vectorizer)


def _end(positions: Sequence[int], start: int, end: int) -> int:
    """Return the end in the text of the preprocessed characters from `start` to `end`."""
    return max(positions[end], positions[end - 1] + 1) if end > start else positions[end]


class Words:
    """The words of a text, to which contributions of terms are folded back.

    Words are sequences of letters and digits with their contractions, or runs of punctuation. A
    token of a vectorizer that covers several of them, such as an emoticon, makes them one word.

    Parameters
    ----------
    text : str
    tokens : iterable of (int, int)
        Spans of the vectorizers' tokens.

    Examples
    --------
    >>> Words("I don't :d", [(8, 10)]).spans
    [(0, 1), (2, 7), (8, 10)]
    """

    def __init__(self, text: str, tokens: Iterable[Span] = ()) -> None:
        self._text = text
        spans = [match.span() for match in _WORD.finditer(text)]
        self.spans = _merge_spans(spans, tokens, len(text))
        # One more entry than characters, so that every span can be looked up.
        self._at = np.full(len(text) + 1, -1, np.int64)
        for number, (start, end) in enumerate(self.spans):
            self._at[start:end] = number
        self._numbers: list[int] = self._at.tolist()

    def __len__(self) -> int:
        return len(self.spans)

    def shares(self, spans: Sequence[Span]) -> list[tuple[int, float]]:
        """Return the words that spans cover, and the share of each.

        Spans count equally; a span that covers several words is shared by the number of characters.
        Spaces are ignored. No word is returned if the spans cover none.
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

    def fold(
        self, columns: NDArray[np.integer[Any]], occurrences: Iterable[Occurrence]
    ) -> "FoldedTerms":
        """Distribute terms over words: equally over occurrences, then over the words of each.

        Parameters
        ----------
        columns : int array of shape (n_terms,)
            Columns of the terms.
        occurrences : iterable of Occurrence

        Returns
        -------
        FoldedTerms
        """
        row_of = {column: row for row, column in enumerate(columns.tolist())}
        located = [(row_of[each.column], each) for each in occurrences if each.column in row_of]
        rows = np.array([row for row, _ in located], np.int64)
        # Most occurrences are one span in one word.
        first, last = (
            self._at[np.array([position(each.spans) for _, each in located], np.int64)]
            for position in (_get_start, _get_last)
        )
        words, shares = first.copy(), np.ones(len(rows))
        is_split = (first != last) | (first < 0)
        is_split |= np.array([len(each.spans) > 1 for _, each in located], bool)
        parts = [
            (rows[i], word, share)
            for i in np.flatnonzero(is_split).tolist()
            for word, share in self.shares(located[i][1].spans)
        ]
        if parts:
            more_rows, more_words, more_shares = map(np.array, zip(*parts, strict=True))
            rows = np.concatenate((rows[~is_split], more_rows))
            words = np.concatenate((words[~is_split], more_words))
            shares = np.concatenate((shares[~is_split], more_shares))
        elif is_split.any():
            rows, words, shares = rows[~is_split], words[~is_split], shares[~is_split]
        shares = shares / np.bincount(rows, shares, len(columns))[rows]
        order = np.argsort(words, kind="stable")
        return FoldedTerms(len(self), rows[order], words[order], shares[order], located)

    def fold_words(self) -> "FoldedTerms":
        """Return the same for terms that are the words themselves."""
        words = np.arange(len(self))
        located = [
            (number, Occurrence(number, self._text[start:end], ((start, end),)))
            for number, (start, end) in enumerate(self.spans)
        ]
        return FoldedTerms(len(self), words, words, np.ones(len(self)), located)


def _get_start(spans: tuple[Span, ...]) -> int:
    return spans[0][0]


def _get_last(spans: tuple[Span, ...]) -> int:
    return spans[-1][1] - 1


class FoldedTerms:
    """How the terms of a text are distributed over its words.

    Parameters
    ----------
    n_words : int
        Number of words.
    rows, words : int arrays of shape (n_entries,)
        Pairs of a term and a word that it covers, sorted by the word.
    shares : float64 array of shape (n_entries,)
        Share of the word; those of a term sum to one.
    located : list of (int, Occurrence)
        Occurrences of the terms.
    """

    def __init__(
        self,
        n_words: int,
        rows: NDArray[np.int64],
        words: NDArray[np.int64],
        shares: NDArray[np.float64],
        located: list[tuple[int, Occurrence]],
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
        return {row: each.term for row, each in self._located}

    @cached_property
    def spans(self) -> dict[int, tuple[Span, ...]]:
        """The spans of the terms that are in the text, by their position."""
        found: defaultdict[int, list[Span]] = defaultdict(list)
        for row, each in self._located:
            found[row] += each.spans
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
