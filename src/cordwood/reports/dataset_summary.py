"""Summary of a data set before any model is trained."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cordwood.audit import DatasetAudit, check_dataset
from cordwood.audit.confused_classes import ConfusedClasses
from cordwood.audit.dataset_audit import describe_word
from cordwood.audit.dataset_check import Finding
from cordwood.audit.suspects import Suspect
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.text.languages import LANGUAGES, detect_language, sample_texts

_N_BINS = 24
_N_EXAMPLES = 2
_MAX_TEXT = 400
_MAX_EXAMPLE_CLASSES = 50
_MAX_IDS = 20
_MAX_SUSPECTS = 20


@dataclass(frozen=True)
class ClassSize:
    """Samples of a class."""

    label: str
    n_samples: int
    share: float
    median_words: float | None


@dataclass(frozen=True)
class Lengths:
    """Numbers of words of the texts."""

    quantiles: Mapping[str, float]  # by percentages from "0" to "100"
    mean: float
    n_empty: int
    edges: Sequence[float]  # of the bins of a histogram, on a logarithmic axis
    counts: Sequence[int]
    n_characters: int


@dataclass(frozen=True)
class DetectedLanguage:
    """A language and how many of a sample of the texts are in it."""

    code: str | None
    name: str
    n: int
    share: float


@dataclass(frozen=True)
class FeatureCounts:
    """Size of a matrix of features, and the share of values that are not zero."""

    n_features: int
    density: float


@dataclass(frozen=True)
class FindingSummary:
    """A finding of `check_dataset`, with the first ids only."""

    kind: str
    message: str
    n_samples: int
    ids: Sequence[str]


@dataclass(frozen=True)
class AuditSummary:
    """An audit, with the first suspects of each kind only."""

    accuracy: float | None
    counts: Mapping[str, int]  # number of suspects by kind
    suspects: Mapping[str, Sequence[Suspect]]
    confused_classes: Sequence[ConfusedClasses]
    revealing_words: Sequence[str]


@dataclass(frozen=True)
class Example:
    """The beginning of a text of a class."""

    label: str
    id: str
    text: str
    is_shortened: bool


@dataclass(frozen=True, kw_only=True)
class DatasetSummary:
    """Content of the report of a data set."""

    kind: str = field(default="dataset", init=False)
    name: str
    fingerprint: str
    n_samples: int
    n_test: int | None
    n_groups: int | None
    split: Mapping[str, int]  # number of samples by subset
    multilabel: bool
    n_skipped: int
    skipped: Sequence[str]  # the first of the invalid rows
    classes: Sequence[ClassSize]  # the largest first
    lengths: Lengths | None
    languages: Sequence[DetectedLanguage]  # the most frequent first
    features: FeatureCounts | None
    findings: Sequence[FindingSummary]
    audit: AuditSummary | None
    examples: Sequence[Example]


def summarize_dataset(
    data: Corpus | FeatureMatrix,
    *,
    name: str,
    test: Corpus | FeatureMatrix | None = None,
    audit: DatasetAudit | None = None,
) -> DatasetSummary:
    """Summarize a data set by the result of `check_dataset`, or by the given audit."""
    check = audit or check_dataset(data, test=test)
    members = _group_by_class(data, check.class_counts)
    return DatasetSummary(
        name=name,
        fingerprint=data.fingerprint(),
        n_samples=len(data),
        n_test=None if test is None else len(test),
        n_groups=len(set(data.groups)) if data.groups else None,
        split=dict(Counter(data.split or ()).most_common()),
        multilabel=data.multilabel,
        n_skipped=len(data.skipped),
        skipped=data.skipped[:3],
        classes=_summarize_classes(data, check.class_counts, members),
        lengths=_summarize_lengths(data) if isinstance(data, Corpus) else None,
        languages=_detect_languages(data) if isinstance(data, Corpus) else [],
        features=None if isinstance(data, Corpus) else _summarize_features(data),
        findings=[summarize_finding(finding) for finding in check.findings],
        audit=None if audit is None else summarize_audit(audit),
        examples=_select_examples(data, members) if isinstance(data, Corpus) else [],
    )


def summarize_audit(audit: DatasetAudit, n_suspects: int = _MAX_SUSPECTS) -> AuditSummary:
    """Summarize an audit, with the first suspects of each kind only."""
    return AuditSummary(
        accuracy=audit.accuracy,
        counts=audit.counts,
        suspects={kind: audit.select(kind)[:n_suspects] for kind in audit.counts},
        confused_classes=audit.confused_classes,
        revealing_words=[describe_word(word) for word in audit.revealing_words],
    )


def summarize_finding(finding: Finding) -> FindingSummary:
    """Summarize a finding, with the first ids only."""
    return FindingSummary(finding.kind, finding.message, len(finding.ids), finding.ids[:_MAX_IDS])


def _group_by_class(data: Corpus | FeatureMatrix, classes: Iterable[str]) -> dict[str, list[int]]:
    """Return the positions of the samples of each class."""
    members: dict[str, list[int]] = {label: [] for label in classes}
    for i, label in enumerate(data.labels or ()):
        for each in label if isinstance(label, tuple) else (label,):
            members[str(each)].append(i)
    return members


def _summarize_classes(
    data: Corpus | FeatureMatrix, counts: Mapping[str, int], members: Mapping[str, list[int]]
) -> list[ClassSize]:
    lengths = _count_words(data.texts) if isinstance(data, Corpus) else None
    return [
        ClassSize(
            label,
            n,
            n / len(data),
            None if lengths is None else float(np.median(lengths[members[label]])),
        )
        for label, n in counts.items()
    ]


def _count_words(texts: tuple[str, ...]) -> NDArray[np.int64]:
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


def _summarize_lengths(data: Corpus) -> Lengths:
    words = _count_words(data.texts)
    longest = int(words.max(initial=1))
    # Empty texts are counted in the first bin, which begins at one word.
    edges = np.unique(np.round(np.geomspace(1, longest + 1, _N_BINS + 1)))
    if len(edges) < 2:
        edges = np.array([1.0, 2.0])
    counts, _ = np.histogram(np.maximum(words, 1), edges)
    quantiles = np.quantile(words, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]).tolist()
    return Lengths(
        quantiles=dict(zip(("0", "5", "25", "50", "75", "95", "100"), quantiles, strict=True)),
        mean=float(words.mean()),
        n_empty=int((words == 0).sum()),
        edges=edges.tolist(),
        counts=counts.tolist(),
        n_characters=sum(map(len, data.texts)),
    )


def _detect_languages(data: Corpus) -> list[DetectedLanguage]:
    texts = sample_texts(data.texts)
    found = Counter(detect_language([text]) for text in texts)
    return [
        DetectedLanguage(
            code, "not detected" if code is None else LANGUAGES[code].name, n, n / len(texts)
        )
        for code, n in found.most_common()
    ]


def _summarize_features(data: FeatureMatrix) -> FeatureCounts:
    X = data.X
    n_stored = int(np.count_nonzero(X)) if isinstance(X, np.ndarray) else int(X.nnz)
    size = math.prod(X.shape)
    return FeatureCounts(int(X.shape[1]), n_stored / size if size else 0.0)


def _select_examples(data: Corpus, members: Mapping[str, list[int]]) -> list[Example]:
    """Select texts of each class whose length is nearest to the median of the class."""
    lengths = _count_words(data.texts)
    examples = []
    for label, indices in islice(members.items(), _MAX_EXAMPLE_CLASSES):
        distances = np.abs(lengths[indices] - np.median(lengths[indices]))
        nearest = np.argsort(distances, kind="stable")[:_N_EXAMPLES]
        examples += [
            Example(label, data.ids[i], data.texts[i][:_MAX_TEXT], len(data.texts[i]) > _MAX_TEXT)
            for i in np.array(indices)[nearest].tolist()
        ]
    return examples
