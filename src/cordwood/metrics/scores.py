"""Records of scores: with confidence intervals, by class, and beside baselines."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cordwood._base.display import html_table, import_pandas

SCORE_NAMES: Mapping[str, str] = {
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "samples_f1": "sample F1",
    "ranking_precision": "ranking precision",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
}
"""Scores and their names for people."""

_N_WEAKEST = 3
# Width of the interval of the accuracy from which on it is put into words.
_WIDE = 0.15
_SOURCES = {
    "oob": "out-of-bag",
    "loo": "leave-one-out",
    "cv": "cross-validation",
    "prefit": "fitted on other samples",
}


class Score(float):
    """A score with its confidence interval: a float with limits.

    Parameters
    ----------
    value : float
        Estimate.
    low, high : float or None, default=None
        Limits of the confidence interval, if it is known.

    Examples
    --------
    >>> accuracy = Score(0.9124, 0.9051, 0.9188)
    >>> print(accuracy, f"{accuracy:.2f}", accuracy > 0.9)
    0.912 (0.905 to 0.919) 0.91 True
    """

    low: float | None
    high: float | None

    def __new__(cls, value: float, low: float | None = None, high: float | None = None) -> Self:
        """Make a float with limits."""
        score = super().__new__(cls, value)
        score.low, score.high = low, high
        return score

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.low, self.high

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{float(self):.3f}"
        return f"{float(self):.3f} ({self.low:.3f} to {self.high:.3f})"

    def to_dict(self) -> dict[str, float | None]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            `value`, `low` and `high`.
        """
        return {"value": float(self), "low": self.low, "high": self.high}


def describe_share(value: float, what: str = "right") -> str:
    """Put a share into words for everyone, with the interval if it is a `Score`.

    >>> describe_share(Score(0.884, 0.87, 0.897)), describe_share(0.91, "decided")
    ('88 of 100 right, give or take 1', '91 of 100 decided')
    >>> describe_share(Score(0.9934, 0.991, 0.995))
    '993 of 1,000 right, give or take 2'
    """
    low, high = getattr(value, "low", None), getattr(value, "high", None)
    margin = None if low is None or high is None else max(value - low, high - value)
    # Of 1,000 if the interval is narrower than one of 100.
    total = 1000 if margin is not None and 0 < margin < 0.0075 else 100
    words = f"{total * float(value):.0f} of {total:,} {what}"
    return words if not margin else f"{words}, give or take {total * margin:.0f}"


def describe_difference(found: Score, expected: Score) -> str:
    """State whether an accuracy is the one that was expected from training, and why not.

    >>> describe_difference(Score(0.9, 0.87, 0.93), Score(0.89, 0.88, 0.9))
    '89 of 100 right, give or take 1, was expected from training; the difference may be chance'
    """
    sentence = f"{describe_share(expected)}, was expected from training"
    # The samples are independent, so that the squares of the half widths add up.
    widths = ((each.high or each) - (each.low or each) for each in (found, expected))
    difference = found - expected
    if abs(difference) <= math.hypot(*(width / 2 for width in widths)):
        return f"{sentence}; the difference may be chance"
    if difference > 0:
        return f"{sentence}; it is significantly more here: these samples are easier"
    return (
        f"{sentence}; it is significantly less here: these samples are harder than the training "
        "samples, or different from them, or the training samples contain many copies"
    )


@dataclass(frozen=True, kw_only=True)
class ClassScores:
    """Precision, recall and F1 of one class.

    Parameters
    ----------
    label : object
        Class label.
    precision : float
        Share of the samples predicted as this class that belong to it; 0 if there are none.
    recall : float
        Share of the samples of this class that are predicted as it; 0 if there are none.
    f1 : Score
        Harmonic mean of precision and recall; 0 if both are 0.
    support : int
        Number of samples of this class.

    Examples
    --------
    >>> from cordwood import TextClassifier
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> labels = ["+", "+", "-", "-"] * 5
    >>> evaluation = TextClassifier("nb").fit(texts, labels).evaluate(texts, labels)
    >>> print([(scores.label, scores.support) for scores in evaluation.classes])
    [('+', 10), ('-', 10)]
    """

    label: Any
    precision: float
    recall: float
    f1: Score
    support: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores of a model, on labelled samples or expected from its training data.

    Parameters
    ----------
    scores : mapping of str to Score
        `accuracy` (share of samples without error), `macro_f1` (mean F1 of the classes),
        `log_loss` (mean negative logarithm of the probability of the truth, clipped to 1e-7) and
        `calibration_error` (expected calibration error, in 15 bins of equally many predictions).
        With several labels per sample also `micro_f1` (F1 of all pairs of a sample and a label),
        `samples_f1` (mean F1 of the samples) and `ranking_precision` (label ranking average
        precision).
    classes : tuple of ClassScores
        Scores of the classes that occur among the true or the predicted ones, sorted by label.
    n_samples : int
        Number of samples.
    confusion : ndarray of shape (n_classes, n_classes) or None, default=None
        Number of samples by true (rows) and predicted class (columns), in the order of `classes`;
        None with several labels per sample.
    unseen_labels : mapping, default={}
        True labels that were not in the training set, with their number of samples. They count as
        errors.
    baselines : mapping of str to mapping of str to Score, default={}
        Scores of simple classifiers on the same samples.
    sources : mapping of str to str, default={}
        How the out-of-fold predictions were computed, as in `OOFPredictions`; empty if the samples
        are not the training samples.
    n_groups : int or None, default=None
        Number of groups, which are resampled as a whole; None if samples are resampled.
    confidence_level : float, default=0.95
        Confidence level of the intervals.

    Examples
    --------
    >>> from cordwood import TextClassifier
    >>> texts, labels = ["good", "so good", "bad", "so bad"] * 5, ["+", "+", "-", "-"] * 5
    >>> model = TextClassifier("nb").fit(texts, labels)
    >>> evaluation = model.evaluate(["bad", "good", "so good"], ["-", "+", "-"])
    >>> round(evaluation.accuracy, 3), evaluation.confused_pairs()
    (0.667, [('-', '+', 1)])
    """

    scores: Mapping[str, Score]
    classes: tuple[ClassScores, ...]
    n_samples: int
    confusion: NDArray[np.int64] | None = None
    unseen_labels: Mapping[Any, int] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, Score]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    n_groups: int | None = None
    confidence_level: float = 0.95

    @property
    def sentence(self) -> str:
        """The accuracy in words, such as "88 of 100 right, give or take 1"."""
        what = "with exactly the right labels" if self.is_multilabel else "right"
        return describe_share(self.accuracy, what)

    @property
    def accuracy(self) -> Score:
        """Share of samples without error."""
        return self.scores["accuracy"]

    @property
    def macro_f1(self) -> Score:
        """Mean F1 of the classes."""
        return self.scores["macro_f1"]

    @property
    def log_loss(self) -> Score:
        """Mean negative logarithm of the probability of the truth."""
        return self.scores["log_loss"]

    @property
    def calibration_error(self) -> Score:
        """Expected calibration error."""
        return self.scores["calibration_error"]

    @property
    def is_multilabel(self) -> bool:
        """Whether samples have several labels."""
        return "micro_f1" in self.scores

    @property
    def weakest_classes(self) -> tuple[ClassScores, ...]:
        """The three classes with the lowest F1."""
        return tuple(sorted(self.classes, key=lambda each: each.f1)[:_N_WEAKEST])

    @property
    def method(self) -> str:
        """How the scores were obtained, in one sentence without a period."""
        unit = "" if self.n_groups is None else f" over {self.n_groups:,} groups"
        intervals = f"{self.confidence_level:.0%} intervals{unit}{self._caution}"
        if not self.sources:
            return f"predictions of {self.n_samples:,} samples; {intervals}"
        names: dict[str, list[str]] = {}
        for name, source in self.sources.items():
            names.setdefault(_SOURCES[source], []).append(name)
        if len(self.sources) == 1:
            how = next(iter(names))
        else:
            how = ", ".join(f"{source} of {', '.join(each)}" for source, each in names.items())
        return (
            f"out-of-fold predictions of {self.n_samples:,} training samples ({how}); {intervals}"
        )

    @property
    def _caution(self) -> str:
        """What to say if the accuracy is hardly known; else empty."""
        low, high = self.accuracy.low, self.accuracy.high
        if low is None or high is None or high - low <= _WIDE:
            return ""
        return (
            f"; so few samples show little: the accuracy may be anything from {100 * low:.0f} to "
            f"{100 * high:.0f} %"
        )

    def confused_pairs(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """List the most frequent errors.

        Parameters
        ----------
        n : int, default=10
            Maximum number of pairs.

        Returns
        -------
        list of (true label, predicted label, number of samples)
            Most frequent first; empty with several labels per sample.
        """
        if self.confusion is None:
            return []
        errors = self.confusion.copy()
        np.fill_diagonal(errors, 0)
        order = np.argsort(-errors, axis=None, kind="stable")[:n]
        pairs = zip(*np.unravel_index(order, errors.shape), strict=True)
        labels = [each.label for each in self.classes]
        return [(labels[i], labels[j], int(errors[i, j])) for i, j in pairs if errors[i, j]]

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per score, with its limits, and one per further field.
        """
        return {
            "n_samples": self.n_samples,
            **_to_dicts(self.scores),
            "classes": [
                {**vars(each), "label": _to_builtin(each.label), "f1": each.f1.to_dict()}
                for each in self.classes
            ],
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "unseen_labels": {_to_builtin(k): n for k, n in self.unseen_labels.items()},
            "baselines": {name: _to_dicts(scores) for name, scores in self.baselines.items()},
            "sources": dict(self.sources),
            "n_groups": self.n_groups,
            "confidence_level": self.confidence_level,
            "method": self.method,
        }

    def to_frame(self) -> Any:
        """Convert the scores of the classes to a pandas DataFrame.

        Returns
        -------
        DataFrame
            Columns `precision`, `recall`, `f1`, `f1_low`, `f1_high` and `support`, by label.
        """
        records = [
            {
                "label": each.label,
                "precision": each.precision,
                "recall": each.recall,
                "f1": float(each.f1),
                "f1_low": each.f1.low,
                "f1_high": each.f1.high,
                "support": each.support,
            }
            for each in self.classes
        ]
        return import_pandas().DataFrame(records).set_index("label")

    def __str__(self) -> str:
        header = ("", *(SCORE_NAMES[name] for name in self.scores))
        named = {"model": self.scores, **self.baselines}
        rows = [(name, *map(str, scores.values())) for name, scores in named.items()]
        return "\n".join(
            [self.method, *_align([header, *rows]), *_align([_HEADER, *map(_format, self.classes)])]
        )

    def _repr_html_(self) -> str:
        summary = ", ".join(f"{SCORE_NAMES[name]} {score}" for name, score in self.scores.items())
        return html_table(summary, _HEADER, [*map(_format, self.classes)])


_HEADER = ("class", "precision", "recall", "F1", "samples")


def _format(each: ClassScores) -> tuple[str, ...]:
    shares = (f"{each.precision:.3f}", f"{each.recall:.3f}", str(each.f1))
    return str(each.label), *shares, f"{each.support:,}"


def _align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _to_dicts(scores: Mapping[str, Score]) -> dict[str, dict[str, float | None]]:
    return {name: score.to_dict() for name, score in scores.items()}


def _to_builtin(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
