"""Count the terms of texts, while fitting a vocabulary and with a fitted vocabulary.

There is one implementation for each kind of term: tokens, n-grams of words, n-grams of the
characters of a word, and n-grams of characters in scripts that are written without spaces. The
third processes each distinct word once, however often it occurs. The last are counted in addition
to tokens or n-grams of words.

Without spaces, there are n-grams of 1 to 3 characters. A character is a letter with its marks, as
in Thai and Khmer. N-grams of 4 characters were not better (docs/languages.md).
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.text._count_matrix import count_tokens, remap_columns
from cordwood.text.analyzer import Analyzer
from cordwood.text.ngrams import NgramIndex, Sequences, count_ngrams
from cordwood.text.scripts import is_unspaced, split_characters
from cordwood.text.vocabulary import UNKNOWN, ColumnLookup

# Lengths of the n-grams in scripts without spaces.
MAX_UNSPACED = 3
_UNSPACED_RANGE = (1, MAX_UNSPACED)


class TermCounter(Protocol):
    """Counts the terms of a fitted vocabulary in texts."""

    def __call__(self, texts: Sequence[str], /) -> sp.csr_matrix:
        """Return the counts as float32 matrix of shape (n_samples, n_terms)."""


class TermCounts(NamedTuple):
    """Terms found in the training texts, and their counts."""

    # Number of occurrences of each term in each text; terms are in arbitrary order.
    counts: sp.csr_matrix
    # Maps columns of `counts` to the terms, as strings.
    term_names: Callable[[NDArray[np.intp]], list[str]]
    # Called with the vocabulary (term to column) and with the new column of each column of `counts`
    # (`UNKNOWN` for terms that are not in the vocabulary). Returns the same `TermCounter` as
    # `build_counter`, without parsing the terms again.
    make_counter: Callable[[dict[str, int], NDArray[np.intp]], TermCounter]


def count_terms(texts: Sequence[str], analyzer: Analyzer) -> TermCounts:
    """Find all terms of the texts and count them."""
    if analyzer.char_ngrams and analyzer.ngram_range is not None:
        return _count_char_ngrams(texts, analyzer, analyzer.ngram_range)
    if analyzer.ngram_range is None:
        spaced = _count_token_terms(texts, analyzer)
    else:
        spaced = _count_word_ngrams(texts, analyzer, analyzer.ngram_range)
    if analyzer.find_unspaced is None:
        return spaced
    runs = list(map(analyzer.find_unspaced, texts))
    return _combine(spaced, _count_unspaced(runs, analyzer.find_unspaced)) if any(runs) else spaced


def build_counter(vocabulary: dict[str, int], analyzer: Analyzer) -> TermCounter:
    """Build a counter for the terms of a vocabulary, which maps terms to columns."""
    if analyzer.find_unspaced is None:
        return _build_spaced_counter(vocabulary, analyzer)
    unspaced = {term: column for term, column in vocabulary.items() if is_unspaced(term)}
    if not unspaced:
        return _build_spaced_counter(vocabulary, analyzer)
    spaced = {term: column for term, column in vocabulary.items() if term not in unspaced}
    order = sorted(unspaced, key=unspaced.__getitem__)
    characters = _make_numbering()
    index = NgramIndex(_encode_tokens(order, split_characters, characters.__getitem__))
    return _CombinedCounter(
        (_build_spaced_counter(_renumber(spaced), analyzer), _columns(spaced)),
        (_UnspacedCounter(index, dict(characters), analyzer.find_unspaced), _columns(unspaced)),
    )


def _build_spaced_counter(vocabulary: dict[str, int], analyzer: Analyzer) -> TermCounter:
    if analyzer.ngram_range is None:
        return _TokenCounter(vocabulary, analyzer, {})
    terms = sorted(vocabulary, key=vocabulary.__getitem__)
    if analyzer.char_ngrams:
        return _CharNgramCounter(NgramIndex(_encode_characters(terms)[1]), analyzer)
    words = _make_numbering()
    sequences = _encode_tokens([term.split(" ") for term in terms], list, words.__getitem__)
    return _WordNgramCounter(NgramIndex(sequences), dict(words), analyzer)


def _count_token_terms(texts: Sequence[str], analyzer: Analyzer) -> TermCounts:
    token_numbers = _make_numbering()
    counts = count_tokens(
        texts, analyzer.tokenize, token_numbers.__getitem__, token_numbers.__len__
    )
    terms = analyzer.to_terms(token_numbers)
    term_numbers = {term: UNKNOWN for term in terms if term is not None}
    term_numbers.update(zip(term_numbers, range(len(term_numbers)), strict=True))
    term_of_token = np.array(
        [UNKNOWN if term is None else term_numbers[term] for term in terms], dtype=np.int32
    )
    names = list(term_numbers)

    def make_counter(vocabulary: dict[str, int], new_column: NDArray[np.intp]) -> TermCounter:
        # The extra entry at the end is where UNKNOWN (-1) points.
        columns = np.append(new_column, UNKNOWN)[term_of_token].tolist()
        stemmed = (
            dict(zip(token_numbers, columns, strict=True)) if analyzer.stemmer is not None else {}
        )
        return _TokenCounter(vocabulary, analyzer, stemmed)

    return TermCounts(
        remap_columns(counts, term_of_token, len(term_numbers)),
        lambda columns: [names[column] for column in columns.tolist()],
        make_counter,
    )


class _TokenCounter:
    """Counts tokens or their stems; `stemmed` maps known word forms to columns."""

    def __init__(
        self, vocabulary: dict[str, int], analyzer: Analyzer, stemmed: Mapping[str, int]
    ) -> None:
        self._columns = ColumnLookup(vocabulary, analyzer)
        self._columns.update(stemmed)
        self._tokenize = analyzer.tokenize
        self._n_terms = len(vocabulary)

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        to_column, n_terms = self._columns.__getitem__, self._n_terms
        counts = count_tokens(texts, self._tokenize, to_column, lambda: n_terms)
        counts.sum_duplicates()
        return counts


def _count_word_ngrams(
    texts: Sequence[str], analyzer: Analyzer, ngram_range: tuple[int, int]
) -> TermCounts:
    token_numbers = _make_numbering()
    sequences = _encode_tokens(texts, analyzer.tokenize, token_numbers.__getitem__)
    words = list(token_numbers)
    if analyzer.stemmer is not None:
        stem_numbers = _make_numbering()
        stem = np.array([stem_numbers[str(term)] for term in analyzer.to_terms(words)], np.int64)
        sequences = sequences._replace(symbols=stem[sequences.symbols])
        words = list(stem_numbers)
    ngrams = count_ngrams(sequences, *ngram_range)

    def term_names(columns: NDArray[np.intp]) -> list[str]:
        ends = ngrams.start + ngrams.length
        return [
            " ".join([words[symbol] for symbol in sequences.symbols[start:end].tolist()])
            for start, end in zip(ngrams.start[columns], ends[columns], strict=True)
        ]

    def make_counter(vocabulary: dict[str, int], new_column: NDArray[np.intp]) -> TermCounter:
        known = ngrams.extract(sequences, _columns_in_new_order(new_column))
        used, symbols = np.unique(known.symbols, return_inverse=True)
        numbers = {words[symbol]: number for number, symbol in enumerate(used.tolist())}
        return _WordNgramCounter(NgramIndex(known._replace(symbols=symbols)), numbers, analyzer)

    return TermCounts(ngrams.counts, term_names, make_counter)


class _WordNgramCounter:
    """Counts n-grams of words; `numbers` maps words to the symbols of the index."""

    def __init__(self, index: NgramIndex, numbers: dict[str, int], analyzer: Analyzer) -> None:
        self._index = index
        self._numbers = ColumnLookup(numbers, analyzer)
        self._tokenize = analyzer.tokenize

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        return self._index.count(_encode_tokens(texts, self._tokenize, self._numbers.__getitem__))


def _count_char_ngrams(
    texts: Sequence[str], analyzer: Analyzer, ngram_range: tuple[int, int]
) -> TermCounts:
    words, word_counts = _count_words(texts, analyzer)
    characters, sequences = _encode_characters(f" {word} " for word in words)
    ngrams = count_ngrams(sequences, *ngram_range, keep_short=True)

    def term_names(columns: NDArray[np.intp]) -> list[str]:
        ends = ngrams.start + ngrams.length
        return [
            characters[start:end]
            for start, end in zip(ngrams.start[columns], ends[columns], strict=True)
        ]

    def make_counter(vocabulary: dict[str, int], new_column: NDArray[np.intp]) -> TermCounter:
        known = ngrams.extract(sequences, _columns_in_new_order(new_column))
        return _CharNgramCounter(NgramIndex(known), analyzer)

    return TermCounts(sp.csr_matrix(word_counts @ ngrams.counts), term_names, make_counter)


class _CharNgramCounter:
    """Counts n-grams of the characters of words."""

    def __init__(self, index: NgramIndex, analyzer: Analyzer) -> None:
        self._index = index
        self._analyzer = analyzer

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        words, word_counts = _count_words(texts, self._analyzer)
        ngram_counts = self._index.count(_encode_characters(f" {word} " for word in words)[1])
        counts = sp.csr_matrix(word_counts @ ngram_counts)
        counts.sort_indices()
        return counts


def _count_unspaced(
    runs: Sequence[list[str]], find_unspaced: Callable[[str], list[str]]
) -> TermCounts:
    """Count n-grams in the given sequences of letters of each text."""
    numbers = _make_numbering()
    sequences = _encode_tokens(chain.from_iterable(runs), split_characters, numbers.__getitem__)
    characters = list(numbers)
    ngrams = count_ngrams(sequences, *_UNSPACED_RANGE)

    def term_names(columns: NDArray[np.intp]) -> list[str]:
        ends = ngrams.start + ngrams.length
        return [
            "".join([characters[symbol] for symbol in sequences.symbols[start:end].tolist()])
            for start, end in zip(ngrams.start[columns], ends[columns], strict=True)
        ]

    def make_counter(vocabulary: dict[str, int], new_column: NDArray[np.intp]) -> TermCounter:
        known = ngrams.extract(sequences, _columns_in_new_order(new_column))
        return _UnspacedCounter(NgramIndex(known), dict(numbers), find_unspaced)

    return TermCounts(_sum_runs(runs, ngrams.counts), term_names, make_counter)


class _UnspacedCounter:
    """Counts n-grams of characters in scripts that are written without spaces.

    `numbers` maps characters to the symbols of the index.
    """

    def __init__(
        self,
        index: NgramIndex,
        numbers: dict[str, int],
        find_unspaced: Callable[[str], list[str]],
    ) -> None:
        self._index = index
        self._numbers = numbers
        self._find_unspaced = find_unspaced

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        runs = list(map(self._find_unspaced, texts))
        sequences = _encode_tokens(
            chain.from_iterable(runs),
            split_characters,
            lambda character: self._numbers.get(character, UNKNOWN),
        )
        return _sum_runs(runs, self._index.count(sequences))


def _sum_runs(runs: Sequence[list[str]], counts: sp.csr_matrix) -> sp.csr_matrix:
    """Sum the rows of each text, given one row for each of its sequences of letters."""
    ends = np.cumsum([0, *map(len, runs)])
    ones = np.ones(ends[-1], np.float32)
    shape = (len(runs), int(ends[-1]))
    return sp.csr_matrix(sp.csr_matrix((ones, np.arange(ends[-1]), ends), shape=shape) @ counts)


def _combine(spaced: TermCounts, unspaced: TermCounts) -> TermCounts:
    """Combine the counts of different terms of the same texts."""
    n_spaced = spaced.counts.shape[1]

    def term_names(columns: NDArray[np.intp]) -> list[str]:
        # Columns are in ascending order.
        split = int(np.searchsorted(columns, n_spaced))
        rest = unspaced.term_names(columns[split:] - n_spaced)
        return [*spaced.term_names(columns[:split]), *rest]

    def make_counter(vocabulary: dict[str, int], new_column: NDArray[np.intp]) -> TermCounter:
        parts = []
        for found, columns in ((spaced, new_column[:n_spaced]), (unspaced, new_column[n_spaced:])):
            kept = np.sort(columns[columns != UNKNOWN])
            own_column = np.full(len(columns), UNKNOWN)
            own_column[columns != UNKNOWN] = np.searchsorted(kept, columns[columns != UNKNOWN])
            is_kept = set(kept.tolist())
            own = {term: column for term, column in vocabulary.items() if column in is_kept}
            parts.append((found.make_counter(_renumber(own), own_column), kept))
        return _CombinedCounter(*parts)

    counts = sp.csr_matrix(sp.hstack([spaced.counts, unspaced.counts], format="csr"))
    return TermCounts(counts, term_names, make_counter)


class _CombinedCounter:
    """Counts different terms by several counters, each with its columns in the result."""

    def __init__(self, *parts: tuple[TermCounter, NDArray[np.intp]]) -> None:
        self._parts = parts
        self._n_terms = sum(len(columns) for _, columns in parts)

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        first, *others = (
            remap_columns(count(texts), columns, self._n_terms) for count, columns in self._parts
        )
        return sp.csr_matrix(sum(others, first))


def _renumber(vocabulary: dict[str, int]) -> dict[str, int]:
    """Number the columns of a part of a vocabulary from 0, in the same order."""
    rank = {column: number for number, column in enumerate(sorted(vocabulary.values()))}
    return {term: rank[column] for term, column in vocabulary.items()}


def _columns(vocabulary: dict[str, int]) -> NDArray[np.intp]:
    return np.array(sorted(vocabulary.values()), dtype=np.intp)


def _count_words(texts: Sequence[str], analyzer: Analyzer) -> tuple[list[str], sp.csr_matrix]:
    """Return the distinct words and their counts, of shape (n_samples, n_words)."""
    numbers = _make_numbering()
    counts = count_tokens(texts, analyzer.tokenize, numbers.__getitem__, numbers.__len__)
    counts.sum_duplicates()
    return list(numbers), counts


def _columns_in_new_order(new_column: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the old column of each new column."""
    kept = np.flatnonzero(new_column != UNKNOWN)
    return np.asarray(kept[np.argsort(new_column[kept])])


def _make_numbering() -> defaultdict[str, int]:
    """Return a mapping that assigns the next integer to each new key."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _encode_tokens(
    texts: Iterable[str | list[str]],
    tokenize: Callable[..., list[str]],
    to_number: Callable[[str], int],
) -> Sequences:
    """Return one sequence of token numbers per text."""
    symbols, bounds = array("q"), array("q", [0])
    for text in texts:
        symbols.extend(map(to_number, tokenize(text)))
        bounds.append(len(symbols))
    return Sequences(np.frombuffer(symbols, np.int64), np.frombuffer(bounds, np.int64))


def _encode_characters(words: Iterable[str]) -> tuple[str, Sequences]:
    """Return the concatenated words, and one sequence of code points per word."""
    words = list(words)
    text = "".join(words)
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return text, Sequences(characters.astype(np.int64), bounds)
