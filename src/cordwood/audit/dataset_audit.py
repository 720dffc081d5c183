"""Result of an audit: suspects, classes and words, as tables and as text."""

import html
from collections import Counter
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from cordwood._base.display import html_table, import_pandas
from cordwood.audit._revealing_words import RevealingWord
from cordwood.audit.confused_classes import ConfusedClasses
from cordwood.audit.dataset_check import Finding
from cordwood.audit.spellings import Spelling
from cordwood.audit.suspects import Suspect
from cordwood.exceptions import CordwoodError

KINDS = (
    "label error",
    "missing label",
    "contradictory label",
    "leakage",
    "duplicate",
    "near-duplicate",
    "empty text",
    "placeholder",
    "garbled text",
    "encoding error",
    "no letters",
    "outlier",
)
"""Kinds of suspects, in the order of a report."""

DROPPED_KINDS = ("missing label", "duplicate", "empty text", "placeholder", "garbled text")
"""Kinds of suspects that `DatasetAudit.fix` drops."""

RELABEL_CONFIDENCE = 0.95
"""Out-of-fold probability of the suggested label from which on `DatasetAudit.fix` relabels."""


class Fix(NamedTuple):
    """Changes that `DatasetAudit.fix` proposes.

    Parameters
    ----------
    dropped : tuple of int
        Positions of the samples to drop, sorted.
    relabelled : dict of int to object
        New label by the position of the sample.
    """

    dropped: tuple[int, ...]
    relabelled: dict[int, Any]


@dataclass(frozen=True, kw_only=True)
class DatasetAudit:
    """Result of `audit_dataset`.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    class_counts : dict of str to int
        Number of samples of each class, the largest class first.
    findings : tuple of Finding
        Problems of the labels as a whole: small classes, spellings, labels that look like ids.
    suspects : tuple of Suspect
        Samples that may be wrong, by kind in the order of `KINDS`, and within a kind the most
        suspect first. A sample may have several kinds.
    confused_classes : tuple of ConfusedClasses
        Pairs of classes that are hard to distinguish.
    revealing_words : tuple of RevealingWord
        Words that give the label away.
    spellings : tuple of Spelling
        Labels that are probably spellings of others.
    labels : tuple
        The label of each sample.
    accuracy : float or None
        Out-of-fold accuracy of the model, with the given labels as the truth; None without a model.

    Examples
    --------
    >>> from cordwood import audit_dataset, read_dataset
    >>> texts = ["cheap pills", "cheap watches", "lunch at noon", "lunch at one"] * 5
    >>> labels = ["spam", "spam", "ham", "ham"] * 5
    >>> data = read_dataset({"text": texts, "label": labels}, text="text", label="label")
    >>> audit = audit_dataset(data)
    >>> audit.class_counts
    {'spam': 10, 'ham': 10}
    >>> audit.select("duplicate")[0].index
    4
    """

    n_samples: int
    class_counts: dict[str, int]
    findings: tuple[Finding, ...]
    suspects: tuple[Suspect, ...]
    confused_classes: tuple[ConfusedClasses, ...]
    revealing_words: tuple[RevealingWord, ...]
    spellings: tuple[Spelling, ...]
    labels: tuple[Any, ...]
    accuracy: float | None

    @property
    def counts(self) -> dict[str, int]:
        """Number of suspects of each kind that occurs, in the order of `KINDS`."""
        found = Counter(suspect.kind for suspect in self.suspects)
        return {kind: found[kind] for kind in KINDS if kind in found}

    def select(self, kind: str) -> tuple[Suspect, ...]:
        """Return the suspects of one kind.

        Parameters
        ----------
        kind : str
            One of `KINDS`.

        Returns
        -------
        tuple of Suspect
        """
        if kind not in KINDS:
            raise CordwoodError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}")
        return tuple(suspect for suspect in self.suspects if suspect.kind == kind)

    def fix(self, *, relabel: bool = False) -> Fix:
        """Return the changes that can be made without a review.

        Parameters
        ----------
        relabel : bool, default=False
            Whether to replace labels if the suggested label has an out-of-fold probability of at
            least 0.95.

        Returns
        -------
        Fix
            Duplicates with the same label as an earlier sample, empty and garbled texts, and texts
            and labels that stand for a missing value are dropped. Confirmed spellings of a label
            are merged. Samples of the test set are not changed.
        """
        variants = {each.variant: each.label for each in self.spellings if each.is_confirmed}
        own = [suspect for suspect in self.suspects if not suspect.is_test]
        dropped = {suspect.index for suspect in own if suspect.kind in DROPPED_KINDS}
        relabelled = {
            suspect.index: suspect.suggested_label
            for suspect in own
            if relabel
            and suspect.kind == "label error"
            and suspect.confidence is not None
            and suspect.confidence >= RELABEL_CONFIDENCE
            and suspect.index not in dropped
        }
        merged = {
            index: variants[label]
            for index, label in enumerate(self.labels)
            if label in variants and index not in dropped
        }
        return Fix(tuple(sorted(dropped)), {**merged, **relabelled})

    def to_frame(self, table: str = "suspects") -> Any:
        """Convert one of the tables to a pandas DataFrame.

        Parameters
        ----------
        table : {"suspects", "confused_classes", "revealing_words", "spellings", "findings"}
            By default "suspects".

        Returns
        -------
        DataFrame
            One row per suspect, pair of classes, word or finding, with the fields of the record as
            columns.
        """
        kinds: dict[str, type[Any]] = {
            "suspects": Suspect,
            "confused_classes": ConfusedClasses,
            "revealing_words": RevealingWord,
            "spellings": Spelling,
            "findings": Finding,
        }
        if table not in kinds:
            raise CordwoodError(
                f"table must be one of {', '.join(map(repr, kinds))}; got {table!r}"
            )
        columns = [field.name for field in fields(kinds[table])]
        return import_pandas().DataFrame(map(asdict, getattr(self, table)), columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per field, and `counts`.
        """
        return {
            "n_samples": self.n_samples,
            "class_counts": dict(self.class_counts),
            "accuracy": self.accuracy,
            "counts": self.counts,
            "findings": [_to_json(asdict(finding)) for finding in self.findings],
            "suspects": [_to_json(asdict(suspect)) for suspect in self.suspects],
            "confused_classes": [_to_json(asdict(pair)) for pair in self.confused_classes],
            "spellings": [_to_json(asdict(each)) for each in self.spellings],
            "revealing_words": [_to_json(asdict(word)) for word in self.revealing_words],
        }

    def __str__(self) -> str:
        lines = [f"audit of {self.n_samples:,} samples of {len(self.class_counts):,} classes"]
        lines += [finding.message for finding in self.findings]
        lines += [
            f"{n:,} x {kind}: {describe(self.select(kind)[0])}" for kind, n in self.counts.items()
        ]
        lines += [describe_pair(pair) for pair in self.confused_classes]
        lines += [describe_word(word) for word in self.revealing_words]
        return "\n".join(lines if len(lines) > 1 else [*lines, "no findings"])

    def _repr_html_(self) -> str:
        title = f"audit of {self.n_samples:,} samples of {len(self.class_counts):,} classes"
        notes = [finding.message for finding in self.findings]
        notes += [describe_pair(pair) for pair in self.confused_classes]
        notes += [describe_word(word) for word in self.revealing_words]
        rows = [(kind, f"{n:,}", describe(self.select(kind)[0])) for kind, n in self.counts.items()]
        items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        table = html_table(title, ("problem", "samples", "example"), rows)
        return table + (f"<ul>{items}</ul>" if notes else "")


def describe(suspect: Suspect) -> str:
    """Describe a suspect in one line."""
    label = "" if suspect.label is None else f" ({suspect.label})"
    return f"{suspect.id}{label}: {suspect.reason}"


def describe_pair(pair: ConfusedClasses) -> str:
    """Describe two confused classes in one line."""
    a, b = pair.labels
    line = (
        f"{a} and {b} are hard to distinguish: {sum(pair.n_errors):,} samples, "
        f"{pair.error_rate:.0%} of both, are predicted as the other"
    )
    shown = [
        f"{label}: {', '.join(words)}"
        for label, words in zip(pair.labels, pair.words, strict=True)
        if words
    ]
    return f"{line}; words of {'; of '.join(shown)}" if shown else line


def describe_word(word: RevealingWord) -> str:
    """Describe a revealing word in one line."""
    kind = "" if word.kind == "word" else f" ({word.kind})"
    n_others = word.n_texts - word.n_texts_in_class
    return (
        f"{word.word!r}{kind} gives away {word.label}: in {word.n_texts_in_class:,} of its "
        f"{word.class_size:,} texts and in {n_others:,} of other classes"
    )


def _to_json(value: Any) -> Any:
    """Convert tuples to lists, and other objects to str."""
    if isinstance(value, dict):
        return {name: _to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
