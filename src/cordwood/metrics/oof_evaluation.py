"""Scores that a model is expected to have on new samples: the records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_N_WEAKEST = 3
_SOURCES = {
    "oob": "out-of-bag",
    "loo": "leave-one-out",
    "cv": "cross-validation",
    "prefit": "fitted on other samples",
}


@dataclass(frozen=True)
class ScoreInterval:
    """A score with its confidence interval.

    Parameters
    ----------
    value : float
        Estimate.
    low, high : float
        Limits of the confidence interval.

    Examples
    --------
    >>> print(ScoreInterval(0.9124, 0.9051, 0.9188))
    0.912 (0.905 to 0.919)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, kw_only=True)
class ClassEvaluation:
    """F1 of one class with its confidence interval.

    Parameters
    ----------
    label : object
        Class label.
    f1 : ScoreInterval
        F1 of the class.
    support : int
        Number of samples of the class.
    """

    label: Any
    f1: ScoreInterval
    support: int


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of a classifier with confidence intervals.

    Parameters
    ----------
    accuracy : ScoreInterval
        Share of correct predictions.
    macro_f1 : ScoreInterval
        Mean F1 of the classes.
    log_loss : ScoreInterval
        Mean negative logarithm of the probability of the true class, which is clipped to 1e-7.
    calibration_error : ScoreInterval
        Expected calibration error of the predicted class, in 15 bins of equally many samples.
    """

    accuracy: ScoreInterval
    macro_f1: ScoreInterval
    log_loss: ScoreInterval
    calibration_error: ScoreInterval

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One dict with `value`, `low` and `high` per score.
        """
        return {name: vars(interval).copy() for name, interval in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class OOFEvaluation:
    """Scores that a model is expected to have on new samples, estimated from its training data.

    Parameters
    ----------
    scores : Scores
        Scores of the model.
    classes : tuple of ClassEvaluation
        F1 of each class, from the lowest to the highest.
    baselines : mapping of str to Scores
        Scores of simple classifiers on the same samples.
    sources : mapping of str to str
        How the out-of-fold predictions were computed, as in `OOFPredictions`.
    n_samples : int
        Number of samples.
    n_groups : int or None
        Number of groups, which are resampled as a whole; None if samples are resampled.
    confidence_level : float
        Confidence level of the intervals.
    """

    scores: Scores
    classes: tuple[ClassEvaluation, ...]
    baselines: Mapping[str, Scores] = field(default_factory=dict)
    sources: Mapping[str, str]
    n_samples: int
    n_groups: int | None
    confidence_level: float

    @property
    def weakest_classes(self) -> tuple[ClassEvaluation, ...]:
        """The three classes with the lowest F1."""
        return self.classes[:_N_WEAKEST]

    @property
    def method(self) -> str:
        """How the scores were obtained, in one sentence without a period."""
        names: dict[str, list[str]] = {}
        for name, source in self.sources.items():
            names.setdefault(_SOURCES[source], []).append(name)
        if len(self.sources) == 1:
            how = next(iter(names))
        else:
            how = ", ".join(f"{source} of {', '.join(each)}" for source, each in names.items())
        unit = "samples" if self.n_groups is None else f"{self.n_groups:,} groups"
        return (
            f"out-of-fold predictions of {self.n_samples:,} training samples ({how}); "
            f"{self.confidence_level:.0%} intervals by bootstrap over {unit}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per field, and `method`; `classes` is a list of dicts.
        """
        return {
            **self.scores.to_dict(),
            "classes": [
                {"label": _to_builtin(each.label), "support": each.support, **vars(each.f1)}
                for each in self.classes
            ],
            "baselines": {name: scores.to_dict() for name, scores in self.baselines.items()},
            "sources": dict(self.sources),
            "n_samples": self.n_samples,
            "n_groups": self.n_groups,
            "confidence_level": self.confidence_level,
            "method": self.method,
        }

    def __str__(self) -> str:
        header = ("", "accuracy", "macro F1", "log loss", "calibration error")
        named = {"model": self.scores, **self.baselines}
        rows = [(name, *map(str, vars(scores).values())) for name, scores in named.items()]
        weakest = [
            (str(each.label), str(each.f1), f"{each.support:,}") for each in self.weakest_classes
        ]
        return "\n".join(
            [
                self.method,
                *_align([header, *rows]),
                *_align([("weakest classes", "F1", "samples"), *weakest]),
            ]
        )


def _align(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _to_builtin(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
