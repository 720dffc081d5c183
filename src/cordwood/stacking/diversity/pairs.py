"""Diversity of each pair of members, from how often one, both or neither answers right.

References
----------
L. I. Kuncheva and C. J. Whitaker, "Measures of diversity in classifier ensembles and their
relationship with the ensemble accuracy", Machine Learning 51 (2003).

R. Campos, S. Canuto, T. Salles, C. C. A. de Sá and M. A. Gonçalves, "Stacking bagged and boosted
forests for effective automated classification", SIGIR 2017.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError
from cordwood.stacking.diversity._predictions import Answers, encode, find_right

Floats = NDArray[np.float64]
Form = Literal["general", "closed"]


class _Counts(NamedTuple):
    """Rows of each pair by who is right, each of shape (n_members, n_members); whole numbers."""

    both: Floats
    first: Floats
    second: Floats
    neither: Floats

    @property
    def n_rows(self) -> float:
        """Number of rows, the same for all pairs."""
        return float(self.both[0, 0] + self.neither[0, 0])


def disagreement(answers: Answers, y: ArrayLike) -> Floats:
    """Share of rows that one member of a pair gets right and the other wrong.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From 0 to 1; higher is more diverse.

    Examples
    --------
    >>> disagreement({"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "b", "a"]}, list("abba"))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    counts = _count(answers, y)
    return (counts.first + counts.second) / counts.n_rows


def normalized_disagreement(answers: Answers, y: ArrayLike, *, form: Form = "general") -> Floats:
    """Place of the disagreement between the least and the most that the accuracies allow.

    Members of accuracies R and S disagree on at least abs(R - S) of the rows. The most is
    min(R + S, 2 - R - S).

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.
    form : {"general", "closed"}
        "closed" takes 2 - R - S for the most, as SIGIR 2017 does: the result is the share of the
        better member's errors that the other one mends. Where both are wrong more often than both
        are right, R + S is the less, so that "closed" is at most as high as "general", and always
        below 1; in all other cases they are equal.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From 0 to 1; higher is more diverse. NaN where the accuracies leave no choice: a member is
        right in all rows or, in the general form, in none.

    Examples
    --------
    Of the two errors of the better member, the other one mends one.

    >>> right = [[True, True, True, False, False], [True, False, False, True, False]]
    >>> normalized_disagreement(right, [True] * 5)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    if form not in get_args(Form):
        raise CordwoodError(f"form must be one of {', '.join(get_args(Form))}, not {form!r}")
    counts = _count(answers, y)
    # Both differences from the least disagreement, halved.
    above_least = np.minimum(counts.first, counts.second)
    same = counts.neither if form == "closed" else np.minimum(counts.neither, counts.both)
    return _divide(above_least, same + above_least)


def double_fault(answers: Answers, y: ArrayLike) -> Floats:
    """Share of rows that both members of a pair get wrong.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From 0 to 1; lower is more diverse. The diagonal holds the members' error rates.

    Examples
    --------
    >>> double_fault({"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "a", "a"]}, list("abba"))
    array([[0.25, 0.25],
           [0.25, 0.5 ]])
    """
    counts = _count(answers, y)
    return counts.neither / counts.n_rows


def q_statistic(answers: Answers, y: ArrayLike) -> Floats:
    """Yule's Q of being right: whether two members tend to be right in the same rows.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From -1 to 1, 0 for independent members; lower is more diverse. NaN where one is right in
        all rows or in none.

    Examples
    --------
    >>> right = [[True, True, True, False, False], [True, True, False, True, False]]
    >>> q_statistic(right, [True] * 5).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """
    counts = _count(answers, y)
    alike, apart = counts.both * counts.neither, counts.first * counts.second
    return _divide(alike - apart, alike + apart)


def correlation(answers: Answers, y: ArrayLike) -> Floats:
    """Correlation of being right, the phi coefficient.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From -1 to 1, 0 for independent members; lower is more diverse. NaN where one is right in
        all rows or in none.

    Examples
    --------
    >>> right = [[True, True, True, False, False], [True, True, False, True, False]]
    >>> correlation(right, [True] * 5).round(3)
    array([[1.   , 0.167],
           [0.167, 1.   ]])
    """
    counts = _count(answers, y)
    spread = np.diag(counts.both) * np.diag(counts.neither)
    covariance = counts.both * counts.neither - counts.first * counts.second
    return _divide(covariance, np.sqrt(np.outer(spread, spread)))


def kappa(answers: Answers) -> Floats:
    """Cohen's kappa: how much more often than by chance two members give the same answer.

    It asks whether they say the same, not whether it is true. Of ``answers == y`` it is the kappa
    of being right.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        At most 1, 0 for independent members; lower is more diverse. NaN where both give one and
        the same label in all rows.

    Examples
    --------
    >>> kappa({"rf": ["a", "b", "c", "a"], "svm": ["a", "b", "c", "b"]}).round(3)
    array([[1.   , 0.636],
           [0.636, 1.   ]])
    """
    codes = encode(answers)
    n_rows = codes.shape[1]
    sizes = np.array([np.bincount(own, minlength=codes.max() + 1) for own in codes], np.float64)
    same = np.array([(codes == own).sum(axis=1) for own in codes])
    by_chance = sizes @ sizes.T
    return _divide(n_rows * same - by_chance, n_rows**2 - by_chance)


def oracle_accuracy(answers: Answers, y: ArrayLike) -> Floats:
    """Share of rows that at least one member of a pair gets right.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From 0 to 1; one minus the double fault. The diagonal holds the members' accuracies.

    Examples
    --------
    >>> oracle_accuracy({"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "b", "b"]}, list("abba"))
    array([[0.75, 1.  ],
           [1.  , 0.5 ]])
    """
    counts = _count(answers, y)
    return (counts.n_rows - counts.neither) / counts.n_rows


def combination_potential(answers: Answers, y: ArrayLike) -> Floats:
    """Accuracy of a pair's oracle in relation to that of its better member.

    Parameters
    ----------
    answers : mapping, data frame or sequence of array-likes of shape (n_rows,)
        The labels that each member gave.
    y : array-like of shape (n_rows,)
        The true labels.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        From 1, for a pair that has nothing to gain, to 2. NaN where both are wrong in all rows.

    Examples
    --------
    >>> answers = {"rf": ["a", "b", "a", "a"], "svm": ["a", "a", "b", "b"]}
    >>> combination_potential(answers, list("abba")).round(2)
    array([[1.  , 1.33],
           [1.33, 1.  ]])
    """
    counts = _count(answers, y)
    right = np.diag(counts.both)
    return _divide(counts.n_rows - counts.neither, np.maximum.outer(right, right))


def _count(answers: Answers, y: ArrayLike) -> _Counts:
    right = find_right(answers, y)
    ones = right.astype(np.float64)  # a product of floats is exact here, and far faster
    both = ones @ ones.T
    own = np.diag(both)
    first, second = own[:, None] - both, own[None, :] - both
    return _Counts(both, first, second, right.shape[1] - both - first - second)


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; zero by zero is NaN."""
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
