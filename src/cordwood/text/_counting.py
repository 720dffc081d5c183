"""Terms of documents: found where they are new, and counted where they are known.

There are three ways, by what terms are made of: features; runs of words; or runs of the characters
of words, which are looked at once for each different word, however often it stands in a text.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.text._analyzer import Analysis
from cordwood.text.counts import count, move_columns
from cordwood.text.ngrams import RunTable, Sequences, number_runs
from cordwood.text.vocabulary import UNKNOWN, Columns


class Counter(Protocol):
    """Counts known terms in documents: float32, a row for each document."""

    def __call__(self, documents: Sequence[str], /) -> sp.csr_matrix:
        """Count the terms."""


class Found(NamedTuple):
    """Terms that were found in documents.

    Parameters
    ----------
    counts : CSR matrix of float32, shape (n_documents, n_terms)
        How often each term is in each document; terms in any order.
    spell : callable
        From columns of `counts` to the spelling of their terms.
    know : callable
        Makes what counts these terms in other documents, given the column that each term has, and
        the same for each column of `counts`, `UNKNOWN` where a term is left out. It is what
        `make_counter` makes, sooner.
    """

    counts: sp.csr_matrix
    spell: Callable[[NDArray[np.intp]], list[str]]
    know: Callable[[dict[str, int], NDArray[np.intp]], Counter]


def find_terms(documents: Sequence[str], analysis: Analysis) -> Found:
    r"""Find the terms of documents, and count them.

    Examples
    --------
    >>> from cordwood.text._analyzer import analyze_by
    >>> from cordwood.text._vectorizer_params import Settings
    >>> analysis = analyze_by(Settings(token_pattern=r"\w+", ngram_range=(2, 2)))
    >>> found = find_terms(["a b a b"], analysis)
    >>> found.spell(np.arange(2)), found.counts.toarray()
    (['a b', 'b a'], array([[2., 1.]], dtype=float32))
    """
    if analysis.runs is None:
        return _find_features(documents, analysis)
    if analysis.in_words:
        return _find_in_words(documents, analysis, analysis.runs)
    return _find_runs(documents, analysis, analysis.runs)


def make_counter(of_terms: dict[str, int], analysis: Analysis) -> Counter:
    """Make what counts terms in documents, given the column of each."""
    if analysis.runs is None:
        return _FeatureCounter(of_terms, analysis, {})
    in_order = sorted(of_terms, key=of_terms.__getitem__)
    if analysis.in_words:
        return _InWordCounter(RunTable(_spell_out(in_order)[1]), analysis)
    words = _numbering()
    sequences = _read([term.split(" ") for term in in_order], list, words.__getitem__)
    return _RunCounter(RunTable(sequences), dict(words), analysis)


def _find_features(documents: Sequence[str], analysis: Analysis) -> Found:
    seen = _numbering()
    counts = count(documents, analysis.features, seen.__getitem__, seen.__len__)
    terms = analysis.terms(seen)
    numbers = {term: UNKNOWN for term in terms if term is not None}
    numbers.update(zip(numbers, range(len(numbers)), strict=True))
    column = np.array([UNKNOWN if t is None else numbers[t] for t in terms], dtype=np.int32)
    spelling = list(numbers)

    def know(of_terms: dict[str, int], place: NDArray[np.intp]) -> Counter:
        # One more at the end, which is where UNKNOWN points.
        places = np.append(place, UNKNOWN)[column].tolist()
        forms = dict(zip(seen, places, strict=True)) if analysis.stems else {}
        return _FeatureCounter(of_terms, analysis, forms)

    return Found(
        move_columns(counts, column, len(numbers)),
        lambda columns: [spelling[place] for place in columns.tolist()],
        know,
    )


class _FeatureCounter:
    """Counts words that are features, or stems of them; forms of known stems need no stemming."""

    def __init__(
        self, of_terms: dict[str, int], analysis: Analysis, forms: Mapping[str, int]
    ) -> None:
        self._columns = Columns(of_terms, analysis)
        self._columns.update(forms)
        self._features = analysis.features
        self._n_columns = len(of_terms)

    def __call__(self, documents: Sequence[str]) -> sp.csr_matrix:
        to_column, n_columns = self._columns.__getitem__, self._n_columns
        counts = count(documents, self._features, to_column, lambda: n_columns)
        counts.sum_duplicates()
        return counts


def _find_runs(documents: Sequence[str], analysis: Analysis, runs: tuple[int, int]) -> Found:
    seen = _numbering()
    sequences = _read(documents, analysis.features, seen.__getitem__)
    words = list(seen)
    if analysis.stems:
        stems = _numbering()
        stem = np.array([stems[str(term)] for term in analysis.terms(words)], np.int64)
        sequences = sequences._replace(symbols=stem[sequences.symbols])
        words = list(stems)
    found = number_runs(sequences, *runs)

    def spell(columns: NDArray[np.intp]) -> list[str]:
        ends = found.start + found.length
        return [
            " ".join([words[symbol] for symbol in sequences.symbols[start:end].tolist()])
            for start, end in zip(found.start[columns], ends[columns], strict=True)
        ]

    def know(of_terms: dict[str, int], place: NDArray[np.intp]) -> Counter:
        known = found.cut(sequences, _in_order(place))
        used, symbols = np.unique(known.symbols, return_inverse=True)
        numbers = {words[symbol]: number for number, symbol in enumerate(used.tolist())}
        return _RunCounter(RunTable(known._replace(symbols=symbols)), numbers, analysis)

    return Found(found.counts, spell, know)


class _RunCounter:
    def __init__(self, table: RunTable, numbers: dict[str, int], analysis: Analysis) -> None:
        self._table = table
        self._numbers = Columns(numbers, analysis)
        self._features = analysis.features

    def __call__(self, documents: Sequence[str]) -> sp.csr_matrix:
        return self._table.count(_read(documents, self._features, self._numbers.__getitem__))


def _find_in_words(documents: Sequence[str], analysis: Analysis, runs: tuple[int, int]) -> Found:
    words, in_documents = _count_words(documents, analysis)
    text, sequences = _spell_out(f" {word} " for word in words)
    found = number_runs(sequences, *runs, whole=True)
    ends = found.start + found.length
    return Found(
        sp.csr_matrix(in_documents @ found.counts),
        lambda columns: [
            text[start:end] for start, end in zip(found.start[columns], ends[columns], strict=True)
        ],
        lambda _, place: _InWordCounter(RunTable(found.cut(sequences, _in_order(place))), analysis),
    )


class _InWordCounter:
    def __init__(self, table: RunTable, analysis: Analysis) -> None:
        self._table = table
        self._analysis = analysis

    def __call__(self, documents: Sequence[str]) -> sp.csr_matrix:
        words, in_documents = _count_words(documents, self._analysis)
        in_words = self._table.count(_spell_out(f" {word} " for word in words)[1])
        counts = sp.csr_matrix(in_documents @ in_words)
        counts.sort_indices()
        return counts


def _count_words(documents: Sequence[str], analysis: Analysis) -> tuple[list[str], sp.csr_matrix]:
    seen = _numbering()
    counts = count(documents, analysis.features, seen.__getitem__, seen.__len__)
    counts.sum_duplicates()
    return list(seen), counts


def _in_order(place: NDArray[np.intp]) -> NDArray[np.intp]:
    """Find which column has each place; those whose place is `UNKNOWN` have none."""
    kept = np.flatnonzero(place != UNKNOWN)
    return np.asarray(kept[np.argsort(place[kept])])


def _numbering() -> defaultdict[str, int]:
    """Make a mapping that numbers what it is asked for."""
    seen: defaultdict[str, int] = defaultdict()
    seen.default_factory = seen.__len__
    return seen


def _read(
    texts: Iterable[str | list[str]],
    features: Callable[..., list[str]],
    number_of: Callable[[str], int],
) -> Sequences:
    """Read the features of texts, by number."""
    symbols, bounds = array("q"), array("q", [0])
    for text in texts:
        symbols.extend(map(number_of, features(text)))
        bounds.append(len(symbols))
    return Sequences(np.frombuffer(symbols, np.int64), np.frombuffer(bounds, np.int64))


def _spell_out(words: Iterable[str]) -> tuple[str, Sequences]:
    """Lay words end to end, as a text and as sequences of characters."""
    listed = list(words)
    text = "".join(listed)
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    bounds = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    return text, Sequences(characters.astype(np.int64), bounds)
