"""Check of labelled data before training: labels, empty and duplicate texts, leakage."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cordwood._base.wording import count, shorten, show_label
from cordwood.audit._text_quality import is_placeholder
from cordwood.audit.near_duplicates import cluster_samples
from cordwood.audit.spellings import Spelling, find_spellings
from cordwood.audit.suspects import DEFINITIONS, Suspect, find_leakage, find_repeated
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError

# Cross-validation with fewer samples leaves some folds without the class.
_MIN_CLASS_SIZE = 5

# With this many classes, and fewer than three samples in each on average, labels look like ids.
_MIN_ID_CLASSES = 20
_MAX_ID_CLASS_SIZE = 3

# With more distinct numbers, labels look like a quantity; ratings have few.
_MAX_NUMBERS = 20

_N_EXAMPLES = 3
_MAX_SHOWN = 40

# A check before training must not take longer than the training: the time to find similar texts
# grows with the square of their number.
_MAX_SIMILAR = 200_000

_ADVICE = {
    "contradictory label": "correct the labels",
    "duplicate": "keep them together when you split the data",
    "near-duplicate": "keep them together when you split the data",
    "leakage": "remove them, because a model is better on samples that it knows",
}

_SEPARATORS = (";", "|", ",")

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
)
_ID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")


@dataclass(frozen=True)
class Finding:
    """Something in the data that makes a classifier worse, or its score too good.

    Parameters
    ----------
    kind : str
        What it is, such as "empty text".
    message : str
        One sentence with numbers, examples and advice.
    ids : tuple of str, default=()
        Ids of the samples, if the finding concerns single samples.
    """

    kind: str
    message: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetCheck:
    """Result of `check_dataset`.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    class_counts : dict of str to int
        Number of samples of each class, the largest class first.
    findings : tuple of Finding
        What was found; empty if nothing was.

    Examples
    --------
    >>> from cordwood import check_dataset, read_dataset
    >>> labels = ["spam", "Spam", "ham", "ham"] * 5
    >>> table = {"text": [f"text {i}" for i in range(20)], "label": labels}
    >>> check = check_dataset(read_dataset(table, text="text", label="label"))
    >>> for finding in check.findings:
    ...     print(finding.message.partition(";")[0])
    1 label is spelled in several ways, which makes 1 class too many: 'spam' (5) and 'Spam' (5)
    """

    n_samples: int
    class_counts: dict[str, int]
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return "\n".join(finding.message for finding in self.findings) or "no findings"


def check_dataset(
    data: Corpus | FeatureMatrix, *, test: Corpus | FeatureMatrix | None = None
) -> DatasetCheck:
    """Look for mistakes in labelled data before training.

    Finds classes of fewer than five samples, labels that differ only by case, white space or
    one letter, labels that look like dates, numbers, ids or lists, empty texts and cells such as
    NULL, equal and similar texts with the same or with different labels, and test samples that are
    equal or similar to training samples. Of more than 200,000 texts, only equal ones are found.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        Labelled samples.
    test : Corpus or FeatureMatrix, optional
        Test samples, to be compared with `data`.

    Returns
    -------
    DatasetCheck
        Class counts and findings.

    Raises
    ------
    DataError
        If the samples have no labels.

    See Also
    --------
    audit_dataset : Lists each sample, and looks for wrong labels and unusual texts too.
    find_near_duplicates : Defines which texts are equal or similar.

    Examples
    --------
    >>> from cordwood import Corpus
    >>> texts = ["it purrs", "it barks", "it meows", "it barks", " "]
    >>> labels = ["cat", "dog", "Cat ", "cat", "dog"]
    >>> corpus = Corpus(texts=texts, ids=list("12345"), labels=labels)
    >>> check = check_dataset(corpus)
    >>> [finding.kind for finding in check.findings]
    ['small classes', 'spellings', 'empty text', 'contradictory label']
    >>> check.findings[1].message  # doctest: +ELLIPSIS
    "1 label is spelled in several ways, ...: 'cat' (2) and 'Cat␠' (1); unify the spelling"
    """
    if data.labels is None:
        raise DataError("the samples have no labels; check_dataset needs labelled samples")
    labels = [str(label) for each in data.labels for label in _as_tuple(each)]
    counts = Counter(labels)
    findings = [
        *check_labels(counts, data.multilabel, find_spellings(counts, _list_texts(data))),
        *_check_texts(data),
        *_summarize(find_repeated(data, cluster_samples(data, max_similar=_MAX_SIMILAR))),
        *(() if test is None else _summarize(_find_leakage(data, test))),
    ]
    return DatasetCheck(len(data), dict(counts.most_common()), tuple(findings))


def check_labels(
    counts: Counter[str], multilabel: bool, found: Sequence[Spelling]
) -> Iterator[Finding]:
    """Find small classes, labels that are spelled in several ways, and labels of another kind."""
    odd = None if multilabel else _find_odd_labels(counts)
    if odd is not None:
        yield odd
    # Another spelling is no class of its own.
    merged: Counter[str] = Counter()
    target = {each.variant: each.label for each in found}
    for label, n in counts.items():
        merged[target.get(label, label)] += n
    small = [(label, n) for label, n in merged.most_common() if n < _MIN_CLASS_SIZE]
    # If labels look like ids, all classes are small for that reason.
    if small and odd is None:
        shown = _enumerate(f"{shorten(show_label(label), _MAX_SHOWN)} ({n})" for label, n in small)
        yield Finding(
            "small classes",
            f"{count(len(small), 'class has', 'classes have')} fewer than {_MIN_CLASS_SIZE} "
            f"samples: {shown}; label more of them, or merge or remove them",
        )
    missing = [label for label in counts if is_placeholder(str(label), is_label=True)]
    if missing:
        shown = _enumerate(f"{show_label(label)} ({counts[label]})" for label in missing)
        yield Finding(
            "missing label",
            f"{count(len(missing), 'label stands', 'labels stand')} for a missing value: {shown}; "
            "label these samples, or leave them out",
        )
    spellings: dict[Any, list[Any]] = defaultdict(list)
    for each in found:
        spellings[each.label].append(each.variant)
    if spellings:
        shown = _enumerate(
            " and ".join(
                f"{shorten(show_label(each), _MAX_SHOWN)!r} ({counts[each]})"
                for each in (label, *variants)
            )
            for label, variants in spellings.items()
        )
        n_more = sum(map(len, spellings.values()))
        yield Finding(
            "spellings",
            f"{count(len(spellings), 'label is', 'labels are')} spelled in several ways, which "
            f"makes {count(n_more, 'class', 'classes')} too many: {shown}; unify the spelling",
        )


def _find_odd_labels(counts: Counter[str]) -> Finding | None:
    """Find labels that look as if another column had been meant."""
    labels = list(counts)
    n_samples = counts.total()
    example = f"such as {shorten(labels[0], _MAX_SHOWN)!r}"
    if _most(_DATE.fullmatch(label.strip()) for label in labels):
        return Finding("dates", f"the labels look like dates, {example}; check the label column")
    if _most(_ID.fullmatch(label.strip()) for label in labels):
        return Finding("ids", f"the labels look like ids, {example}; check the label column")
    if len(labels) > _MAX_NUMBERS and _most(_is_number(label) for label in labels):
        return Finding(
            "numbers",
            f"the labels look like a quantity: {len(labels):,} distinct numbers, {example}; check "
            "the label column, or group them into classes",
        )
    for separator in _SEPARATORS:
        parts = {part.strip() for label in labels for part in label.split(separator)}
        n_lists = sum(counts[label] for label in labels if separator in label)
        # Lists of a few labels in many combinations have fewer labels than combinations.
        if n_lists >= 0.1 * n_samples and len(parts) < len(labels):
            listed = next(label for label in labels if separator in label)
            return Finding(
                "lists",
                f"the labels look like lists separated by {separator!r}, such as "
                f"{shorten(listed, _MAX_SHOWN)!r}: {len(labels):,} combinations of "
                f"{len(parts):,} labels; read them with label_separator={separator!r} / "
                f"--label-separator {separator!r}",
            )
    if len(labels) >= _MIN_ID_CLASSES and n_samples < _MAX_ID_CLASS_SIZE * len(labels):
        return Finding(
            "ids",
            f"there are {len(labels):,} classes for {n_samples:,} samples, {example}; check the "
            "label column",
        )
    return None


def _list_texts(data: Corpus | FeatureMatrix) -> Sequence[str]:
    return data.texts if isinstance(data, Corpus) else ()


def _check_texts(data: Corpus | FeatureMatrix) -> Iterator[Finding]:
    if not isinstance(data, Corpus):
        return
    ids = tuple(id for id, text in zip(data.ids, data.texts, strict=True) if not text.strip())
    if ids:
        yield Finding(
            "empty text",
            f"{count(len(ids), 'text is', 'texts are')} empty: {_enumerate(ids)}; remove "
            f"{'it' if len(ids) == 1 else 'them'}, or check the text column",
            ids,
        )
    ids = tuple(
        id
        for id, text in zip(data.ids, data.texts, strict=True)
        if text and is_placeholder(text, is_label=False)
    )
    if ids:
        yield Finding(
            "placeholder",
            f"{count(len(ids), 'text stands', 'texts stand')} for a missing value, such as NULL: "
            f"{_enumerate(ids)}; remove {'it' if len(ids) == 1 else 'them'}",
            ids,
        )


def _find_leakage(data: Corpus | FeatureMatrix, test: Corpus | FeatureMatrix) -> Iterator[Suspect]:
    near = cluster_samples(data, test, max_similar=_MAX_SIMILAR)
    return find_leakage(data, test, near.cluster, is_test=True)


def _summarize(suspects: Iterable[Suspect]) -> Iterator[Finding]:
    """Return one finding for each kind of suspects."""
    by_kind = defaultdict(list)
    for suspect in suspects:
        by_kind[suspect.kind].append(suspect)
    for kind, found in sorted(by_kind.items()):
        subject = "test sample" if kind == "leakage" else "sample"
        yield Finding(
            kind,
            f"{count(len(found), f'{subject} is', f'{subject}s are')} {DEFINITIONS[kind]}: "
            f"{_enumerate(map(_describe, found))}; {_ADVICE[kind]}",
            tuple(suspect.id for suspect in found),
        )


def _describe(suspect: Suspect) -> str:
    text = f" {shorten(suspect.text, _MAX_SHOWN)!r}" if suspect.text else ""
    return f"{suspect.id}{text} ({suspect.reason})"


def _as_tuple(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _most(matches: Iterable[object]) -> bool:
    found = list(map(bool, matches))
    return bool(found) and sum(found) >= 0.9 * len(found)


def _enumerate(items: Iterable[str] | Sequence[str]) -> str:
    items = iter(items)
    shown = list(islice(items, _N_EXAMPLES))
    n_more = sum(1 for _ in items)
    return ", ".join(shown) + (f" and {n_more:,} more" if n_more else "")
