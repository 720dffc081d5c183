"""Where the terms of a text are: character spans of the terms of a vectorizer."""

import re
from bisect import bisect
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.pipeline import FeatureUnion

from cordwood.text.analyzer import build_analyzer, build_preprocessor
from cordwood.text.counting import MAX_UNSPACED
from cordwood.text.negation import mark_negation
from cordwood.text.scripts import has_special_characters, unspaced_characters, unspaced_runs
from cordwood.text.token_patterns import TOKEN_PATTERNS, choose_pattern
from cordwood.text.vectorizer import TextVectorizer

_WHITE_SPACE = re.compile(r"\s\s+")  # as in scikit-learn's character n-grams

# Words of which n-grams of characters are cached: a bound for long-running servers.
_MAX_CACHED = 1 << 14

Span = tuple[int, int]

# Words of one text by the parameters of their vectorizer: several members often have the same.
WordCache = dict[Hashable, list[tuple[Span, str]]]


class Occurrence(NamedTuple):
    """One occurrence of a term: its column, and the spans of its words or of its characters."""

    column: int
    term: str
    spans: tuple[Span, ...]


class Occurrences:
    """Occurrences of terms in one text, as parallel lists."""

    def __init__(self) -> None:
        self.columns: list[int] = []
        self.terms: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        # Spans of the words of n-grams, by their position in the lists.
        self.ngrams: dict[int, tuple[Span, ...]] = {}

    def append(self, column: int, term: str, start: int, end: int) -> None:
        """Add an occurrence of one span."""
        self.columns.append(column)
        self.terms.append(term)
        self.starts.append(start)
        self.ends.append(end)

    def append_ngram(self, column: int, term: str, spans: tuple[Span, ...]) -> None:
        """Add an occurrence of several words."""
        self.ngrams[len(self.columns)] = spans
        self.append(column, term, spans[0][0], spans[-1][1])

    def spans(self, position: int) -> tuple[Span, ...]:
        """Return the spans of an occurrence."""
        found = self.ngrams.get(position)
        return ((self.starts[position], self.ends[position]),) if found is None else found

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Occurrence]:
        for position, (column, term) in enumerate(zip(self.columns, self.terms, strict=True)):
            yield Occurrence(column, term, self.spans(position))


class TermLocator:
    """Finds the occurrences of the terms of a `TextVectorizer`, or a union of these, in texts.

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

    def locate(self, text: str, cache: WordCache | None = None) -> Occurrences:
        """Return all occurrences of known terms, in the order of the vectorizers."""
        found = Occurrences()
        cache = {} if cache is None else cache
        for offset, finder in zip(self._offsets, self._finders, strict=False):
            finder.find(text, cache, offset, found)
        return found

    def tokens(self, text: str, cache: WordCache) -> Iterator[Span]:
        """Yield the spans of the words, except those of vectorizers of characters."""
        for finder in self._finders:
            if isinstance(finder, _WordFinder):
                yield from (span for span, _ in finder.words(text, cache))

    def transform(self, texts: Sequence[str]) -> list[sp.csr_matrix]:
        """Return the features of each text, as matrices of one row."""
        # Without FeatureUnion.transform, which would start joblib for a few texts. Validation of
        # the parameters of scikit-learn's functions takes a third of the time of a short text.
        with config_context(skip_parameter_validation=True):
            blocks = [part.transform(texts) for part in self._vectorizers]
        return [_take_row(blocks, self._offsets, i) for i in range(len(texts))]

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


def _take_row(blocks: Sequence[sp.csr_matrix], offsets: Sequence[int], row: int) -> sp.csr_matrix:
    """Join one row of several matrices: the functions of scipy take several times as long."""
    here = [slice(block.indptr[row], block.indptr[row + 1]) for block in blocks]
    parts = list(zip(blocks, here, offsets, strict=False))
    indices = np.concatenate([block.indices[at] + offset for block, at, offset in parts])
    data = np.concatenate([block.data[at] for block, at, _ in parts])
    indptr = np.array([0, len(indices)], np.int32)
    X = sp.csr_matrix((data, indices.astype(np.int32), indptr), shape=(1, offsets[-1]))
    X.has_canonical_format = True
    return X


class _Finder:
    """Finds the terms of one vectorizer in a text."""

    def __init__(self, vectorizer: TextVectorizer) -> None:
        self.get_column = dict(vectorizer.vocabulary_).get  # a mapping proxy is slower
        self.params = vectorizer.resolved_params_
        self._preprocess = build_preprocessor(self.params)

    def find(self, text: str, cache: WordCache, offset: int, found: Occurrences) -> None:
        """Add the occurrences of the terms in a text; `offset` is added to their columns."""
        raise NotImplementedError

    def preprocess(self, text: str) -> tuple[str, Sequence[int]]:
        """Return the preprocessed text, and where each of its characters begins in the text."""
        processed = self._preprocess(text)
        if len(processed) == len(text) and not self.params.strip_accents:
            return processed, range(len(text) + 1)
        # A few characters, such as a dotted capital I, become longer in lower case.
        parts = [self._preprocess(char) for char in text]
        if "".join(parts) != processed:  # without HTML, or with marks joined to their letters
            return processed, _align(text, processed)
        positions = [i for i, part in enumerate(parts) for _ in part]
        return processed, [*positions, len(text)]


class _WordFinder(_Finder):
    """Words and n-grams of words."""

    def __init__(self, vectorizer: TextVectorizer) -> None:
        super().__init__(vectorizer)
        params = self.params
        self._is_named = params.token_pattern in TOKEN_PATTERNS
        self._key = (
            params.token_pattern,
            params.lowercase,
            params.strip_accents,
            params.strip_html,
            params.stop_words,
            params.stemmer,
            params.max_token_length,
            params.mark_negation,
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
        pattern, spaced = self._choose_pattern(processed)
        group, longest = pattern.groups, self.params.max_token_length
        matches = list(pattern.finditer(spaced))
        tokens = [(match.group(group) or "")[:longest] for match in matches]
        if self.params.mark_negation:
            tokens = mark_negation(tokens, self._analyzer.stop_words)
        found = [
            (match.span(group), self._to_term(token))
            for match, token in zip(matches, tokens, strict=True)
        ]
        if isinstance(positions, range):
            return [(span, word) for span, word in found if word is not None]
        return [
            ((positions[start], _end(positions, start, end)), word)
            for (start, end), word in found
            if word is not None
        ]

    def _choose_pattern(self, processed: str) -> tuple[re.Pattern[str], str]:
        """Return the pattern of words, and the text without letters of scripts without spaces."""
        pattern = self.params.token_pattern
        if not self._is_named:
            return re.compile(pattern), processed
        if has_special_characters(processed):
            processed = unspaced_runs().sub(lambda run: " " * len(run[0]), processed)
        return choose_pattern(pattern, processed), processed

    def _find_unspaced(self, text: str, offset: int, found: Occurrences) -> None:
        """Add n-grams of characters in scripts without spaces."""
        processed, positions = self.preprocess(text)
        for run in unspaced_runs().finditer(processed):
            characters = [
                (character.span(), character[0])
                for character in unspaced_characters().finditer(processed, *run.span())
            ]
            for n in range(1, min(MAX_UNSPACED, len(characters)) + 1):
                for i in range(len(characters) - n + 1):
                    term = "".join([each for _, each in characters[i : i + n]])
                    column = self.get_column(term)
                    if column is not None:
                        start, end = characters[i][0][0], characters[i + n - 1][0][1]
                        end = _end(positions, start, end)
                        found.append(column + offset, term, positions[start], end)

    def find(self, text: str, cache: WordCache, offset: int, found: Occurrences) -> None:
        if self._is_named and (self.params.strip_html or has_special_characters(text)):
            self._find_unspaced(text, offset, found)
        words = self.words(text, cache)
        get_column = self.get_column
        min_n, max_n = self.params.ngram_range
        if min_n == 1:
            for (start, end), word in words:
                column = get_column(word)
                if column is not None:
                    found.append(column + offset, word, start, end)
        for n in range(max(min_n, 2), max_n + 1):
            for i in range(len(words) - n + 1):
                ngram = words[i : i + n]
                term = " ".join([word for _, word in ngram])
                column = get_column(term)
                if column is not None:
                    found.append_ngram(column + offset, term, tuple([span for span, _ in ngram]))

    def _to_term(self, word: str) -> str | None:
        if self._analyzer.stemmer is None:
            return None if word in self._analyzer.stop_words else word
        if word not in self._stems:
            if len(self._stems) >= _MAX_CACHED:
                self._stems.clear()
            [self._stems[word]] = self._analyzer.to_terms([word])
        return self._stems[word]


class _WordCharFinder(_Finder):
    """N-grams of the characters of words that are padded with spaces, ``analyzer="char_wb"``."""

    def __init__(self, vectorizer: TextVectorizer) -> None:
        super().__init__(vectorizer)
        # Known n-grams of words: most words of a text have occurred in other texts.
        self._known: dict[str, Occurrences] = {}

    def find(self, text: str, cache: WordCache, offset: int, found: Occurrences) -> None:
        processed, positions = self.preprocess(text)
        is_same = isinstance(positions, range)
        for match in re.finditer(r"\S+", processed):
            word, first = match.group(), match.start()
            if word not in self._known:
                if len(self._known) >= _MAX_CACHED:
                    self._known.clear()
                self._known[word] = self._find_in_word(word)
            known = self._known[word]
            found.columns += [column + offset for column in known.columns]
            found.terms += known.terms
            starts = [first + start for start in known.starts]
            ends = [first + end for end in known.ends]
            if not is_same:
                ends = [_end(positions, *pair) for pair in zip(starts, ends, strict=True)]
                starts = [positions[start] for start in starts]
            found.starts += starts
            found.ends += ends

    def _find_in_word(self, word: str) -> Occurrences:
        """Return the occurrences in a word, relative to its first character."""
        found = Occurrences()
        padded, length = f" {word} ", len(word)
        min_n, max_n = self.params.ngram_range
        lengths = range(min_n, min(max_n, len(padded)) + 1) or [len(padded)]
        for n in lengths:
            for i in range(len(padded) - n + 1):
                term = padded[i : i + n]
                column = self.get_column(term)
                if column is not None:
                    # The padding belongs to no span, except where it is the whole n-gram.
                    start, end = max(i - 1, 0), min(i - 1 + n, length)
                    start, end = min(start, length - 1), max(end, 1)
                    found.append(column, term, start, end)
        return found


class _CharFinder(_Finder):
    """N-grams of all characters, ``analyzer="char"``."""

    def find(self, text: str, cache: WordCache, offset: int, found: Occurrences) -> None:
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
                term = joined[i : i + n]
                column = self.get_column(term)
                if column is not None:
                    start, stop = where[i], where[i + n - 1] + 1
                    end = _end(positions, start, stop)
                    found.append(column + offset, term, positions[start], end)


def _make_finder(vectorizer: TextVectorizer) -> _Finder:
    finders = {"word": _WordFinder, "char_wb": _WordCharFinder, "char": _CharFinder}
    return finders[vectorizer.resolved_params_.analyzer](vectorizer)


def _align(text: str, processed: str) -> list[int]:
    """Return where each character of the processed text comes from, by their longest matches."""
    same_case = text.lower() if len(text.lower()) == len(text) else text
    matcher = SequenceMatcher(None, same_case, processed, autojunk=False)
    positions: list[int] = []
    for source, target, size in matcher.get_matching_blocks():
        previous = positions[-1] + 1 if positions else 0
        gap = target - len(positions)
        positions += [min(previous + i, source) for i in range(gap)]
        positions += range(source, source + size)
    return [*positions, len(text)]


def _end(positions: Sequence[int], start: int, end: int) -> int:
    """Return the end in the text of the preprocessed characters from `start` to `end`."""
    return max(positions[end], positions[end - 1] + 1) if end > start else positions[end]
