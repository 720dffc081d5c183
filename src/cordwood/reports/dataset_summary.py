"""Summary of a data set before any model: from samples to plain values."""

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.audit.dataset_audit import DatasetAudit, describe_word
from cordwood.audit.dataset_check import Finding, check_dataset
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.text.languages import LANGUAGES, detect_language, sample_texts

_N_BINS = 24
_N_EXAMPLES = 2
_MAX_TEXT = 400
_MAX_EXAMPLE_CLASSES = 50
_MAX_IDS = 20
_MAX_SUSPECTS = 20


def summarize_dataset(
    data: Corpus | FeatureMatrix,
    *,
    name: str,
    test: Corpus | FeatureMatrix | None = None,
    audit: DatasetAudit | None = None,
) -> dict[str, Any]:
    """Summarize a data set.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        Labelled samples.
    name : str
        Name of the data set.
    test : Corpus or FeatureMatrix, optional
        Test samples, to be compared with `data`.
    audit : DatasetAudit, optional
        Result of `audit_dataset`, which replaces the check of the data.

    Returns
    -------
    dict
        Numbers, texts, lists and dicts.
    """
    check = audit or check_dataset(data, test=test)
    return {
        "kind": "dataset",
        "name": name,
        "fingerprint": data.fingerprint(),
        "n_samples": len(data),
        "n_test": None if test is None else len(test),
        "n_groups": len(set(data.groups)) if data.groups else None,
        "split": dict(Counter(data.split or ()).most_common()),
        "multilabel": data.multilabel,
        "n_skipped": len(data.skipped),
        "skipped": list(data.skipped[:3]),
        "classes": _summarize_classes(data, check.class_counts),
        "lengths": _summarize_lengths(data) if isinstance(data, Corpus) else None,
        "languages": _detect_languages(data) if isinstance(data, Corpus) else [],
        "features": None if isinstance(data, Corpus) else _summarize_features(data),
        "findings": [finding_to_dict(finding) for finding in check.findings],
        "audit": None if audit is None else summarize_audit(audit),
        "examples": (
            _select_examples(data, list(check.class_counts)) if isinstance(data, Corpus) else []
        ),
    }


def summarize_audit(audit: DatasetAudit, n_suspects: int = _MAX_SUSPECTS) -> dict[str, Any]:
    """Return an audit as plain values, with the first suspects of each kind only."""
    found = audit.to_dict()
    suspects: dict[str, list[Any]] = {kind: [] for kind in audit.counts}
    for suspect in found["suspects"]:
        if len(suspects[suspect["kind"]]) < n_suspects:
            suspects[suspect["kind"]].append(suspect)
    return {
        "accuracy": audit.accuracy,
        "counts": audit.counts,
        "suspects": suspects,
        "confused_classes": found["confused_classes"],
        "revealing_words": [describe_word(word) for word in audit.revealing_words],
    }


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values, with the first ids only."""
    return {
        "kind": finding.kind,
        "message": finding.message,
        "n_samples": len(finding.ids),
        "ids": list(finding.ids[:_MAX_IDS]),
    }


def _summarize_classes(
    data: Corpus | FeatureMatrix, counts: dict[str, int]
) -> list[dict[str, Any]]:
    lengths = _count_words(data.texts) if isinstance(data, Corpus) else None
    members: dict[str, list[int]] = {label: [] for label in counts}
    for i, label in enumerate(data.labels or ()):
        for each in label if isinstance(label, tuple) else (label,):
            members[str(each)].append(i)
    return [
        {
            "label": label,
            "n_samples": n,
            "share": n / len(data),
            "median_words": None if lengths is None else float(np.median(lengths[members[label]])),
        }
        for label, n in counts.items()
    ]


def _count_words(texts: tuple[str, ...]) -> NDArray[np.int64]:
    return np.array([len(text.split()) for text in texts], dtype=np.int64)


def _summarize_lengths(data: Corpus) -> dict[str, Any]:
    words = _count_words(data.texts)
    longest = int(words.max(initial=1))
    # Empty texts are counted in the first bin, which begins at one word.
    edges = np.unique(np.round(np.geomspace(1, longest + 1, _N_BINS + 1)))
    if len(edges) < 2:
        edges = np.array([1.0, 2.0])
    counts, _ = np.histogram(np.maximum(words, 1), edges)
    quantiles = np.quantile(words, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]).tolist()
    return {
        "quantiles": dict(zip(("0", "5", "25", "50", "75", "95", "100"), quantiles, strict=True)),
        "mean": float(words.mean()),
        "n_empty": int((words == 0).sum()),
        "edges": edges.tolist(),
        "counts": counts.tolist(),
        "n_characters": sum(map(len, data.texts)),
    }


def _detect_languages(data: Corpus) -> list[dict[str, Any]]:
    """Return the detected language of a sample of the texts, the most frequent first."""
    texts = sample_texts(data.texts)
    found = Counter(detect_language([text]) for text in texts)
    return [
        {
            "code": code,
            "name": "not detected" if code is None else LANGUAGES[code].name,
            "n": n,
            "share": n / len(texts),
        }
        for code, n in found.most_common()
    ]


def _summarize_features(data: FeatureMatrix) -> dict[str, Any]:
    X = data.X
    n_stored = int(np.count_nonzero(X)) if isinstance(X, np.ndarray) else int(X.nnz)
    return {
        "n_features": int(X.shape[1]),
        "density": n_stored / math.prod(X.shape) if math.prod(X.shape) else 0.0,
    }


def _select_examples(data: Corpus, classes: list[str]) -> list[dict[str, Any]]:
    """Select texts of each class whose length is nearest to the median of the class."""
    lengths = _count_words(data.texts)
    members: dict[str, list[int]] = {label: [] for label in classes[:_MAX_EXAMPLE_CLASSES]}
    for i, label in enumerate(data.labels or ()):
        for each in label if isinstance(label, tuple) else (label,):
            if str(each) in members:
                members[str(each)].append(i)
    examples = []
    for label, indices in members.items():
        distances = np.abs(lengths[indices] - np.median(lengths[indices]))
        nearest = np.argsort(distances, kind="stable")[:_N_EXAMPLES]
        examples += [
            {
                "label": label,
                "id": data.ids[indices[i]],
                "text": data.texts[indices[i]][:_MAX_TEXT],
                "is_shortened": len(data.texts[indices[i]]) > _MAX_TEXT,
            }
            for i in nearest.tolist()
        ]
    return examples
