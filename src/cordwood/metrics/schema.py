"""Expected scores of a model in its file: a few numbers per class."""

import math
from dataclasses import fields
from typing import Any

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood.metrics.oof_evaluation import ClassEvaluation, OOFEvaluation, ScoreInterval, Scores
from cordwood.oof.schema import are_valid_sources

_SCORES = tuple(each.name for each in fields(Scores))
_KEYS = {each.name for each in fields(OOFEvaluation)}
_MAX_BASELINES, _MAX_NAME_LENGTH = 16, 100
# A probability of 1e-7, the lowest in the log loss, has less.
_MAX_LOG_LOSS = 100.0
_MAX_SAMPLES = 2**53


class EvaluationField(Field):
    """An `OOFEvaluation`; classes are stored by their position in `classes_`."""

    optional = True

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        """Store the scores."""
        codes = {label: code for code, label in enumerate(owner.classes_.tolist())}
        return {
            "scores": _list_intervals(value.scores),
            "classes": [
                [codes[each.label], each.support, *_list_interval(each.f1)]
                for each in value.classes
            ],
            "baselines": {
                name: _list_intervals(scores) for name, scores in value.baselines.items()
            },
            "sources": dict(value.sources),
            "n_samples": value.n_samples,
            "n_groups": value.n_groups,
            "confidence_level": value.confidence_level,
        }

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        """Read the scores."""
        if not isinstance(node, dict) or set(node) != _KEYS:
            raise Rejected("has expected scores of the wrong structure")
        labels = owner.classes_.tolist()
        if not isinstance(node["classes"], list) or len(node["classes"]) != len(labels):
            raise Rejected("has expected scores of an invalid number of classes")
        if not isinstance(node["baselines"], dict):
            raise Rejected("has expected scores with baselines of the wrong structure")
        return OOFEvaluation(
            **{
                **node,
                "scores": _read_scores(node["scores"]),
                "classes": tuple(_read_class(each, labels) for each in node["classes"]),
                "baselines": {name: _read_scores(each) for name, each in node["baselines"].items()},
            }
        )

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check types and ranges."""
        if not isinstance(value, OOFEvaluation) or not isinstance(value.classes, tuple):
            return "an OOFEvaluation"
        if not _is_count(value.n_samples) or not _is_level(value.confidence_level):
            return "an OOFEvaluation with a valid number of samples and confidence level"
        if value.n_groups is not None and not 1 <= _count(value.n_groups) <= value.n_samples:
            return "an OOFEvaluation with a valid number of groups"
        if not are_valid_sources(value.sources):
            return "an OOFEvaluation with valid sources"
        if not isinstance(value.baselines, dict) or len(value.baselines) > _MAX_BASELINES:
            return "an OOFEvaluation with few baselines"
        if not all(isinstance(each, str) for each in value.baselines) or not all(
            0 < len(each) <= _MAX_NAME_LENGTH for each in value.baselines
        ):
            return "an OOFEvaluation with short names of baselines"
        if not all(_are_scores(each) for each in (value.scores, *value.baselines.values())):
            return "an OOFEvaluation with scores in their ranges"
        if not all(
            isinstance(each, ClassEvaluation) and _is_interval(each.f1, 1.0)
            for each in value.classes
        ):
            return "an OOFEvaluation with the F1 of each class"
        if sum(_count(each.support) for each in value.classes) != value.n_samples:
            return "an OOFEvaluation with as many samples as its classes"
        return None


def _list_interval(interval: ScoreInterval) -> list[float]:
    return [float(interval.value), float(interval.low), float(interval.high)]


def _list_intervals(scores: Scores) -> list[list[float]]:
    return [_list_interval(getattr(scores, name)) for name in _SCORES]


def _read_interval(node: Any) -> ScoreInterval:
    if not isinstance(node, list) or len(node) != 3:
        raise Rejected("has expected scores whose intervals have not three numbers")
    return ScoreInterval(*node)


def _read_scores(node: Any) -> Scores:
    if not isinstance(node, list) or len(node) != len(_SCORES):
        raise Rejected("has expected scores of an invalid number")
    return Scores(**{name: _read_interval(each) for name, each in zip(_SCORES, node, strict=True)})


def _read_class(node: Any, labels: list[Any]) -> ClassEvaluation:
    if not isinstance(node, list) or len(node) != 5:
        raise Rejected("has expected scores of a class of the wrong structure")
    code, support, *interval = node
    if type(code) is not int or not 0 <= code < len(labels):
        raise Rejected("has expected scores of unknown classes")
    return ClassEvaluation(label=labels[code], support=support, f1=_read_interval(interval))


def _count(value: Any) -> int:
    """Return a number of samples or groups, or -1 if it is none."""
    return value if type(value) is int and 0 <= value <= _MAX_SAMPLES else -1


def _is_count(value: Any) -> bool:
    return _count(value) > 0


def _is_level(value: Any) -> bool:
    return type(value) is float and 0 < value < 1


def _are_scores(scores: Any) -> bool:
    if not isinstance(scores, Scores):
        return False
    limits = {"log_loss": _MAX_LOG_LOSS}
    return all(_is_interval(getattr(scores, name), limits.get(name, 1.0)) for name in _SCORES)


def _is_interval(interval: Any, high: float) -> bool:
    return isinstance(interval, ScoreInterval) and all(
        type(each) is float and math.isfinite(each) and 0 <= each <= high
        for each in (interval.value, interval.low, interval.high)
    )
