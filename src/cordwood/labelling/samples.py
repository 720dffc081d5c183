"""Samples to label: rows of data files, and the distinct texts in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from cordwood.datasets.values import clean_label, split_labels
from cordwood.exceptions import DataError
from cordwood.metrics.predictions import UNDECIDED, UNKNOWN_LABEL

Action = Literal["label", "skip", "unsure", "keep"]
ACTIONS: tuple[Action, ...] = get_args(Action)
WITH_LABELS = ("label", "keep")
"""Actions whose labels count."""

Labels = tuple[str, ...]
PLACEHOLDERS = (UNDECIDED, UNKNOWN_LABEL)
_Record = TypeVar("_Record", bound=BaseModel)


class Vote(NamedTuple):
    """A label that a rule, a language model or another model suggests."""

    source: str
    label: str
    confidence: float | None = None


class Annotation(NamedTuple):
    """What an annotator decided about a text."""

    annotator: str
    action: str
    labels: Labels = ()
    time: str = ""
    seconds: float = 0.0
    reason: str = ""  # why the text was chosen
    event: int = 0  # 0 in a data file


class Row(NamedTuple):
    """A row of a data file."""

    text: str
    columns: Mapping[str, Any]
    labels: Labels | None = None
    annotations: tuple[Annotation, ...] = ()
    votes: tuple[Vote, ...] = ()


@dataclass(eq=False)
class Sample:
    """A text, which may be that of several rows."""

    id: str
    text: str
    index: int
    rows: list[int] = field(default_factory=list)
    given: Labels | None = None
    votes: list[Vote] = field(default_factory=list)


def digest(text: str) -> str:
    """Return the identity of a text, wherever it is in the data.

    Examples
    --------
    >>> digest("Arrived late")[:16]
    '22918eba45d4b2bf'
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def collect_samples(rows: Iterable[Row]) -> dict[str, Sample]:
    """Return the distinct texts of rows; of contradictory labels, the first one counts."""
    samples: dict[str, Sample] = {}
    for position, row in enumerate(rows):
        id = digest(row.text)
        sample = samples.setdefault(id, Sample(id, row.text, len(samples)))
        sample.rows.append(position)
        sample.votes += [vote for vote in row.votes if vote not in sample.votes]
        if sample.given is None:
            sample.given = row.labels
    return samples


def parse_labels(
    value: Any, where: str, *, is_multilabel: bool, separator: str = ";"
) -> Labels | None:
    """Return the labels of a cell; None if it has none, or only those of an undecided prediction.

    Examples
    --------
    >>> parse_labels(" spam", "row 1", is_multilabel=False)
    ('spam',)
    >>> parse_labels("oil; gas", "row 1", is_multilabel=True)
    ('oil', 'gas')
    >>> parse_labels({"choices": ["oil", "gas"]}, "row 1", is_multilabel=True)  # Label Studio
    ('oil', 'gas')
    >>> parse_labels("__undecided__", "row 1", is_multilabel=False) is None
    True
    """
    if isinstance(value, Mapping):
        value = value.get("choices")
    if isinstance(value, str) and is_multilabel:
        found = split_labels(value, separator)
    else:
        listed = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        cleaned = (clean_label(str(each)) for each in listed if each is not None)
        found = tuple(dict.fromkeys(label for label in cleaned if label))
    found = tuple(label for label in found if label not in PLACEHOLDERS)
    if len(found) > 1 and not is_multilabel:
        raise DataError(f"{where} has {len(found)} labels; give --multilabel to label with several")
    return found or None


def parse_votes(columns: Mapping[str, Any], names: Iterable[str], where: str) -> tuple[Vote, ...]:
    """Return the suggestions in columns: a label, an object of confidences, or one per class.

    The confidence of a label is in a column of the same name with _confidence or _probability;
    those of classes are in columns such as probability:spam.

    Examples
    --------
    >>> parse_votes({"llm": "spam", "llm_confidence": "0.9"}, ["llm"], "row 1")
    (Vote(source='column llm', label='spam', confidence=0.9),)
    >>> found = parse_votes({"p:spam": 0.25, "p:ham": 0.75}, ["p"], "row 1")
    >>> [(vote.label, vote.confidence) for vote in found]
    [('ham', 0.75), ('spam', 0.25)]
    """
    votes: list[Vote] = []
    for name in names:
        value, prefix = columns.get(name), f"{name}:"
        if value is None:
            value = {
                column.removeprefix(prefix): each
                for column, each in columns.items()
                if column.startswith(prefix) and each not in (None, "")
            }
        if isinstance(value, Mapping):
            source = [(str(label), each) for label, each in value.items()]
        else:
            beside = (columns.get(f"{name}_{kind}") for kind in ("confidence", "probability"))
            confidence = next((each for each in beside if each not in (None, "")), None)
            labels = value if isinstance(value, list | tuple) else [value]
            source = [(str(label), confidence) for label in labels if label is not None]
        found = [
            Vote(f"column {name}", clean_label(label), _parse_confidence(each, name, where))
            for label, each in source
            if clean_label(label) and label not in PLACEHOLDERS
        ]
        votes += sorted(found, key=lambda vote: -(vote.confidence or 0.0))
    return tuple(votes)


def _parse_confidence(value: Any, column: str, where: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 1:
        raise DataError(
            f"{where}: the confidence {value!r:.50} of the column {column!r} is no number from 0 "
            "to 1; correct it, or omit --suggestions"
        )
    return number


def parse_time(value: Any) -> str:
    """Return a time of a data file, which is an ISO 8601 string or in seconds; "" if it is none."""
    try:
        if isinstance(value, int | float):
            value = datetime.fromtimestamp(value, UTC).isoformat()
        return datetime.fromisoformat(str(value)).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def validate(record: type[_Record], values: Mapping[str, Any], message: str) -> _Record:
    """Validate an object of a data file."""
    try:
        return record.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"{message}: {place}: {first['msg']}; correct it") from None
