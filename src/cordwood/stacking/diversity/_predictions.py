"""Validation and encoding of the predictions of ensemble members."""

from collections.abc import Iterable
from numbers import Number
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError

_KINDS = {"U": "strings", **dict.fromkeys("biuf", "numbers")}


class NamedPredictions(Protocol):
    """Predicted labels by name: a mapping, or a data frame with one column per member."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return names and predicted labels."""


Predictions = NamedPredictions | Iterable[ArrayLike]


def encode(predictions: Predictions) -> NDArray[np.intp]:
    """Return integer codes of the labels, of shape (n_members, n_samples)."""
    labels = np.stack(list(_read(predictions).values()))
    # The inverse is flat in NumPy 1 and has the shape of the input in NumPy 2.
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def is_correct(predictions: Predictions, y: ArrayLike) -> NDArray[np.bool_]:
    """Return where predictions equal the true labels, of shape (n_members, n_samples)."""
    members = _read(predictions)
    true_labels = _read_labels("y", y)
    for name, labels in members.items():
        _check_comparable(name, labels, "y", true_labels)
    return np.stack([labels == true_labels for labels in members.values()])


def _read(predictions: Predictions) -> dict[str, NDArray[Any]]:
    """Return labels by name, of the same length and kind for all members."""
    # A data frame is no Mapping, but has the method `items`.
    pairs = predictions.items() if hasattr(predictions, "items") else enumerate(predictions)
    members: dict[str, NDArray[Any]] = {}
    for key, labels in pairs:
        name = f"predictions[{key!r}]"
        if name in members:
            raise CordwoodError(f"{name} is duplicated; give each member a distinct name.")
        members[name] = _read_labels(name, labels)
    if not members:
        raise CordwoodError("predictions must contain at least one member; got none.")
    first, *others = members
    for other in others:
        _check_comparable(other, members[other], first, members[first])
    return members


def _read_labels(name: str, values: Any) -> NDArray[Any]:
    """Return labels as an array of strings or numbers."""
    # NumPy would convert numbers and None in a list of strings to strings.
    labels = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    if labels.ndim != 1:
        raise CordwoodError(
            f"{name} must be one-dimensional, as returned by `predict`; got shape {labels.shape}."
        )
    if not labels.size:
        raise CordwoodError(f"{name} must contain at least one label; it is empty.")
    read = _unpack_objects(labels) if labels.dtype.kind in "OT" else labels
    if read.dtype.kind not in _KINDS or (read.dtype.kind == "f" and np.isnan(read).any()):
        position, label = _find_invalid(labels.tolist())
        raise CordwoodError(
            f"{name} must contain only strings or only numbers; got {label!r} at position "
            f"{position}."
        )
    return read


def _unpack_objects(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert Python objects to an array of strings or numbers, if they are of one kind."""
    values = labels.tolist()
    types = _label_types(values[0])
    return np.array(values) if all(isinstance(value, types) for value in values) else labels


def _find_invalid(values: list[Any]) -> tuple[int, Any]:
    """Return the first label that is missing or not of the kind of the first label."""
    types = _label_types(values[0])
    for position, value in enumerate(values):
        if not isinstance(value, types) or value != value:
            return position, value
    return 0, values[0]


def _label_types(label: Any) -> tuple[type, ...]:
    return (str,) if isinstance(label, str) else (Number, np.bool_)


def _check_comparable(name: str, labels: NDArray[Any], other: str, others: NDArray[Any]) -> None:
    """Raise an error if labels differ in length or kind."""
    if len(labels) != len(others):
        raise CordwoodError(
            f"{name} and {other} must have the same length; got {len(labels)} and {len(others)} "
            "labels."
        )
    kind, other_kind = _KINDS[labels.dtype.kind], _KINDS[others.dtype.kind]
    if kind != other_kind:
        raise CordwoodError(
            f"{name} and {other} must contain the same kind of labels; got {kind}, e.g. "
            f"{labels[0].item()!r}, and {other_kind}, e.g. {others[0].item()!r}."
        )
