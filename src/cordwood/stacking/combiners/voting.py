"""Voting: one fixed rule, nothing learnt."""

from collections.abc import Callable, Mapping

import numpy as np

from cordwood._param_validation import check_choice
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, as_members, decide

# What the mean of the members counts beside a rule that leaves ties: less than any vote.
_TIE = 1e-6


def _multiply(members: Floats) -> Floats:
    # A product of hundreds of small numbers is zero, but its logarithm is not.
    logs = np.log(np.maximum(members, np.finfo(np.float64).tiny)).sum(axis=1)
    product: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return product


def _or_mean(rule: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda members: rule(members) + _TIE * members.mean(axis=1)


_RULES: Mapping[str, Callable[[Floats], Floats]] = {
    "majority": _or_mean(lambda members: decide(members).sum(axis=1)),
    "mean": lambda members: members.mean(axis=1),
    "product": _multiply,
    "max": _or_mean(lambda members: members.max(axis=1)),
    "min": _or_mean(lambda members: members.min(axis=1)),
    "median": _or_mean(lambda members: np.median(members, axis=1)),
}


class Voting(BaseCombiner):
    """Combine probabilities by a fixed rule.

    Nothing is learnt but the classes, so any labelled rows will do for `fit`. The probability of a
    class is its share of what the rule gives to all classes.

    Parameters
    ----------
    rule : {"majority", "mean", "product", "max", "min", "median"}, default="majority"
        What is taken of the members' probabilities of a class. "majority" counts members that
        think it the most probable; a member that has several most probable classes splits its
        vote among them. "product" takes a probability of zero for the smallest number there is, so
        that where every class is ruled out by some member, the class that is ruled out by the
        fewest is ahead.

        Majority, max, min and median often leave classes equal. The mean of the probabilities,
        which counts as a millionth of a vote or of the value, decides between them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows: the answer where all members say zero.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had any.

    References
    ----------
    .. [1] Kittler, Hatef, Duin, Matas (1998). On combining classifiers. IEEE Transactions on
       Pattern Analysis and Machine Intelligence 20. Section 3, with equal priors.

    Examples
    --------
    Two members are for "a", without conviction, and the third is sure of "b":

    >>> X = [[0.6, 0.4, 0.6, 0.4, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]
    >>> Voting("majority").fit(X, ["a", "b"]).predict(X)
    array(['a', 'b'], dtype='<U1')
    >>> Voting("mean").fit(X, ["a", "b"]).predict(X)
    array(['b', 'b'], dtype='<U1')
    """

    def __init__(self, rule: str = "majority") -> None:
        self.rule = rule

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        check_choice("rule", self.rule, _RULES)
        as_members(X, len(self.classes_))

    def _score(self, X: Floats) -> Floats:
        return _RULES[self.rule](as_members(X, len(self.classes_)))
