"""What goes into the search for word rules, and what comes out of it."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Task(NamedTuple):
    """Two sorts of documents to tell apart; those that are dear to miss come first.

    Parameters
    ----------
    plus, minus : sparse matrices of shapes (n_words, n_plus) and (n_words, n_minus)
        Ones where a word is in a document, by words; in double precision, as costs are.
    weight : float64 array of shape (n_plus + n_minus,)
        How many copies there are of each document.
    """

    plus: sp.csr_matrix
    minus: sp.csr_matrix
    weight: Floats

    @property
    def n_plus(self) -> int:
        """Number of documents that are dear to miss."""
        return int(self.plus.shape[1])

    @property
    def sign(self) -> Floats:
        """1.0 for the documents that are dear to miss, -1.0 for the others."""
        return np.repeat([1.0, -1.0], [self.n_plus, int(self.minus.shape[1])])

    @property
    def size(self) -> float:
        """Number of documents, copies counted."""
        return float(self.weight.sum())

    def find(self, word: int) -> NDArray[np.int32]:
        """Find the documents that hold a word."""
        first, second = (
            part.indices[part.indptr[word] : part.indptr[word + 1]]
            for part in (self.plus, self.minus)
        )
        return np.concatenate([first, second + np.int32(self.n_plus)])


class WordRules(NamedTuple):
    """Rules side by side: a rule votes `present` where its word is, else `absent`.

    Parameters
    ----------
    word : int32 array of shape (n_rules,)
        Number of the word's column.
    present, absent, weight : float64 arrays of shape (n_rules,)
        The two votes, and what they are multiplied by.
    """

    word: NDArray[np.int32]
    present: Floats
    absent: Floats
    weight: Floats

    def take(self, chosen: Any) -> "WordRules":
        """Take some of the rules, by a mask, by their numbers or by a slice."""
        return WordRules._make(array[chosen] for array in self)

    def negate(self) -> "WordRules":
        """Let every rule vote for the other side."""
        return self._replace(present=-self.present, absent=-self.absent)


def join(parts: list[WordRules]) -> WordRules:
    """Put rules behind each other."""
    return WordRules._make(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def make_constant(vote: float) -> WordRules:
    """Make the one rule that votes the same for every document, so that its word does not matter.

    Examples
    --------
    >>> make_constant(-1.0).absent
    array([-1.])
    """
    votes = np.array([vote])
    return WordRules(np.zeros(1, np.int32), votes, votes.copy(), np.ones(1))


def check_rules(rules: WordRules, n_words: int) -> WordRules:
    """Give the rules; raise ValueError unless they are finite and about words that there are."""
    if not isinstance(rules, WordRules):
        raise ValueError(f"word rules are expected, not {type(rules).__name__}")
    kinds = (np.int32, np.float64, np.float64, np.float64)
    for name, array, kind in zip(rules._fields, rules, kinds, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
            raise ValueError(f"the rules' {name} is not a row of {np.dtype(kind).name}")
        if len(array) != len(rules.word) or not np.isfinite(array).all():
            raise ValueError(f"the rules' {name} is not finite or not as long as their words")
    if len(rules.word) and not 0 <= rules.word.min() <= rules.word.max() < n_words:
        raise ValueError(f"the rules' word is not among the {n_words} columns")
    return rules


def add_votes(machines: list[WordRules], present: Any) -> Floats:
    """Add up the votes of the rules of several machines.

    Parameters
    ----------
    machines : list of WordRules
    present : sparse matrix of shape (n_docs, n_words)
        Ones where a word is in a document.

    Returns
    -------
    ndarray of shape (n_docs, n_machines)
    """
    lengths = [len(rules.word) for rules in machines]
    rules, column = join(machines), np.repeat(np.arange(len(machines)), lengths)
    swing = sp.csr_matrix(
        (rules.weight * (rules.present - rules.absent), (rules.word, column)),
        shape=(present.shape[1], len(machines)),
    )
    base = np.bincount(column, rules.weight * rules.absent, minlength=len(machines))
    votes: Floats = np.asarray((present @ swing).todense()) + base
    return votes
