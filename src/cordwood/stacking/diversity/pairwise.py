"""Pairwise diversity measures: how often one, both or neither of two members is correct [1]_ [2]_.

Parameters of all measures
--------------------------
predictions : mapping, data frame or sequence of array-likes of shape (n_samples,)
    Predicted labels of each member.
y : array-like of shape (n_samples,)
    True labels.

Returned by all measures
------------------------
ndarray of shape (n_members, n_members)
    Symmetric, in the order of the members; the diagonal compares each member with itself.

References
----------
.. [1] Kuncheva, Whitaker (2003). Measures of diversity in classifier ensembles and their
   relationship with the ensemble accuracy. Machine Learning 51.
.. [2] Campos, Canuto, Salles, de Sá, Gonçalves (2017). Stacking bagged and boosted forests for
   effective automated classification. SIGIR.
"""

from __future__ import annotations  # `help` shows the short names

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError
from cordwood.stacking.diversity._predictions import Predictions, encode, is_correct

Floats = NDArray[np.float64]
Form = Literal["general", "closed"]


class _Counts(NamedTuple):
    """Numbers of samples that both, one or no member of each pair predicts correctly.

    Each is an array of integral floats of shape (n_members, n_members).
    """

    both: Floats
    first: Floats
    second: Floats
    neither: Floats

    @property
    def n_samples(self) -> float:
        """Number of samples, the same for all pairs."""
        return float(self.both[0, 0] + self.neither[0, 0])


def disagreement(predictions: Predictions, y: ArrayLike) -> Floats:
    """Fraction of samples that exactly one member of a pair predicts correctly.

    In [0, 1]; higher is more diverse.

    Examples
    --------
    >>> disagreement({"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "b", "a"]}, list("abba"))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    counts = _count(predictions, y)
    return (counts.first + counts.second) / counts.n_samples


def normalized_disagreement(
    predictions: Predictions, y: ArrayLike, *, form: Form = "general"
) -> Floats:
    """Disagreement, scaled to the range that the accuracies of a pair allow.

    The disagreement of members with accuracies R and S is at least abs(R - S) and at most
    min(R + S, 2 - R - S). It is scaled linearly so that these bounds become 0 and 1; higher is more
    diverse. NaN if the two bounds are equal: a member is correct on all samples or, in the general
    form, on none.

    The form "closed" uses the upper bound 2 - R - S, as Campos et al. (2017) do: the fraction of
    the errors of the more accurate member that the other member predicts correctly. It is lower
    than "general" if both members are wrong on more samples than both are correct on, else equal.

    Examples
    --------
    >>> correct = [[True, True, True, False, False], [True, False, False, True, False]]
    >>> normalized_disagreement(correct, [True] * 5)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    if form not in get_args(Form):
        raise CordwoodError(f"form must be 'general' or 'closed'; got {form!r}.")
    counts = _count(predictions, y)
    # Half of the differences to the lower bound.
    excess = np.minimum(counts.first, counts.second)
    slack = counts.neither if form == "closed" else np.minimum(counts.neither, counts.both)
    return _divide(excess, slack + excess)


def double_fault(predictions: Predictions, y: ArrayLike) -> Floats:
    """Fraction of samples that both members of a pair misclassify.

    In [0, 1]; lower is more diverse. The diagonal contains the error rates of the members.

    Examples
    --------
    >>> double_fault({"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "a", "a"]}, list("abba"))
    array([[0.25, 0.25],
           [0.25, 0.5 ]])
    """
    counts = _count(predictions, y)
    return counts.neither / counts.n_samples


def q_statistic(predictions: Predictions, y: ArrayLike) -> Floats:
    """Yule's Q statistic of the correctness of two members.

    In [-1, 1], 0 for independent members; lower is more diverse. NaN if a member is correct on all
    samples or on none.

    Examples
    --------
    >>> correct = [[True, True, True, False, False], [True, True, False, True, False]]
    >>> q_statistic(correct, [True] * 5).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """
    counts = _count(predictions, y)
    same, different = counts.both * counts.neither, counts.first * counts.second
    return _divide(same - different, same + different)


def correlation(predictions: Predictions, y: ArrayLike) -> Floats:
    """Phi coefficient: the correlation of the correctness of two members.

    In [-1, 1], 0 for independent members; lower is more diverse. NaN if a member is correct on all
    samples or on none.

    Examples
    --------
    >>> correct = [[True, True, True, False, False], [True, True, False, True, False]]
    >>> correlation(correct, [True] * 5).round(3)
    array([[1.   , 0.167],
           [0.167, 1.   ]])
    """
    counts = _count(predictions, y)
    spread = np.diag(counts.both) * np.diag(counts.neither)
    covariance = counts.both * counts.neither - counts.first * counts.second
    return _divide(covariance, np.sqrt(np.outer(spread, spread)))


def kappa(predictions: Predictions) -> Floats:
    """Cohen's kappa: chance-corrected agreement of the predicted labels of two members.

    At most 1, 0 for independent members; lower is more diverse. NaN if both members predict the
    same label for all samples. It does not depend on the true labels; pass ``predictions == y`` to
    measure the agreement of correctness.

    Examples
    --------
    >>> kappa({"rf": ["a", "b", "c", "a"], "svm": ["a", "b", "c", "b"]}).round(3)
    array([[1.   , 0.636],
           [0.636, 1.   ]])
    """
    codes = encode(predictions)
    n_samples, n_classes = codes.shape[1], codes.max() + 1
    class_counts = np.array([np.bincount(c, minlength=n_classes) for c in codes], np.float64)
    agreement = np.array([(codes == c).sum(axis=1) for c in codes])
    by_chance = class_counts @ class_counts.T
    return _divide(n_samples * agreement - by_chance, n_samples**2 - by_chance)


def oracle_accuracy(predictions: Predictions, y: ArrayLike) -> Floats:
    """Fraction of samples that at least one member of a pair predicts correctly.

    In [0, 1]; one minus the double fault. The diagonal contains the accuracies of the members.

    Examples
    --------
    >>> oracle_accuracy({"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "b", "b"]}, list("abba"))
    array([[0.75, 1.  ],
           [1.  , 0.5 ]])
    """
    counts = _count(predictions, y)
    return (counts.n_samples - counts.neither) / counts.n_samples


def combination_potential(predictions: Predictions, y: ArrayLike) -> Floats:
    """Oracle accuracy of a pair divided by the accuracy of its more accurate member.

    In [1, 2]; 1 if a combination cannot improve on the more accurate member. NaN if both members
    misclassify all samples.

    Examples
    --------
    >>> predictions = {"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "b", "b"]}
    >>> combination_potential(predictions, list("abba")).round(2)
    array([[1.  , 1.33],
           [1.33, 1.  ]])
    """
    counts = _count(predictions, y)
    n_correct = np.diag(counts.both)
    return _divide(counts.n_samples - counts.neither, np.maximum.outer(n_correct, n_correct))


def mean_over_pairs(matrix: ArrayLike) -> float:
    """Average a pairwise measure over all pairs of different members.

    NaN if the measure of a pair is NaN, because the mean over the other pairs would describe
    another ensemble.

    Examples
    --------
    >>> mean_over_pairs([[0.0, 0.1, 0.2], [0.1, 0.0, 0.6], [0.2, 0.6, 0.0]])
    0.3
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise CordwoodError(f"matrix must be square; got shape {values.shape}.")
    if len(values) < 2:
        raise CordwoodError("matrix must have at least two members; got one.")
    return float(values[np.triu_indices(len(values), k=1)].mean())


def _count(predictions: Predictions, y: ArrayLike) -> _Counts:
    correct = is_correct(predictions, y).astype(np.float64)  # BLAS is fast and exact for counts
    both = correct @ correct.T
    n_correct = np.diag(both)
    first, second = n_correct[:, None] - both, n_correct[None, :] - both
    return _Counts(both, first, second, correct.shape[1] - both - first - second)


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 / 0 is NaN."""
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
