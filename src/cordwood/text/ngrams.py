"""Count n-grams of integer sequences without building strings.

A sequence is a text as word numbers, or a word as code points. Each n-gram is numbered by the pair
(number of its first n - 1 symbols, last symbol), so that sorting integers replaces hashing strings
of length n.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.text.vocabulary import UNKNOWN

Int64Array = NDArray[np.int64]

_LARGEST = np.iinfo(np.int64).max


class Sequences(NamedTuple):
    """Concatenated sequences of symbols."""

    symbols: Int64Array  # (n_symbols,): `UNKNOWN` for a symbol that is in no n-gram
    bounds: Int64Array  # (n_sequences + 1,): sequence `i` is ``symbols[bounds[i]:bounds[i + 1]]``

    @property
    def sequence_ids(self) -> Int64Array:
        """Index of the sequence of each symbol."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    @property
    def n_remaining(self) -> Int64Array:
        """Number of symbols from each symbol to the end of its sequence, itself included."""
        return np.repeat(self.bounds[1:], np.diff(self.bounds)) - np.arange(len(self.symbols))


class NgramCounts(NamedTuple):
    """Distinct n-grams of sequences and their counts."""

    counts: sp.csr_matrix  # number of occurrences of each n-gram in each sequence
    start: Int64Array  # (n_ngrams,): position of the first symbol of an occurrence of each n-gram
    length: Int64Array  # (n_ngrams,): number of symbols of each n-gram

    def extract(self, sequences: Sequences, columns: NDArray[np.intp]) -> Sequences:
        """Return the symbols of the n-grams of some columns, as one sequence each."""
        start, length = self.start[columns], self.length[columns]
        bounds = np.concatenate(([0], np.cumsum(length)))
        positions = np.arange(bounds[-1]) + np.repeat(start - bounds[:-1], length)
        return Sequences(sequences.symbols[positions], bounds)


def count_ngrams(
    sequences: Sequences, min_n: int, max_n: int, *, keep_short: bool = False
) -> NgramCounts:
    """Find the distinct n-grams of sequences without unknown symbols and count them.

    With `keep_short`, a whole sequence counts as an n-gram if it is shorter than `min_n`.

    >>> sequences = Sequences(np.array([5, 7, 5, 7, 5]), np.array([0, 3, 5]))
    >>> ngrams = count_ngrams(sequences, 2, 2)
    >>> ngrams.counts.toarray(), ngrams.start
    (array([[1., 1.],
           [0., 1.]], dtype=float32), array([0, 1]))
    """
    symbols, bounds = sequences
    sequence_ids, n_remaining = sequences.sequence_ids, sequences.n_remaining
    lengths = np.diff(bounds)
    n_symbols = int(symbols.max(initial=0)) + 1
    number = np.zeros(len(symbols), np.int64)  # of the (n-1)-gram that starts at each symbol
    rows, columns, starts, sizes = [], [], [], []
    n_ngrams = 0
    for n in range(1, max_n + 1):
        at = np.flatnonzero(n_remaining >= n)
        pairs = number[at] * n_symbols + symbols[at + n - 1]
        _, first, number[at] = np.unique(pairs, return_index=True, return_inverse=True)
        found = number[at]
        if n < min_n:
            if not keep_short:
                continue
            at = at[lengths[sequence_ids[at]] == n]
            _, first, found = np.unique(number[at], return_index=True, return_inverse=True)
        rows.append(sequence_ids[at])
        columns.append(found + n_ngrams)
        starts.append(at[first])
        sizes.append(np.full(len(first), n))
        n_ngrams += len(first)
    entries = (np.concatenate(rows), np.concatenate(columns))
    counts = _sum_entries(*entries, (len(bounds) - 1, n_ngrams))
    return NgramCounts(counts, np.concatenate(starts), np.concatenate(sizes))


class NgramIndex:
    """Prefix index of known n-grams, to count them in sequences.

    >>> index = NgramIndex(Sequences(np.array([5, 7, 7]), np.array([0, 2, 3])))
    >>> index.count(Sequences(np.array([7, 5, 7, 7, UNKNOWN]), np.array([0, 4, 5]))).toarray()
    array([[1., 3.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, ngrams: Sequences) -> None:
        symbols, bounds = ngrams
        lengths = np.diff(bounds)
        self._n_columns = len(lengths)
        self._n_symbols = int(symbols.max(initial=0)) + 1
        # For each n: the sorted pairs of all prefixes of length n, and the column of each prefix.
        self._levels: list[tuple[Int64Array, Int64Array]] = []
        number = np.zeros(len(lengths), np.int64)  # of the prefix of length n - 1 of each n-gram
        for n in range(1, int(lengths.max(initial=0)) + 1):
            longer = np.flatnonzero(lengths >= n)
            pairs = number[longer] * self._n_symbols + symbols[bounds[longer] + n - 1]
            known, number[longer] = np.unique(pairs, return_inverse=True)
            # The last entry is where `searchsorted` finds larger pairs.
            column = np.full(len(known) + 1, UNKNOWN)
            complete = longer[lengths[longer] == n]
            column[number[complete]] = complete
            self._levels.append((np.append(known, _LARGEST), column))

    def count(self, sequences: Sequences) -> sp.csr_matrix:
        """Return the counts as float32 matrix of shape (n_sequences, n_ngrams)."""
        symbols, bounds = sequences
        at = np.arange(len(symbols))
        n_remaining = sequences.n_remaining
        unknown = (symbols < 0) | (symbols >= self._n_symbols)
        if unknown.any():
            next_unknown = np.minimum.accumulate(np.where(unknown, at, len(at))[::-1])[::-1]
            n_remaining = np.minimum(n_remaining, next_unknown - at)
        number = np.zeros(len(symbols), np.int64)  # of the prefix that starts at each of `at`
        starts, columns = [at[:0]], [at[:0]]
        for n, (known, column) in enumerate(self._levels, start=1):
            is_long = n_remaining[at] >= n
            at, number = at[is_long], number[is_long]
            pairs = number * self._n_symbols + symbols[at + (n - 1)]
            place = np.searchsorted(known, pairs)
            is_known = known[place] == pairs
            at, number = at[is_known], place[is_known]
            starts.append(at)
            columns.append(column[number])
        start, found = np.concatenate(starts), np.concatenate(columns)
        is_complete = found != UNKNOWN
        rows = sequences.sequence_ids[start[is_complete]]
        return _sum_entries(rows, found[is_complete], (len(bounds) - 1, self._n_columns))


def _sum_entries(rows: Int64Array, columns: Int64Array, shape: tuple[int, int]) -> sp.csr_matrix:
    """Return the matrix that counts how often each (row, column) occurs."""
    # Rows are a few sorted sequences, which a stable sort merges; `coo_matrix` takes longer for a
    # short text.
    indices = columns[np.argsort(rows, kind="stable")]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    if max(len(rows), shape[1]) < 2**31:  # scipy does the same, after searching for the largest
        indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    ones = np.ones(len(rows), np.float32)
    counts = sp.csr_matrix((ones, indices, indptr), shape=shape)
    counts.sum_duplicates()
    return counts
