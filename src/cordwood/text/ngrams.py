"""Runs of symbols: words or characters in a row, counted without spelling each of them out.

A sequence is a document of words by number, or a word of characters. A run of n symbols is a run of
n - 1 and one symbol more, so that two numbers stand for it, however long it is: sorting pairs of
numbers takes the place of looking up strings.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.text.vocabulary import UNKNOWN

Ints = NDArray[np.int64]


class Sequences(NamedTuple):
    """Symbols of sequences, end to end.

    Parameters
    ----------
    symbols : int64 array of shape (n_symbols,)
        `UNKNOWN` for a symbol that is in no run.
    bounds : int64 array of shape (n_sequences + 1,)
        Where each sequence starts, and where the last one ends.
    """

    symbols: Ints
    bounds: Ints

    @property
    def of_symbols(self) -> Ints:
        """The sequence of each symbol."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    @property
    def left(self) -> Ints:
        """How many symbols there are from each one to the end of its sequence."""
        return np.repeat(self.bounds[1:], np.diff(self.bounds)) - np.arange(len(self.symbols))


class Runs(NamedTuple):
    """The runs of some sequences.

    Parameters
    ----------
    counts : CSR matrix of float32, shape (n_sequences, n_runs)
        How often each run is in each sequence.
    start, length : int64 arrays of shape (n_runs,)
        Where each run stands among the symbols.
    """

    counts: sp.csr_matrix
    start: Ints
    length: Ints

    def cut(self, sequences: Sequences, columns: NDArray[np.intp]) -> Sequences:
        """Cut some of the runs out of the sequences that they were found in."""
        start, length = self.start[columns], self.length[columns]
        bounds = np.concatenate(([0], np.cumsum(length)))
        places = np.arange(bounds[-1]) + np.repeat(start - bounds[:-1], length)
        return Sequences(sequences.symbols[places], bounds)


def number_runs(sequences: Sequences, shortest: int, longest: int, *, whole: bool = False) -> Runs:
    """Find the different runs of sequences, and count them.

    Parameters
    ----------
    sequences : Sequences
        Without unknown symbols.
    shortest, longest : int
        Numbers of symbols.
    whole : bool, default=False
        Whether a sequence that is shorter than the shortest run is a run.

    Examples
    --------
    >>> sequences = Sequences(np.array([5, 7, 5, 7, 5]), np.array([0, 3, 5]))
    >>> runs = number_runs(sequences, 2, 2)
    >>> runs.counts.toarray(), runs.start
    (array([[1., 1.],
           [0., 1.]], dtype=float32), array([0, 1]))
    """
    symbols, bounds = sequences
    of_symbols, left, lengths = sequences.of_symbols, sequences.left, np.diff(bounds)
    n_symbols = int(symbols.max(initial=0)) + 1
    number = np.zeros(len(symbols), np.int64)  # of the run that starts here and is one shorter
    rows, columns, starts, sizes = [], [], [], []
    n_runs = 0
    for n in range(1, longest + 1):
        at = np.flatnonzero(left >= n)
        pairs = number[at] * n_symbols + symbols[at + n - 1]
        _, first, number[at] = np.unique(pairs, return_index=True, return_inverse=True)
        found = number[at]
        if n < shortest:
            if not whole:
                continue
            at = at[lengths[of_symbols[at]] == n]
            _, first, found = np.unique(number[at], return_index=True, return_inverse=True)
        rows.append(of_symbols[at])
        columns.append(found + n_runs)
        starts.append(at[first])
        sizes.append(np.full(len(first), n))
        n_runs += len(first)
    counts = _count(rows, columns, (len(bounds) - 1, n_runs))
    return Runs(counts, np.concatenate(starts), np.concatenate(sizes))


class RunTable:
    """Known runs, to be looked up in sequences.

    Parameters
    ----------
    terms : Sequences
        A run each; its number is its column.

    Examples
    --------
    >>> table = RunTable(Sequences(np.array([5, 7, 7]), np.array([0, 2, 3])))
    >>> table.count(Sequences(np.array([7, 5, 7, 7, UNKNOWN]), np.array([0, 4, 5]))).toarray()
    array([[1., 3.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, terms: Sequences) -> None:
        symbols, bounds = terms
        lengths = np.diff(bounds)
        self._n_columns = len(lengths)
        self._n_symbols = int(symbols.max(initial=0)) + 1
        self._levels: list[tuple[Ints, Ints]] = []
        number = np.zeros(len(lengths), np.int64)  # of each term's first symbols, one fewer
        for n in range(1, int(lengths.max(initial=0)) + 1):
            longer = np.flatnonzero(lengths >= n)
            pairs = number[longer] * self._n_symbols + symbols[bounds[longer] + n - 1]
            known, number[longer] = np.unique(pairs, return_inverse=True)
            column = np.full(len(known), UNKNOWN)
            ended = longer[lengths[longer] == n]
            column[number[ended]] = ended
            self._levels.append((known, column))

    def count(self, sequences: Sequences) -> sp.csr_matrix:
        """Count known runs: float32, a row for each sequence and a column for each term."""
        symbols, bounds = sequences
        of_symbols, left = sequences.of_symbols, sequences.left
        strange = (symbols < 0) | (symbols >= self._n_symbols)
        number = np.zeros(len(symbols), np.int64)
        at = np.arange(len(symbols))
        rows, columns = [], []
        for n, (known, column) in enumerate(self._levels, start=1):
            at = at[left[at] >= n]
            at = at[~strange[at + n - 1]]
            pairs = number[at] * self._n_symbols + symbols[at + n - 1]
            place = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
            hit = known[place] == pairs
            at, place = at[hit], place[hit]
            number[at] = place
            ended = column[place] != UNKNOWN
            rows.append(of_symbols[at[ended]])
            columns.append(column[place[ended]])
        return _count(rows, columns, (len(bounds) - 1, self._n_columns))


def _count(rows: list[Ints], columns: list[Ints], shape: tuple[int, int]) -> sp.csr_matrix:
    row, column = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (rows, columns))
    ones = np.ones(len(row), np.float32)
    return sp.coo_matrix((ones, (row, column)), shape=shape).tocsr()
