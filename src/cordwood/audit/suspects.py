"""Samples that an audit reports, and the checks of single samples and pairs that find them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.audit._outliers import Outliers
from cordwood.audit._text_quality import find_text_problem
from cordwood.audit.near_duplicates import NearDuplicates
from cordwood.datasets.corpus import Corpus, FeatureMatrix

_MAX_CHARS = 200
_MAX_RELATED = 5

Data = Corpus | FeatureMatrix


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A sample that may be wrong, and why.

    Parameters
    ----------
    kind : str
        "label error", "contradictory label", "leakage", "duplicate", "near-duplicate",
        "empty text", "garbled text", "encoding error", "no letters" or "outlier".
    index : int
        Position of the sample in its data set.
    id : str
        Its id.
    is_test : bool, default=False
        Whether the sample is in the test set that was given.
    label : object
        Its label.
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
    return Suspect(
        kind=kind,
        index=int(index),
        id=data.ids[index],
        label=None if data.labels is None else data.labels[index],
        reason=reason,
        text=shorten(data.texts[index]) if isinstance(data, Corpus) else "",
        **fields,
    )


def shorten(text: str, n_chars: int = _MAX_CHARS) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text[: 4 * n_chars].split())
    return line if len(line) <= n_chars else line[: n_chars - 3] + "..."


def find_bad_texts(data: Corpus) -> Iterator[Suspect]:
    """Find empty, garbled and damaged texts."""
    for index, text in enumerate(data.texts):
        problem = find_text_problem(text)
        if problem is not None:
            yield make_suspect(data, index, problem.kind, problem.reason)


def find_repeated(
    data: Data, equal: Sequence[Sequence[int]], near: NearDuplicates | None
) -> Iterator[Suspect]:
    """Find samples that repeat others with the same label, and samples that contradict others.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        Labelled samples.
    equal : sequence of sequences of int
        Samples that are equal.
    near : NearDuplicates or None
        Clusters of texts, which contain equal texts.
    """
    labels: Any = data.labels
    repeats = {}
    for group in equal:
        firsts: dict[Any, int] = {}
        for i in group:
            if firsts.setdefault(labels[i], i) != i:
                repeats[i] = firsts[labels[i]]
    for i, first in repeats.items():
        yield make_suspect(
            data, i, "duplicate", f"equal to {data.ids[first]}", related_ids=(data.ids[first],)
        )
    clusters = equal if near is None else [group.tolist() for group in near.groups]
    for cluster in clusters:
        counts = Counter(labels[i] for i in cluster)
        if len(counts) > 1:
            yield from _find_contradictions(data, cluster, counts, near)
        elif near is not None:
            for i in cluster[1:]:
                if i not in repeats:
                    yield _report_similar(data, i, cluster[0], near)


def _report_similar(data: Data, index: int, first: int, near: NearDuplicates) -> Suspect:
    """Report a text that is similar to the first one of its cluster, or to another one of it."""
    if near.similarity[index] < 1:
        partner = data.ids[near.partner[index]]
        reason = f"similar to {partner} (cosine {near.similarity[index]:.2f})"
    else:  # its partner is equal and reported as a duplicate of it
        partner = data.ids[first]
        reason = f"similar to {partner}"
    return make_suspect(data, index, "near-duplicate", reason, related_ids=(partner,))


def _find_contradictions(
    data: Data, cluster: Sequence[int], counts: Counter[Any], near: NearDuplicates | None
) -> Iterator[Suspect]:
    """Report the samples with another label than most of their cluster; all if there is a tie."""
    (most, n_most), (_, n_second) = counts.most_common(2)
    majority = most if n_most > n_second else None
    shown = ", ".join(f"{label} ({n})" for label, n in counts.most_common())
    labels: Any = data.labels
    for i in cluster:
        if labels[i] == majority:
            continue
        others = [j for j in cluster if labels[j] != labels[i]]
        is_equal = near is None or near.similarity[cluster].min() == 1
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

    Parameters
    ----------
    train, test : Corpus or FeatureMatrix
    cluster : intp array of shape (n_train_samples + n_test_samples,)
    is_test : bool
        Whether the test samples come from a data set of their own.
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
