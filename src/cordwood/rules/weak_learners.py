"""Six weak learners: what two votes a word should have, and which word is best.

All words are tried at once. Two sparse products give the costs of the documents with each word,
and what is left of each side's total are the costs of those without it. The learners are those of
section 3 of [1]_; where two words are equally good, the one of the first column is taken.

============  =====================================  ==========================  ==================
learner       votes                                  factor                      word
============  =====================================  ==========================  ==================
``real.mh``   half the log of the odds, smoothed     1                           least Z
``disc.mh``   the side with the greater costs, ±1    half the log of the odds    least Z
``real.lp``   as ``real.mh``                         1                           greatest edge
``disc.lp``   as ``disc.mh``                         as ``disc.mh``              greatest edge
``real.u``    as ``real.mh``                         1                           least uneven Z
``disc.u``    as ``disc.mh``                         that of the least uneven Z  least uneven Z
============  =====================================  ==========================  ==================

References
----------
.. [1] Leskovec, Shawe-Taylor (2003). Linear programming boosting for uneven datasets. ICML.
.. [2] Schapire, Singer (2000). BoosTexter: a boosting-based system for text categorization.
   Machine Learning 39. Section 4.2: the smoothing of votes.
"""

from typing import NamedTuple

import numpy as np

from cordwood.rules._records import Floats, Task, WordRules

LEARNERS = ("real.mh", "disc.mh", "real.lp", "disc.lp", "real.u", "disc.u")

_MOST_STEPS = 100
_SMALL_STEP = 1e-13
_NOTHING = 1e-13
# Losses are sums in different orders; what they differ by beyond this must not choose the word.
DECIMALS = 12


class Masses(NamedTuple):
    """Costs of the documents on either side that have a word, and of those that have not.

    Parameters
    ----------
    with_plus, with_minus, without_plus, without_minus : float64 arrays of shape (n_words,)
    """

    with_plus: Floats
    with_minus: Floats
    without_plus: Floats
    without_minus: Floats


class Candidates(NamedTuple):
    """One rule for each word, judged.

    Parameters
    ----------
    present, absent : float64 arrays of shape (n_words,)
        The votes.
    factor : float64 array of shape (n_words,)
        What `boosting` multiplies the votes by.
    loss : float64 array of shape (n_words,)
        The learner's own criterion; the less, the better.
    edge : float64 array of shape (n_words,)
        Sum over documents of cost times vote, votes for the wrong side taken off.
    """

    present: Floats
    absent: Floats
    factor: Floats
    loss: Floats
    edge: Floats

    def take(self, words: list[int], scale: float = 1.0) -> WordRules:
        """Take the rules of some words, with `factor` for a weight and votes times `scale`."""
        chosen = np.array(words, np.int32)
        present, absent = scale * self.present[chosen], scale * self.absent[chosen]
        return WordRules(chosen, present, absent, self.factor[chosen])


def greatest_vote(size: float) -> float:
    """Give what smoothing lets a vote, or a factor, be at most, for costs that sum to one."""
    return 0.5 * float(np.log1p(size))


def weigh(task: Task, costs: Floats) -> Masses:
    """Add up the costs of the documents that have each word, and of those that have not."""
    plus, minus = costs[: task.n_plus], costs[task.n_plus :]
    return complete(task.plus @ plus, task.minus @ minus, plus.sum(), minus.sum())


def complete(with_plus: Floats, with_minus: Floats, plus: float, minus: float) -> Masses:
    """Find the costs of the documents without a word, from those with it and those of all."""
    masses = (with_plus, with_minus, plus - with_plus, minus - with_minus)
    # A rounding error where nothing is left would be as large as its root in a loss.
    return Masses._make(np.where(mass < _NOTHING, 0.0, mass) for mass in masses)


def judge(masses: Masses, learner: str, beta: float, size: float) -> Candidates:
    """Give every word its votes and judge it.

    Parameters
    ----------
    masses : Masses
        Of costs that sum to one.
    learner : {"real.mh", "disc.mh", "real.lp", "disc.lp", "real.u", "disc.u"}
    beta : float
        How much dearer it is to miss a document of the plus side.
    size : float
        The number of documents, m: one document's mean cost 1/m smooths all odds.

    Examples
    --------
    >>> masses = Masses(*np.array([[0.4], [0.1], [0.1], [0.4]]))
    >>> rules = judge(masses, "disc.mh", beta=1.0, size=100)
    >>> rules.present, rules.absent, rules.edge.round(3)
    (array([1.]), array([-1.]), array([0.6]))
    """
    kind, criterion = learner.split(".")
    ease = 1.0 / size
    yes_plus, yes_minus, no_plus, no_minus = masses
    if kind == "real":
        present = _half_log_odds(yes_plus, yes_minus, ease)
        absent = _half_log_odds(no_plus, no_minus, ease)
    else:
        present = np.where(yes_plus > yes_minus, 1.0, -1.0)
        absent = np.where(no_plus > no_minus, 1.0, -1.0)
    edge = (yes_plus - yes_minus) * present + (no_plus - no_minus) * absent
    factor = np.ones_like(edge)
    if kind == "disc":
        right, wrong = 0.5 * (1.0 + edge), 0.5 * np.maximum(1.0 - edge, 0.0)
        factor = _half_log_odds(right, wrong, ease)
    if criterion == "lp" or (criterion == "mh" and kind == "disc"):
        loss = -edge  # the least Z of ±1 votes, sqrt(1 - edge**2), is that of the greatest edge
    elif criterion == "mh":
        loss = _least_loss(masses)
    else:
        if kind == "disc":
            factor = find_factors(masses, present, absent, beta, greatest_vote(size))
        loss = uneven_loss(masses, factor * present, factor * absent, beta)
    return Candidates(present, absent, factor, np.round(loss, DECIMALS), edge)


def find_best(masses: Masses, learner: str, beta: float, size: float) -> WordRules:
    """Find the one rule that the learner likes best; parameters are those of `judge`."""
    if learner == "real.mh":  # whose loss needs no votes, and logarithms are what takes long
        loss = np.round(_least_loss(masses), DECIMALS)
    else:
        loss = judge(masses, learner, beta, size).loss
    word = int(np.argmin(loss))
    rule = judge(Masses._make(mass[[word]] for mass in masses), learner, beta, size).take([0])
    return rule._replace(word=np.array([word], np.int32))


def uneven_loss(masses: Masses, present: Floats, absent: Floats, beta: float) -> Floats:
    """Sum of the costs after an uneven update, Z of equation (10) of the paper."""
    loss: Floats = (
        masses.with_plus * np.exp(-present / beta)
        + masses.with_minus * np.exp(present)
        + masses.without_plus * np.exp(-absent / beta)
        + masses.without_minus * np.exp(absent)
    )
    return loss


def find_factors(
    masses: Masses, present: Floats, absent: Floats, beta: float, most: float
) -> Floats:
    """Find for each word the factor on its ±1 votes that makes the uneven loss least.

    The loss is convex in the factor, so that its slope has one root: equation (11) of the paper.
    Newton's steps are taken for all words at once, and halve the bracket where they would leave
    it. Factors are kept between ``-most`` and ``most``.
    """
    yes, no = present > 0, absent > 0
    right_plus = np.where(yes, masses.with_plus, 0.0) + np.where(no, masses.without_plus, 0.0)
    wrong_plus = masses.with_plus + masses.without_plus - right_plus
    wrong_minus = np.where(yes, masses.with_minus, 0.0) + np.where(no, masses.without_minus, 0.0)
    right_minus = masses.with_minus + masses.without_minus - wrong_minus
    low, high = np.full_like(right_plus, -most), np.full_like(right_plus, most)
    factor = np.zeros_like(right_plus)
    for _ in range(_MOST_STEPS):
        up, down = np.exp(factor), np.exp(-factor)
        plus_up, plus_down = np.exp(factor / beta) / beta, np.exp(-factor / beta) / beta
        gain, pain = right_plus * plus_down, wrong_plus * plus_up
        slope = pain - gain + wrong_minus * up - right_minus * down
        bend = (pain + gain) / beta + wrong_minus * up + right_minus * down
        low, high = np.where(slope < 0, factor, low), np.where(slope > 0, factor, high)
        step = np.divide(-slope, bend, out=np.zeros_like(slope), where=bend > 0)
        new = factor + step
        new = np.where((new < low) | (new > high), 0.5 * (low + high), new)
        done = np.abs(new - factor).max(initial=0.0) <= _SMALL_STEP * most
        factor = new
        if done:
            break
    return factor


def _least_loss(masses: Masses) -> Floats:
    """Sum of the costs after an even update, Z, for the votes that make it least."""
    present = np.sqrt(masses.with_plus * masses.with_minus)
    absent = np.sqrt(masses.without_plus * masses.without_minus)
    return np.asarray(2.0 * (present + absent))


def _half_log_odds(mass: Floats, against: Floats, ease: float) -> Floats:
    odds: Floats = 0.5 * np.log((mass + ease) / (against + ease))
    return odds
