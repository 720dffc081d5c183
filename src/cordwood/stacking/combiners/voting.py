"""Fixed combination rules."""

from collections.abc import Callable, Mapping

import numpy as np

from cordwood._base.param_validation import options
from cordwood.stacking.combiners._combiner import (
    BaseCombiner,
    Codes,
    Floats,
    hard_votes,
    split_by_estimator,
)

# Weight of the mean probability, which breaks ties of a rule: less than any vote.
_TIE_BREAK = 1e-6


# Products of probabilities whose logarithms differ by less than this, relative to the sum of the
# absolute logarithms, are equal except for rounding.
_LOG_TOLERANCE = 8 * np.finfo(np.float64).eps


def _sum(values: Floats) -> Floats:
    """Sum over the base estimators. Sorted, because rounding must not depend on their order."""
    total: Floats = np.sort(values, axis=1).sum(axis=1)
    return total


def _mean(probas: Floats) -> Floats:
    mean: Floats = _sum(probas) / probas.shape[1]
    return mean


def _product(probas: Floats) -> Floats:
    # The product of hundreds of small numbers underflows, the sum of their logarithms does not.
    logs = _sum(np.log(np.maximum(probas, np.finfo(np.float64).tiny)))
    best = logs.max(axis=1, keepdims=True)
    is_best = best - logs <= _LOG_TOLERANCE * np.abs(logs)
    product: Floats = np.exp(np.where(is_best, 0.0, logs - best))
    return product


def _with_tie_break(rule: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda probas: rule(probas) + _TIE_BREAK * _mean(probas)


_RULES: Mapping[str, Callable[[Floats], Floats]] = {
    "majority": _with_tie_break(lambda probas: _sum(hard_votes(probas))),
    "mean": _mean,
    "product": _product,
    "max": _with_tie_break(lambda probas: probas.max(axis=1)),
    "min": _with_tie_break(lambda probas: probas.min(axis=1)),
    "median": _with_tie_break(lambda probas: np.median(probas, axis=1)),
}


class Voting(BaseCombiner):
    """Combine probabilities by a fixed rule.

    The rule has no trainable parameters: `fit` only stores the classes and their prior.

    Parameters
    ----------
    rule : {"majority", "mean", "product", "max", "min", "median"}, default="majority"
        How the probabilities of a class are aggregated over the base estimators. The results are
        normalized to sum to one, and do not depend on the order of the base estimators.

        - "majority" counts the base estimators for which the class is the most probable; if a base
          estimator has several most probable classes, its vote is split equally.
        - "product" replaces zeros by the smallest positive float. If every class has a zero, the
          class with the fewest zeros wins. Products that are equal except for rounding tie.
        - "majority", "max", "min" and "median" often tie. The mean probability, with a weight of
          1e-6, breaks ties.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies of the training set: the prediction if all probabilities are 0.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    sklearn.ensemble.VotingClassifier : Fits base estimators and combines them by majority or mean.
    LogarithmicPool : Product of probabilities to trained powers.

    References
    ----------
    .. [1] Kittler, Hatef, Duin, Matas (1998). On combining classifiers. IEEE TPAMI 20. Section 3,
       with equal priors.

    Examples
    --------
    Two of three base estimators slightly prefer "a", the third is certain of "b":

    >>> X = [[0.6, 0.4, 0.6, 0.4, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]
    >>> Voting("majority").fit(X, ["a", "b"]).predict(X)
    array(['a', 'b'], dtype='<U1')
    >>> Voting("mean").fit(X, ["a", "b"]).predict(X)
    array(['b', 'b'], dtype='<U1')
    """

    _parameter_constraints = {"rule": options(*_RULES)}

    def __init__(self, rule: str = "majority") -> None:
        self.rule = rule

    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        split_by_estimator(X, len(self.classes_))

    def _class_scores(self, X: Floats) -> Floats:
        return _RULES[self.rule](split_by_estimator(X, len(self.classes_)))
