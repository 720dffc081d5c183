"""Tasks of Label Studio, in its full JSON format."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, Field, field_validator

from cordwood.exceptions import DataError
from cordwood.labelling.samples import WITH_LABELS, Annotation, Row, Vote, parse_time, validate

CHOICES, TEXT = "label", "text"
"""Names in the labelling configuration."""


class _Result(BaseModel):
    type: str = ""
    value: dict[str, Any] = {}


class _Labelled(BaseModel):
    result: list[_Result] = []

    @property
    def labels(self) -> tuple[str, ...]:
        chosen = (each.value.get("choices") for each in self.result if each.type == "choices")
        lists = (each for each in chosen if isinstance(each, list))
        return tuple(dict.fromkeys(str(label) for each in lists for label in each))


class _Annotation(_Labelled):
    was_cancelled: bool = False
    annotator: str | None = None
    completed_by: Any = 1
    created_at: Any = None
    lead_time: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @field_validator("completed_by")
    @classmethod
    def _to_name(cls, by: Any) -> Any:
        return by.get("email") or by.get("id") if isinstance(by, dict) else by


class _Prediction(_Labelled):
    model_version: str | int | None = None
    score: float | None = None

    @field_validator("score")
    @classmethod
    def _to_confidence(cls, score: float | None) -> float | None:
        return score if score is not None and 0 <= score <= 1 else None  # it has any scale


class _Task(BaseModel):
    data: dict[str, Any]
    annotations: list[_Annotation] = []
    predictions: list[_Prediction | int] = []  # some exports have ids only


def matches(columns: Mapping[str, Any]) -> bool:
    """Return whether an object is a task."""
    parts = ("annotations", "predictions", "completions")
    return isinstance(columns.get("data"), Mapping) and any(part in columns for part in parts)


def read(columns: Mapping[str, Any], where: str, *, text: str | None) -> Row:
    """Convert a task; its text is that of the key `text`, or else of the only string."""
    task = validate(_Task, columns, f"{where}: no valid task of Label Studio")
    data = dict(task.data)
    strings = [key for key, value in data.items() if isinstance(value, str)]
    key = text or (TEXT if TEXT in data else strings[0] if len(strings) == 1 else None)
    if key is None or not isinstance(data.get(key), str):
        shown = ", ".join(data) or "none"
        raise DataError(f"{where}: name the key of the text with --text; the keys are: {shown}")
    votes = tuple(
        Vote(str(each.model_version or "prediction"), label, each.score)
        for each in task.predictions
        if not isinstance(each, int)
        for label in each.labels
    )
    annotations = tuple(
        Annotation(
            str(each.annotator or each.completed_by),
            "skip" if each.was_cancelled else "label",
            each.labels,
            parse_time(each.created_at),
            each.lead_time or 0.0,
        )
        for each in task.annotations
    )
    return Row(str(data.pop(key)), data, annotations=annotations, votes=votes)


def write(rows: Iterable[Row]) -> str:
    """Return tasks with an annotation per annotator, and the votes as predictions."""
    tasks = []
    for task, row in enumerate(rows, 1):
        annotations = [
            {
                # No field of Label Studio: its own, completed_by, may name its users only, and an
                # import without it is that of the user who imports.
                "annotator": each.annotator,
                "was_cancelled": each.action not in WITH_LABELS,
                "ground_truth": False,
                "lead_time": each.seconds,
                "created_at": each.time,
                "updated_at": each.time,
                "result": _make_result(each.labels if each.action in WITH_LABELS else ()),
            }
            for each in row.annotations
        ]
        predictions = [
            {
                "model_version": vote.source,
                "score": vote.confidence,
                "result": _make_result((vote.label,)),
            }
            for vote in row.votes
        ]
        data = {**row.columns, TEXT: row.text}
        tasks.append(
            {"id": task, "data": data, "annotations": annotations, "predictions": predictions}
        )
    return json.dumps(tasks, indent=1)


def _make_result(labels: tuple[str, ...]) -> list[dict[str, Any]]:
    if not labels:
        return []
    names = {"from_name": CHOICES, "to_name": TEXT, "type": "choices", "origin": "manual"}
    return [{"id": "choices", **names, "value": {"choices": list(labels)}}]
