"""Scores of all subsets of a stack's members, from one fit of the members.

No member is fitted again: a subset is a selection of columns of the meta-features, and only the
combiner is refitted.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score

from cordwood.exceptions import CordwoodError
from cordwood.stacking.diversity import double_fault, mean_over_pairs

Floats = NDArray[np.float64]


class SubsetScore(NamedTuple):
    """Test scores of the stack of some members; a list of these converts to a data frame.

    Parameters
    ----------
    members : tuple of str
        Names of the members.
    n_members : int
        Number of members.
    double_fault : float
        Fraction of test samples that both members of a pair misclassify, averaged over all pairs.
    micro_f1, macro_f1 : float
        Scores of the combiner's predictions.
    """

    members: tuple[str, ...]
    n_members: int
    double_fault: float
    micro_f1: float
    macro_f1: float


def score_subsets(
    meta: ArrayLike,
    y: ArrayLike,
    meta_test: ArrayLike,
    y_test: ArrayLike,
    combiner: Any,
    *,
    members: Sequence[str],
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[SubsetScore]:
    """Score the stack of every subset of at least two members.

    Parameters
    ----------
    meta : array-like of shape (n_samples, n_members * n_classes)
        Meta-features of the training samples: the out-of-fold class probabilities of one member
        after another, with classes in sorted order.
    y : array-like of shape (n_samples,)
        Labels of the training samples.
    meta_test : array-like of shape (n_test_samples, n_members * n_classes)
        Class probabilities of the test samples, in the same order.
    y_test : array-like of shape (n_test_samples,)
        Labels of the test samples.
    combiner : classifier
        Final estimator, cloned for each subset. Without a fixed `random_state`, scores may differ
        between runs.
    members : sequence of str
        Names of the members.
    n_jobs : int, optional
        Number of parallel processes; 1 by default, -1 for all cores.
    progress : callable, optional
        Called with the number of scored subsets and the number of all subsets.

    Returns
    -------
    list of SubsetScore
        All 2**n_members - n_members - 1 subsets (502 for nine members) by increasing size, and in
        the order of the members.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> meta = [[0.8, 0.2, 0.6, 0.4, 0.3, 0.7], [0.9, 0.1, 0.7, 0.3, 0.4, 0.6],
    ...         [0.4, 0.6, 0.1, 0.9, 0.9, 0.1], [0.3, 0.7, 0.2, 0.8, 0.8, 0.2]]
    >>> y = ["no", "no", "yes", "yes"]
    >>> meta_test = [[0.9, 0.1, 0.4, 0.6, 0.3, 0.7], [0.2, 0.8, 0.2, 0.8, 0.9, 0.1]]
    >>> found = score_subsets(
    ...     meta, y, meta_test, ["no", "yes"], LogisticRegression(), members=["rf", "svm", "nb"]
    ... )
    >>> for subset in found:
    ...     print("+".join(subset.members), subset.double_fault, subset.micro_f1)
    rf+svm 0.0 1.0
    rf+nb 0.0 1.0
    svm+nb 0.5 1.0
    rf+svm+nb 0.16666666666666666 1.0
    """
    names = _check_names(members)
    labels, labels_test = np.asarray(y), np.asarray(y_test)
    classes = np.unique(labels)
    n_columns = len(names) * len(classes)
    train = _check_meta("meta", meta, labels, n_columns)
    test = _check_meta("meta_test", meta_test, labels_test, n_columns)
    # Predicted labels, shape (n_members, n_test_samples).
    predictions = classes[test.reshape(len(test), len(names), len(classes)).argmax(axis=2).T]
    faults = double_fault(dict(zip(names, predictions, strict=True)), labels_test)
    subsets = [
        subset
        for size in range(2, len(names) + 1)
        for subset in combinations(range(len(names)), size)
    ]
    evaluations = Parallel(n_jobs, return_as="generator")(
        delayed(_evaluate)(clone(combiner), subset, train, labels, test, labels_test, len(classes))
        for subset in subsets
    )
    scored = []
    for subset, (micro_f1, macro_f1) in zip(subsets, evaluations, strict=True):
        chosen = tuple(names[member] for member in subset)
        fault = mean_over_pairs(faults[np.ix_(subset, subset)])
        scored.append(SubsetScore(chosen, len(subset), fault, micro_f1, macro_f1))
        if progress:
            progress(len(scored), len(subsets))
    return scored


def _evaluate(
    combiner: Any,
    subset: tuple[int, ...],
    train: Floats,
    labels: NDArray[Any],
    test: Floats,
    labels_test: NDArray[Any],
    n_classes: int,
) -> tuple[float, float]:
    """Fit a combiner on the columns of some members; return its micro-F1 and macro-F1."""
    columns = np.concatenate([np.arange(n_classes) + member * n_classes for member in subset])
    combiner.fit(train[:, columns], labels)
    predicted = combiner.predict(test[:, columns])
    return score_labels(labels_test, predicted)


def score_labels(y_true: NDArray[Any], y_pred: NDArray[Any]) -> tuple[float, float]:
    """Return micro-F1 and macro-F1 over the classes that are true or predicted ones.

    With one label per sample, micro-F1 is the accuracy.
    """
    macro_f1 = f1_score(y_true, y_pred, average="macro", zero_division=0.0)
    return float(accuracy_score(y_true, y_pred)), float(macro_f1)


def _check_names(members: Sequence[str]) -> tuple[str, ...]:
    names = tuple(members)
    if isinstance(members, str) or len(set(names)) < len(names) or len(names) < 2:
        raise CordwoodError(f"members must be at least two different names; got {members!r}")
    return names


def _check_meta(name: str, meta: ArrayLike, labels: NDArray[Any], n_columns: int) -> Floats:
    table = np.asarray(meta, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != n_columns:
        raise CordwoodError(
            f"{name} must have {n_columns} columns, one per member and class in y; got shape "
            f"{table.shape}"
        )
    if labels.shape != (len(table),):
        raise CordwoodError(
            f"{name} has {len(table)} samples, but its labels have shape {labels.shape}"
        )
    if (invalid := ~np.isfinite(table).all(axis=1)).any():
        raise CordwoodError(
            f"{name} has NaN or infinity in row {invalid.argmax()}; impute missing probabilities, "
            "for example by the class prior"
        )
    return table
