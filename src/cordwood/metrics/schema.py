"""Expected scores of a model in its file: a few numbers per class."""

from typing import Any

import numpy as np

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood.metrics.scores import SCORE_NAMES, ClassScores, Evaluation, Score
from cordwood.oof.schema import are_valid_sources

_KEYS = {
    "scores",
    "classes",
    "baselines",
    "sources",
    "n_samples",
    "n_groups",
    "confidence_level",
    "confusion",
}
_MAX_BASELINES, _MAX_NAME_LENGTH = 16, 100
# A probability of 1e-7, the lowest in the log loss, has less.
_MAX_LOG_LOSS = 100.0
_MAX_SAMPLES = 2**53
_OF_ONE_LABEL = {"accuracy", "macro_f1", "log_loss", "calibration_error"}


class EvaluationField(Field):
    """An `Evaluation` of training samples; classes are stored by their position in `classes_`."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        """Store the scores."""
        if value is None:
            return None
        codes = {label: code for code, label in enumerate(owner.classes_.tolist())}
        confusion = value.confusion
        return {
            "scores": _list_scores(value.scores),
            "classes": [
                [codes[each.label], each.support, each.precision, each.recall, *_list(each.f1)]
                for each in value.classes
            ],
            "baselines": {name: _list_scores(scores) for name, scores in value.baselines.items()},
            "sources": dict(value.sources),
            "n_samples": value.n_samples,
            "n_groups": value.n_groups,
            "confidence_level": value.confidence_level,
            "confusion": None if confusion is None else encoder.add_array(confusion),
        }

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        """Read the scores."""
        if node is None:
            return None
        if not isinstance(node, dict) or set(node) != _KEYS:
            raise Rejected("has expected scores of the wrong structure")
        labels = owner.classes_.tolist()
        if not isinstance(node["classes"], list) or len(node["classes"]) > len(labels):
            raise Rejected("has expected scores of an invalid number of classes")
        if not isinstance(node["baselines"], dict):
            raise Rejected("has expected scores with baselines of the wrong structure")
        confusion = node["confusion"]
        return Evaluation(
            **{
                **node,
                "scores": _read_scores(node["scores"]),
                "classes": tuple(_read_class(each, labels) for each in node["classes"]),
                "baselines": {name: _read_scores(each) for name, each in node["baselines"].items()},
                "confusion": None if confusion is None else decoder.get_array(confusion),
            }
        )

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check types, ranges, and that the numbers of samples agree."""
        if value is None:
            return None
        if not isinstance(value, Evaluation) or not isinstance(value.classes, tuple):
            return "an Evaluation"
        if not _is_count(value.n_samples) or not _is_level(value.confidence_level):
            return "an Evaluation with a valid number of samples and confidence level"
        if value.n_groups is not None and not 1 <= _count(value.n_groups) <= value.n_samples:
            return "an Evaluation with a valid number of groups"
        if not are_valid_sources(value.sources):
            return "an Evaluation with valid sources"
        if not isinstance(value.baselines, dict) or len(value.baselines) > _MAX_BASELINES:
            return "an Evaluation with few baselines"
        if not all(isinstance(each, str) for each in value.baselines) or not all(
            0 < len(each) <= _MAX_NAME_LENGTH for each in value.baselines
        ):
            return "an Evaluation with short names of baselines"
        if not all(_are_scores(each) for each in (value.scores, *value.baselines.values())):
            return "an Evaluation with scores in their ranges"
        if not all(_is_class(each, value.n_samples) for each in value.classes):
            return "an Evaluation with the scores of each class"
        labels = [each.label for each in value.classes]
        if len(set(labels)) < len(labels):
            return "an Evaluation with distinct classes"
        if value.confusion is not None and not _is_confusion(value.confusion, value):
            return "an Evaluation with the number of samples by true and predicted class"
        return None


def _list(score: Score) -> list[float | None]:
    return [float(score), score.low, score.high]


def _list_scores(scores: Any) -> dict[str, list[float | None]]:
    return {name: _list(score) for name, score in scores.items()}


def _read_score(node: Any) -> Score:
    if not isinstance(node, list) or len(node) != 3 or not isinstance(node[0], float):
        raise Rejected("has expected scores whose intervals have not three numbers")
    return Score(*node)


def _read_scores(node: Any) -> dict[str, Score]:
    if not isinstance(node, dict):
        raise Rejected("has expected scores of the wrong structure")
    return {name: _read_score(each) for name, each in node.items()}


def _read_class(node: Any, labels: list[Any]) -> ClassScores:
    if not isinstance(node, list) or len(node) != 7:
        raise Rejected("has expected scores of a class of the wrong structure")
    code, support, precision, recall, *f1 = node
    if type(code) is not int or not 0 <= code < len(labels):
        raise Rejected("has expected scores of unknown classes")
    return ClassScores(
        label=labels[code],
        support=support,
        precision=precision,
        recall=recall,
        f1=_read_score(f1),
    )


def _count(value: Any) -> int:
    """Return a number of samples or groups, or -1 if it is none."""
    return value if type(value) is int and 0 <= value <= _MAX_SAMPLES else -1


def _is_count(value: Any) -> bool:
    return _count(value) > 0


def _is_level(value: Any) -> bool:
    return type(value) is float and 0 < value < 1


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 <= value <= 1


def _are_scores(scores: Any) -> bool:
    if not isinstance(scores, dict) or set(scores) not in (_OF_ONE_LABEL, set(SCORE_NAMES)):
        return False
    limits = {"log_loss": _MAX_LOG_LOSS}
    return all(_is_score(each, limits.get(name, 1.0)) for name, each in scores.items())


def _is_score(score: Any, high: float) -> bool:
    if not isinstance(score, Score) or not isinstance(score.low, float):
        return False
    return isinstance(score.high, float) and 0 <= score.low <= score <= score.high <= high


def _is_class(each: Any, n_samples: int) -> bool:
    return (
        isinstance(each, ClassScores)
        and _is_score(each.f1, 1.0)
        and _is_share(each.precision)
        and _is_share(each.recall)
        and 0 <= _count(each.support) <= n_samples
    )


def _is_confusion(confusion: Any, value: Evaluation) -> bool:
    shape = (len(value.classes), len(value.classes))
    return (
        isinstance(confusion, np.ndarray)
        and confusion.dtype == np.int64
        and confusion.shape == shape
        and bool((confusion >= 0).all())
        and confusion.sum(axis=1).tolist() == [each.support for each in value.classes]
        and int(confusion.sum()) == value.n_samples
    )
