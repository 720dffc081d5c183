"""Lines of JSON of Prodigy: one decision of an annotator each."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from cordwood.labelling.samples import WITH_LABELS, Annotation, Row, Vote, parse_time, validate

_KEYS = ("text", "label", "meta", "config", "score", "options", "accept", "answer")


class _Task(BaseModel):
    text: str
    label: str | int | None = None
    accept: list[str | int] | None = None
    # It is accepted if nothing is stated, as by `prodigy db-in`.
    decision: Literal["accept", "reject", "ignore"] = Field(default="accept", alias="answer")
    meta: dict[str, Any] = {}
    annotator: str | int | None = Field(default=None, alias="_annotator_id")
    session: str | int | None = Field(default=None, alias="_session_id")
    timestamp: Any = Field(default=None, alias="_timestamp")


def matches(columns: Mapping[str, Any]) -> bool:
    """Return whether an object is a task."""
    is_task = "answer" in columns or "_view_id" in columns or "_task_hash" in columns
    return is_task and isinstance(columns.get("text"), str)


def read(columns: Mapping[str, Any], where: str) -> Row:
    """Convert a task, of one label that is accepted or rejected, or of a choice.

    A rejected label becomes a suggestion of probability 0, because it does not name the true one.
    """
    task = validate(_Task, columns, f"{where}: no valid task of Prodigy")
    annotator = str(task.annotator or task.session or "prodigy")
    votes: tuple[Vote, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    label = () if task.label is None else (task.label,)
    labels = tuple(map(str, label if task.accept is None else task.accept))
    if task.decision == "reject":
        votes = tuple(Vote(f"rejected by {annotator}", each, 0.0) for each in labels)
    elif task.decision == "ignore":
        annotations = (Annotation(annotator, "skip", (), parse_time(task.timestamp)),)
    elif labels or task.accept is not None:
        annotations = (Annotation(annotator, "label", labels, parse_time(task.timestamp)),)
    context = {
        name: value
        for name, value in columns.items()
        if name not in _KEYS and not name.startswith("_")
    }
    return Row(task.text, {**task.meta, **context}, annotations=annotations, votes=votes)


def write(rows: Iterable[Row], classes: list[str], *, is_multilabel: bool) -> str:
    """Return one line per decision."""
    options = [{"id": label, "text": label} for label in classes]
    style = "multiple" if is_multilabel else "single"
    lines = []
    for row in rows:
        for each in row.annotations:
            is_skipped = each.action not in WITH_LABELS
            task: dict[str, Any] = {
                "text": row.text,
                "meta": dict(row.columns),
                "options": options,
                "accept": [] if is_skipped else list(each.labels),
                "config": {"choice_style": style},
                "answer": "ignore" if is_skipped else "accept",
                "_view_id": "choice",
                "_annotator_id": each.annotator,
                "_session_id": each.annotator,
            }
            if each.time:
                task["_timestamp"] = int(datetime.fromisoformat(each.time).timestamp())
            lines.append(json.dumps(task) + "\n")
    return "".join(lines)
