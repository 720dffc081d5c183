"""Samples that an audit reports, and the checks of single samples and pairs that find them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.wording import shorten_line
from cordwood.audit._outliers import Outliers
from cordwood.audit._text_quality import find_text_problem, is_placeholder
from cordwood.audit.near_duplicates import SIMILAR, NearDuplicates
from cordwood.datasets.corpus import Corpus, FeatureMatrix

_MAX_CHARS = 200
_MAX_RELATED = 5

Data = Corpus | FeatureMatrix

DEFINITIONS = {
    "contradictory label": f"equal or {SIMILAR} to samples that mostly have another label",
    "leakage": f"equal or {SIMILAR} to a training sample",
    "duplicate": "equal to an earlier sample with the same label, except for case and white space",
    "near-duplicate": f"{SIMILAR} to an earlier sample with the same label",
}
"""What the samples of a kind are, in the words of all messages, tables and reports."""


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A sample that may be wrong, and why.

    Parameters
    ----------
    kind : str
        "label error", "missing label", "contradictory label", "leakage", "duplicate",
        "near-duplicate", "empty text", "placeholder", "garbled text", "encoding error",
        "no letters" or "outlier".
    index : int
        Position of the sample in its data set.
    id : str
        Its id.
    is_test : bool, default=False
        Whether the sample is in the test set that was given.
    label : object
        Its label, in the most frequent spelling.
    suggested_label : object, default=None
        Label that is more probable, or that most equal texts have.
    confidence : float or None, default=None
        Out-of-fold probability of the suggested label.
    reason : str
        Why the sample is reported.
    words : tuple of str, default=()
        Words of the text that argue for the suggested label.
    related_ids : tuple of str, default=()
        Ids of the samples that are equal or similar, or of neighbors with the suggested label.
    text : str
        Beginning of the text, on one line; empty for numeric features.
    """

    kind: str
    index: int
    id: str
    is_test: bool = False
    label: Any
    suggested_label: Any = None
    confidence: float | None = None
    reason: str
    words: tuple[str, ...] = ()
    related_ids: tuple[str, ...] = ()
    text: str


def make_suspect(data: Data, index: int, kind: str, reason: str, **fields: Any) -> Suspect:
    """Return the suspect of a sample of the data."""
    # A text may be long, and splitting all of it into words slow.
    start = data.texts[index][: 4 * _MAX_CHARS] if isinstance(data, Corpus) else ""
    return Suspect(
        kind=kind,
        index=int(index),
        id=data.ids[index],
        label=None if data.labels is None else data.labels[index],
        reason=reason,
        text=shorten_line(start, _MAX_CHARS),
        **fields,
    )


def find_missing_labels(data: Data) -> Iterator[Suspect]:
    """Find labels that stand for a missing value."""
    for index, label in enumerate(data.labels or ()):
        if isinstance(label, str) and is_placeholder(label, is_label=True):
            reason = f"{label!r} stands for a missing label"
            yield make_suspect(data, index, "missing label", reason)


def find_bad_texts(data: Corpus) -> Iterator[Suspect]:
    """Find empty, garbled and damaged texts."""
    for index, text in enumerate(data.texts):
        problem = find_text_problem(text)
        if problem is not None:
            yield make_suspect(data, index, problem.kind, problem.reason)


def find_repeated(data: Data, near: NearDuplicates) -> Iterator[Suspect]:
    """Find samples that repeat others with the same label, and samples that contradict others."""
    labels: Any = data.labels
    for group in near.groups:
        cluster = group.tolist()
        yield from _find_repeats(data, cluster, near)
        counts = Counter(labels[i] for i in cluster)
        if len(counts) > 1:
            yield from _find_contradictions(data, cluster, counts, near)


def _find_repeats(data: Data, cluster: Sequence[int], near: NearDuplicates) -> Iterator[Suspect]:
    labels: Any = data.labels
    first_similar: dict[Any, int] = {}
    first_equal: dict[Any, int] = {}
    for i in cluster:
        similar = first_similar.setdefault(labels[i], i)
        equal = first_equal.setdefault((near.first_equal[i], labels[i]), i)
        if equal != i:
            kind, other, reason = "duplicate", equal, f"equal to {data.ids[equal]}"
        elif similar != i:
            kind, other, reason = "near-duplicate", similar, f"similar to {data.ids[similar]}"
            partner = near.partner[i]
            # An equal partner is itself reported, as a duplicate of this sample.
            if near.first_equal[partner] != near.first_equal[i] and labels[partner] == labels[i]:
                other = partner
                reason = f"similar to {data.ids[partner]} (cosine {near.similarity[i]:.2f})"
        else:
            continue
        yield make_suspect(data, i, kind, reason, related_ids=(data.ids[other],))


def _find_contradictions(
    data: Data, cluster: Sequence[int], counts: Counter[Any], near: NearDuplicates
) -> Iterator[Suspect]:
    """Report the samples with another label than most of their cluster; all if there is a tie."""
    (most, n_most), (_, n_second) = counts.most_common(2)
    majority = most if n_most > n_second else None
    shown = ", ".join(f"{label} ({n})" for label, n in counts.most_common())
    is_equal = len(set(near.first_equal[cluster].tolist())) == 1
    labels: Any = data.labels
    for i in cluster:
        if labels[i] == majority:
            continue
        others = [j for j in cluster if labels[j] != labels[i]]
        yield make_suspect(
            data,
            i,
            "contradictory label",
            f"{'equal' if is_equal else 'similar'} samples have different labels: {shown}",
            suggested_label=majority,
            related_ids=tuple(data.ids[j] for j in others[:_MAX_RELATED]),
        )


def find_leakage(
    train: Data, test: Data, cluster: NDArray[np.intp], *, is_test: bool
) -> Iterator[Suspect]:
    """Find test samples that are in the cluster of a training sample.

    `cluster` has the clusters of the training samples, then those of the test samples; `is_test`
    is whether the latter come from a data set of their own.
    """
    members = defaultdict(list)
    for i, number in enumerate(cluster[: len(train)].tolist()):
        members[number].append(i)
    for i, number in enumerate(cluster[len(train) :].tolist()):
        found = members.get(number, [])
        if not found:
            continue
        ids = tuple(train.ids[j] for j in found[:_MAX_RELATED])
        yield make_suspect(
            test,
            i,
            "leakage",
            f"in a cluster of equal or similar samples with the training sample {ids[0]}",
            related_ids=ids,
            is_test=is_test,
        )


def find_outliers(data: Corpus, outliers: Outliers) -> Iterator[Suspect]:
    """Report texts unlike the rest, the most unusual first."""
    for i in outliers.ranking.tolist():
        if outliers.rarity[i] >= outliers.distance[i]:
            reason = "its words are rare in other texts"
        else:
            reason = "few texts have words in common with it"
        yield make_suspect(data, i, "outlier", reason)
