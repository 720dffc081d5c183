"""The model card: metadata of a model file."""

import json
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from platform import python_version
from typing import Any

from cordwood._base import strict_json
from cordwood._schema.errors import Rejected, shorten
from cordwood.persist.sample_hashes import SampleHashes

PROTOCOL = 1

_PACKAGES = ("cordwood", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """How a model was trained, as far as its file states it.

    Parameters
    ----------
    fingerprint : str, optional
        Hash of the training data, as returned by `Corpus.fingerprint`.
    recipe : str, optional
        Name of the recipe.
    columns : dict, default={}
        Columns of the training file, such as ``{"text": ["title", "body"], "label": "topic"}``:
        names, or lists of names.
    training : dict of str to str, default={}
        Facts about the training, such as its time, which reports show.
    sample_hashes : str, optional
        Hashes of the training samples, as returned by `SampleHashes.encode` of
        `cordwood.persist.sample_hashes`.

    Examples
    --------
    >>> from cordwood.persist import TrainingRecord
    >>> record = TrainingRecord(recipe="nb", columns={"text": "body", "label": "topic"})
    >>> record.columns["label"]
    'topic'
    """

    fingerprint: str | None = None
    recipe: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    training: dict[str, str] = field(default_factory=dict)
    sample_hashes: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class ModelCard(TrainingRecord):
    """Metadata of a model file: those of `TrainingRecord`, and those of the file.

    Parameters
    ----------
    protocol : int
        Version of the file format.
    versions : dict of str to str
        Versions of Python and of the packages that wrote the file.
    created : str
        Time of writing in UTC, in ISO 8601 format.
    precision : {"compact", "full"}, default="compact"
        Precision of the coefficients.
    classes : tuple of str, default=()
        Labels as text, in the order of `classes_` of the model; empty if it has none.

    Examples
    --------
    >>> from cordwood.persist import ModelCard
    >>> card = ModelCard(protocol=1, versions={}, created="2026-11-18T12:00:00Z", recipe="nb")
    >>> card.recipe, card.precision, card.classes
    ('nb', 'compact', ())
    """

    protocol: int
    versions: dict[str, str]
    created: str
    precision: str = "compact"
    classes: tuple[str, ...] = ()


def make_card(model: Any, precision: str, provenance: TrainingRecord) -> ModelCard:
    """Make the card of a model that is about to be written."""
    return ModelCard(
        protocol=PROTOCOL,
        versions={"python": python_version(), **{name: version(name) for name in _PACKAGES}},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        precision=precision,
        classes=_list_classes(model),
        # By name, because the card of another file is a record too.
        **{each.name: getattr(provenance, each.name) for each in fields(TrainingRecord)},
    )


def check_classes(card: ModelCard, model: Any) -> None:
    """Raise Rejected unless the classes of a model are those of its card."""
    if card.classes != _list_classes(model):
        raise Rejected("has a model card with other classes than the model")


def _list_classes(model: Any) -> tuple[str, ...]:
    return tuple(str(label) for label in getattr(model, "classes_", ()))


def format_card(card: ModelCard) -> bytes:
    """Convert a card to JSON; raise Rejected if its columns, facts or hashes are not valid."""
    _check_record(card)
    return json.dumps(asdict(card), indent=2).encode()


def _check_record(record: TrainingRecord) -> None:
    try:
        if record.sample_hashes is not None:
            SampleHashes.decode(record.sample_hashes)
    except (TypeError, ValueError) as error:
        raise Rejected(f"has a model card with invalid hashes ({shorten(error)})") from None
    is_valid = isinstance(record.training, dict) and all(
        isinstance(text, str) for text in (*record.training, *record.training.values())
    )
    if not is_valid:
        raise Rejected("has a model card whose facts about the training are not texts")
    if not isinstance(record.columns, dict) or not all(map(_is_column, record.columns.values())):
        raise Rejected("has a model card whose columns are not names or lists of names")


def _is_column(column: Any) -> bool:
    names = column if isinstance(column, list) else [column]
    return bool(names) and all(isinstance(name, str) for name in names)


def parse_card(content: bytes) -> ModelCard:
    """Parse and validate the card of an untrusted file."""
    stored = strict_json.parse(content)
    protocol = stored["protocol"]
    if type(protocol) is not int or protocol < 1:
        raise Rejected(f"has no valid protocol number: {shorten(protocol)}")
    if protocol > PROTOCOL:
        raise Rejected(
            f"has protocol {protocol}, but cordwood {version('cordwood')} supports protocols up to "
            f"{PROTOCOL}; upgrade cordwood"
        )
    card = ModelCard(**{**stored, "classes": tuple(stored["classes"])})
    texts = (*card.versions, *card.versions.values(), card.created, card.precision, *card.classes)
    optional = [text for text in (card.fingerprint, card.recipe) if text is not None]
    if not all(isinstance(text, str) for text in (*texts, *optional)):
        raise Rejected("has a model card with a value of the wrong type")
    _check_record(card)
    return card
