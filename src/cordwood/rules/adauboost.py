"""Boosting by exponential costs: AdaBoost, and AdaUBoost for uneven sides."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.rules._records import Floats, Task, WordRules, join
from cordwood.rules.weak_learners import Masses, complete, find_best

UPDATES = ("damped", "aggressive")

Factors = tuple[float, float]  # with the word, without it

# Sums that are kept in step gather rounding errors, so that they are made anew every so often, and
# wherever that is not much more work: where more than one document in so many has the word.
_REFRESH = 32
_FEW = 8


class Boosted(NamedTuple):
    """What boosting came to.

    Parameters
    ----------
    rules : WordRules
        A rule for each round, in their order.
    shrinkage : float64 array of shape (n_rounds,)
        What the costs summed to after each round, before they were scaled to sum to one again: Z.
    converged : bool
        Whether it stopped because no rule could change anything more.
    """

    rules: WordRules
    shrinkage: Floats
    converged: bool


def boost(
    task: Task, *, beta: float, learner: str, update: str, max_iter: int, tol: float
) -> Boosted:
    """Find the best rule, raise the costs of what it gets wrong, and find the next.

    Parameters
    ----------
    task : Task
    beta : float
        How much dearer it is to miss a document of the plus side; costs start like that.
    learner : str
        One of `weak.LEARNERS`.
    update : {"damped", "aggressive"}
        What happens to a document of the plus side: its cost changes by votes divided by beta, or
        by that only where the votes are right, and by votes times beta where they are wrong.
    max_iter : int
        Number of rounds.
    tol : float
        Stop when no vote of the best rule is larger.

    Returns
    -------
    Boosted
        Of at least one rule. A rule that makes no mistake is the last one.
    """
    tally = _Tally(task, beta)
    found: list[WordRules] = []
    shrinkage: list[float] = []
    converged = False
    while len(found) < max_iter and not converged:
        rule = find_best(tally.masses, learner, beta, task.size)
        votes = tuple(float(rule.weight[0] * vote[0]) for vote in (rule.present, rule.absent))
        if max(map(abs, votes)) <= tol:
            converged = True
            if found:
                break
        found.append(rule)
        shrinkage.append(tally.update(int(rule.word[0]), *_factors(votes, beta, update)))
        converged = converged or _is_perfect(task, rule)
    return Boosted(join(found), np.array(shrinkage), converged)


class _Tally:
    """Costs of documents, and their sums over the documents with each word, kept in step.

    A round multiplies the costs of all documents without a word by one factor, and of those with
    it by another. The same goes for the sums, if those documents are told apart; and there are
    far fewer of these than of all documents with all words.
    """

    def __init__(self, task: Task, beta: float) -> None:
        self._by_word = (task.plus, task.minus)
        self._by_doc = tuple(sp.csr_matrix(part.T) for part in self._by_word)
        costs = task.weight * np.where(task.sign > 0, beta, 1.0)
        self._costs = np.split(costs / costs.sum(), [task.n_plus])
        self._sums = [part @ costs for part, costs in zip(self._by_word, self._costs, strict=True)]
        self._n_steps = 0

    @property
    def masses(self) -> Masses:
        """Costs of the documents with and without each word."""
        return complete(*self._sums, *(float(costs.sum()) for costs in self._costs))

    def update(self, word: int, plus: Factors, minus: Factors) -> float:
        """Multiply costs by factors, scale them to sum to one, and return the sum before that."""
        self._n_steps += 1
        for side, factors in enumerate((plus, minus)):
            self._multiply(side, word, *factors)
        total = float(sum(costs.sum() for costs in self._costs))
        for costs, sums in zip(self._costs, self._sums, strict=True):
            costs /= total
            sums /= total
        return total

    def _multiply(self, side: int, word: int, present: float, absent: float) -> None:
        by_word, costs = self._by_word[side], self._costs[side]
        documents = by_word.indices[by_word.indptr[word] : by_word.indptr[word + 1]]
        before = costs[documents]
        costs *= absent
        costs[documents] = present * before
        if self._n_steps % _REFRESH and len(documents) * _FEW < len(costs):
            self._sums[side] *= absent
            self._sums[side] += (present - absent) * _sum_words(
                self._by_doc[side], documents, before
            )
        else:
            self._sums[side] = by_word @ costs


def _sum_words(by_doc: sp.csr_matrix, documents: NDArray[np.int32], costs: Floats) -> Floats:
    """Sum costs of some documents by word: ``costs @ by_doc[documents]`` in a third of its time."""
    starts = by_doc.indptr[documents]
    lengths = by_doc.indptr[documents + 1] - starts
    ends = np.cumsum(lengths)
    entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - (ends - lengths), lengths
    )
    words, n_words = by_doc.indices[entries], by_doc.shape[1]
    return np.bincount(words, np.repeat(costs, lengths), n_words).astype(np.float64, copy=False)


def _factors(votes: tuple[float, ...], beta: float, update: str) -> tuple[Factors, Factors]:
    """Give what costs of either side are multiplied by, with the word and without it."""
    wrong = beta if update == "aggressive" else 1.0 / beta
    plus = [math.exp(-vote * (wrong if vote < 0 else 1.0 / beta)) for vote in votes]
    return (plus[0], plus[1]), (math.exp(votes[0]), math.exp(votes[1]))


def _is_perfect(task: Task, rule: WordRules) -> bool:
    """Tell whether a rule alone makes no mistake."""
    word = int(rule.word[0])
    holders = [int(part.indptr[word + 1] - part.indptr[word]) for part in (task.plus, task.minus)]
    present, absent = rule.weight[0] * rule.present[0], rule.weight[0] * rule.absent[0]
    if present > 0 > absent:
        return holders == [task.n_plus, 0]
    return bool(present < 0 < absent) and holders == [0, len(task.weight) - task.n_plus]
