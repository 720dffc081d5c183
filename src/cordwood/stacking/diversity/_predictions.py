"""What the members of an ensemble answered, checked: the only place that sees labels."""

from collections.abc import Iterable
from numbers import Number
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError

_KINDS = {"U": "text", **dict.fromkeys("biuf", "numbers")}


class Named(Protocol):
    """Labels by name: a mapping, or a data frame with a column for each member."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Give names and labels."""


Answers = Named | Iterable[ArrayLike]


def encode(answers: Answers) -> NDArray[np.intp]:
    """Give each label a number, the same for all members; shape (n_members, n_rows)."""
    labels = np.stack(list(_read(answers).values()))
    # The inverse is flat in NumPy 1 and of the input's shape in NumPy 2.
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def find_right(answers: Answers, y: ArrayLike) -> NDArray[np.bool_]:
    """Tell where each member answered right; shape (n_members, n_rows)."""
    members = _read(answers)
    truth = _read_labels("y", y)
    for name, labels in members.items():
        _check_alike(name, labels, "y", truth)
    return np.stack([labels == truth for labels in members.values()])


def _read(answers: Answers) -> dict[str, NDArray[Any]]:
    """Bring answers to labels by name, equally many for each member and of one kind."""
    # A data frame is no Mapping, but has its method.
    pairs = answers.items() if hasattr(answers, "items") else enumerate(answers)
    read: dict[str, NDArray[Any]] = {}
    for name, labels in pairs:
        member = f"answers[{name!r}]"
        if member in read:
            raise CordwoodError(f"{member} is there twice; give each member a name of its own")
        read[member] = _read_labels(member, labels)
    if not read:
        raise CordwoodError("answers has no members; give the labels of at least one")
    first, *others = read
    for other in others:
        _check_alike(other, read[other], first, read[first])
    return read


def _read_labels(name: str, values: Any) -> NDArray[Any]:
    """Bring labels to an array of text or of numbers."""
    # NumPy would make text of the numbers and gaps in a list of text.
    labels = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    if labels.ndim != 1:
        raise CordwoodError(
            f"{name} is of shape {labels.shape}, and must have one label for each row; answers are "
            "what `predict` gives, one member after another"
        )
    if not labels.size:
        raise CordwoodError(f"{name} has no rows; give at least one label")
    read = _unpack(labels) if labels.dtype.kind in "OT" else labels
    if read.dtype.kind not in _KINDS or (read.dtype.kind == "f" and np.isnan(read).any()):
        row, odd = _find_odd(labels.tolist())
        raise CordwoodError(f"{name} has {odd!r} in row {row}; give text in all rows, or numbers")
    return read


def _unpack(labels: NDArray[Any]) -> NDArray[Any]:
    """Find the common type of labels that are Python objects, if it is text or numbers."""
    values = labels.tolist()
    kinds = _kinds_of(values[0])
    return np.array(values) if all(isinstance(value, kinds) for value in values) else labels


def _find_odd(values: list[Any]) -> tuple[int, Any]:
    """Find the first row without a label, or with one of another kind than the first."""
    kinds = _kinds_of(values[0])
    for row, value in enumerate(values):
        if not isinstance(value, kinds) or value != value:
            return row, value
    return 0, values[0]


def _kinds_of(label: Any) -> tuple[type, ...]:
    return (str,) if isinstance(label, str) else (Number, np.bool_)


def _check_alike(name: str, labels: NDArray[Any], other: str, others: NDArray[Any]) -> None:
    """Refuse labels that cannot be compared row by row."""
    if len(labels) != len(others):
        raise CordwoodError(
            f"{name} has {len(labels)} labels and {other} has {len(others)}; give each member's "
            "answers for all rows, one member after another"
        )
    kind, other_kind = _KINDS[labels.dtype.kind], _KINDS[others.dtype.kind]
    if kind != other_kind:
        raise CordwoodError(
            f"{name} has {kind}, such as {labels[0].item()!r}, where {other} has {other_kind}, "
            f"such as {others[0].item()!r}; give the same labels in both"
        )
