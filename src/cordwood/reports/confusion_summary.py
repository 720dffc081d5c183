"""Confusion of classes: groups of classes that are confused with each other, and examples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from cordwood.reports.model_records import (
    ConfusedPair,
    Confusion,
    ConfusionExample,
    ConfusionGroup,
)
from cordwood.reports.scored_samples import ScoredSamples

_MAX_GROUP = 10
_MAX_SINGLE_MAP = 12
_MAX_GROUPS = 8
_MAX_PAIRS = 60
_N_EXAMPLES = 3
_MAX_TEXT = 280


def summarize_confusion(samples: ScoredSamples, labels: Sequence[str]) -> Confusion:
    """Summarize which classes are predicted as which others."""
    n_classes = len(labels)
    counts = np.bincount(samples.y * n_classes + samples.predicted, minlength=n_classes**2)
    counts = counts.reshape(n_classes, n_classes)
    errors = counts.copy()
    np.fill_diagonal(errors, 0)
    groups = group_classes(errors)
    shown = groups[:_MAX_GROUPS]
    n_inside = sum(int(errors[np.ix_(group, group)].sum()) for group in shown)
    return Confusion(
        n_errors=int(errors.sum()),
        n_classes=n_classes,
        n_shown_errors=n_inside,
        groups=[
            ConfusionGroup([labels[i] for i in group], counts[np.ix_(group, group)].tolist())
            for group in shown
        ],
        pairs=_list_pairs(errors, counts, samples, labels),
    )


def group_classes(errors: NDArray[np.integer[Any]]) -> list[list[int]]:
    """Group classes by the confusion matrix without its diagonal, most errors first.

    Groups have at most ten classes, similar ones beside each other. Up to twelve classes are one
    group; classes that are never confused are in none.

    >>> errors = np.zeros((14, 14), dtype=int)
    >>> errors[0, 5] = errors[5, 9] = 3
    >>> errors[2, 1] = 1
    >>> group_classes(errors)
    [[0, 5, 9], [1, 2]]
    """
    n_classes = len(errors)
    both = errors + errors.T
    if n_classes <= _MAX_SINGLE_MAP:
        return [_order_classes(both, list(range(n_classes)))] if both.any() else []
    members = {i: [i] for i in range(n_classes)}
    group_of = list(range(n_classes))
    upper = np.triu(both, 1)
    order = np.argsort(-upper, axis=None, kind="stable")
    # The strongest pairs are joined first, as long as the group stays legible.
    for position in order[: np.count_nonzero(upper)].tolist():
        first, second = (group_of[i] for i in divmod(position, n_classes))
        if first != second and len(members[first]) + len(members[second]) <= _MAX_GROUP:
            for i in members.pop(second):
                group_of[i] = first
                members[first].append(i)
    groups = [sorted(group) for group in members.values() if len(group) > 1]
    groups.sort(key=lambda group: -int(both[np.ix_(group, group)].sum()))
    return [_order_classes(both, group) for group in groups]


def _order_classes(both: NDArray[np.integer[Any]], group: list[int]) -> list[int]:
    """Put classes that are confused with each other beside each other."""
    if len(group) < 3:
        return group
    inside = both[np.ix_(group, group)].astype(np.float64)
    distances = 1 / (1 + inside)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances), "average", optimal_ordering=True)
    leaves = leaves_list(tree).tolist()
    # An order and its reverse are equally good: begin with the class that comes first.
    leaves = min(leaves, leaves[::-1])
    return [group[i] for i in leaves]


def _list_pairs(
    errors: NDArray[np.integer[Any]],
    counts: NDArray[np.integer[Any]],
    samples: ScoredSamples,
    labels: Sequence[str],
) -> list[ConfusedPair]:
    """Return the most frequent errors, with the examples that the model is most certain of."""
    n_classes, proba, texts = len(labels), samples.proba, samples.texts
    order = np.argsort(-errors, axis=None, kind="stable")[
        : min(_MAX_PAIRS, int((errors > 0).sum()))
    ]
    pairs = []
    for position in order.tolist():
        true, wrong = divmod(position, n_classes)
        members = np.flatnonzero((samples.y == true) & (samples.predicted == wrong))
        strongest = members[np.argsort(-proba[members, wrong], kind="stable")][:_N_EXAMPLES]
        pairs.append(
            ConfusedPair(
                true=labels[true],
                predicted=labels[wrong],
                n=int(errors[true, wrong]),
                share=float(errors[true, wrong] / counts[true].sum()),
                examples=[
                    ConfusionExample(
                        id=samples.ids[i],
                        text=texts[i][:_MAX_TEXT],
                        is_shortened=len(texts[i]) > _MAX_TEXT,
                        probability=float(proba[i, wrong]),
                        probability_true=float(proba[i, true]),
                    )
                    for i in strongest.tolist()
                ]
                if texts is not None
                else [],
            )
        )
    return pairs
