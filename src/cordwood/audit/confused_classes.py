"""Classes that are hard to distinguish, and the words that differ most between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.oof.records import OOFPredictions

_MIN_ERRORS = 5
# Share of the samples of two classes that are predicted as the other one.
_MIN_ERROR_RATE = 0.05
_MAX_PAIRS = 10
_N_WORDS = 5
# Differences of the log odds, in standard errors.
_MIN_Z = 2.0


@dataclass(frozen=True, kw_only=True)
class ConfusedClasses:
    """Two classes whose samples are often predicted as the other one.

    Parameters
    ----------
    labels : tuple of two labels
        The classes.
    n_errors : tuple of int
        Number of samples of each that are predicted as the other, out of fold.
    error_rate : float
        Share of the samples of both classes that are predicted as the other.
    words : tuple of two tuples of str
        Words that are more frequent in each of them than in the other, the most significant first;
        empty for numeric features.
    """

    labels: tuple[Any, Any]
    n_errors: tuple[int, int]
    error_rate: float
    words: tuple[tuple[str, ...], tuple[str, ...]]


def find_confused_classes(
    oof: OOFPredictions, counts: sp.csr_matrix | None, names: Sequence[str]
) -> tuple[ConfusedClasses, ...]:
    """Find pairs of classes that are often confused, the most frequent errors first."""
    n_classes = len(oof.classes)
    confusion = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(confusion, (oof.y, oof.proba.argmax(axis=1)), 1)
    sizes = confusion.sum(axis=1)
    errors = confusion + confusion.T
    a, b = np.triu_indices(n_classes, 1)
    rate = errors[a, b] / np.maximum(sizes[a] + sizes[b], 1)
    is_frequent = (errors[a, b] >= _MIN_ERRORS) & (rate >= _MIN_ERROR_RATE)
    order = np.argsort(-errors[a, b], kind="stable")
    labels = oof.classes.tolist()
    return tuple(
        ConfusedClasses(
            labels=(labels[a[i]], labels[b[i]]),
            n_errors=(int(confusion[a[i], b[i]]), int(confusion[b[i], a[i]])),
            error_rate=float(rate[i]),
            words=((), ()) if counts is None else _compare(counts, names, oof.y, a[i], b[i]),
        )
        for i in order[is_frequent[order]][:_MAX_PAIRS]
    )


def _compare(
    counts: sp.csr_matrix, names: Sequence[str], y: NDArray[np.intp], a: int, b: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words with the most significant differences of their log odds."""
    n_a, n_b = ((y == k).sum() for k in (a, b))
    with_a, with_b = (
        np.bincount(counts[y == k].indices, minlength=counts.shape[1]) for k in (a, b)
    )
    # Half of a text is added to each count, which keeps the log odds of 0 finite.
    cells = [with_a + 0.5, n_a - with_a + 0.5, with_b + 0.5, n_b - with_b + 0.5]
    difference = np.log(cells[0] / cells[1]) - np.log(cells[2] / cells[3])
    z = difference / np.sqrt(sum(1 / cell for cell in cells))
    order = np.argsort(-z, kind="stable")
    for_a = tuple(names[i] for i in order[:_N_WORDS] if z[i] > _MIN_Z)
    for_b = tuple(names[i] for i in order[::-1][:_N_WORDS] if z[i] < -_MIN_Z)
    return for_a, for_b
