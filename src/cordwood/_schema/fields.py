"""Fields: conversion and validation of the fitted attributes of estimators.

Sizes have names, such as "n_features", which must agree over all attributes of an object.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cordwood._schema.errors import Rejected
from cordwood._schema.interface import Interface

Sizes = dict[str, int]

# Larger numbers could overflow to infinity when they are multiplied.
MAX_NUMBER = 1e100
FLOATS = "float64|float32"

_MAX_LABEL_LENGTH = 10_000


class Encoder(Protocol):
    """What `save` provides to fields: storage of arrays, and conversion of nested values."""

    is_compact: bool  # whether coefficients may be rounded
    bundles_encoder: bool  # whether the file contains the sentence encoders
    # Largest Euclidean norm of the samples of the estimator that is being encoded.
    input_norm: float | None

    def encode(self, model: Any) -> Any: ...
    def encode_value(self, value: Any) -> Any: ...
    def interface_of(self, model: Any) -> Interface: ...
    def add_array(self, array: NDArray[Any]) -> int: ...
    def add_strings(self, strings: Sequence[str]) -> dict[str, int]: ...

    # `save` and `load` count memory with the same calls, so that a file is not written if `load`
    # would find it too large.
    def spend(self, n_bytes: int) -> None: ...


class Decoder(Protocol):
    """What `load` provides to fields: arrays and nested values of an untrusted file."""

    def decode(self, node: Any) -> Any: ...
    def decode_value(self, node: Any) -> Any: ...
    def trusts(self, kind: type) -> bool: ...
    def get_array(self, number: Any) -> NDArray[Any]: ...
    def get_strings(self, node: Any) -> list[str]: ...
    def spend(self, n_bytes: int) -> None: ...


class Field(ABC):
    """A fitted attribute: conversion and validation."""

    optional: bool = False  # whether the attribute may be missing

    def is_stored(self, name: str, owner: Any, encoder: Encoder) -> bool:
        """Return whether a file contains the attribute of a valid object."""
        return name in vars(owner)

    @abstractmethod
    def encode(self, value: Any, encoder: Encoder, owner: Any) -> Any:
        """Convert a valid value of an attribute of `owner` to JSON."""

    @abstractmethod
    def decode(self, node: Any, decoder: Decoder, owner: Any) -> Any:
        """Convert JSON of an untrusted file to a value, which `check` validates.

        `owner` has its parameters and the preceding attributes, which are not validated yet.
        """

    @abstractmethod
    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Return what the value must be, as the end of "must be ...", or None if it is valid."""


class Plain(Field):
    """A value of simple type that satisfies a condition; `description` completes "must be ..."."""

    def __init__(
        self, description: str, accepts: Callable[[Any], bool], *, optional: bool = False
    ) -> None:
        self._description = description
        self._accepts = accepts
        self.optional = optional

    def encode(self, value: Any, encoder: Encoder, owner: Any) -> Any:
        return encoder.encode_value(value)

    def decode(self, node: Any, decoder: Decoder, owner: Any) -> Any:
        return decoder.decode_value(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        return None if self._accepts(value) else self._description


def number(low: float, high: float) -> Plain:
    """Return a field for a number between two bounds."""
    return Plain(
        f"a number from {low:g} to {high:g}",
        lambda value: (
            isinstance(value, int | float | np.integer | np.floating)
            and not isinstance(value, bool)
            and bool(low <= value <= high)
        ),
    )


def integer(low: int, high: int) -> Plain:
    """Return a field for an integer between two bounds."""
    return Plain(
        f"an integer from {low} to {high}",
        lambda value: (
            isinstance(value, int | np.integer)
            and not isinstance(value, bool)
            and bool(low <= value <= high)
        ),
    )


def choice(*choices: Any) -> Plain:
    """Return a field for one of some strings or booleans."""
    return Plain(
        f"one of {', '.join(map(repr, choices))}",
        lambda value: isinstance(value, str | bool) and value in choices,
    )


def text() -> Plain:
    """Return a field for a short string."""
    return Plain("a short string", lambda value: isinstance(value, str) and len(value) <= 10_000)


class Size(Field):
    """A number of features or classes, which other attributes have as their size."""

    def __init__(self, name: str, *, bytes_each: int = 0, optional: bool = False) -> None:
        self._name = name
        # Memory that predictions take in proportion to the size.
        self._bytes_each = bytes_each
        self.optional = optional

    def encode(self, value: Any, encoder: Encoder, owner: Any) -> Any:
        encoder.spend(self._bytes_each * int(value))
        return int(value)

    def decode(self, node: Any, decoder: Decoder, owner: Any) -> Any:
        if type(node) is int and 1 <= node < 2**31:
            decoder.spend(self._bytes_each * node)
        return node

    def check(self, value: Any, sizes: Sizes) -> str | None:
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_integer or not 1 <= value < 2**31:
            return "an integer from 1 to 2**31 - 1"
        return match_sizes((self._name,), (int(value),), sizes)


class Array(Field):
    """An array of numbers of some types, "float64|float32", and a shape of sizes or their names."""

    def __init__(
        self,
        dtype: str,
        *shape: str | int,
        low: float = -MAX_NUMBER,
        high: float = MAX_NUMBER,
        nullable: bool = False,
        allow_nan: bool = False,
    ) -> None:
        self._allow_nan = allow_nan
        self._dtypes = dtype.split("|")
        self._shape = shape
        self._low, self._high = low, high
        self._nullable = nullable

    def encode(self, value: Any, encoder: Encoder, owner: Any) -> Any:
        return None if value is None else encoder.add_array(value)

    def decode(self, node: Any, decoder: Decoder, owner: Any) -> Any:
        return None if node is None else decoder.get_array(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if value is None and self._nullable:
            return None
        if not isinstance(value, np.ndarray) or value.dtype.name not in self._dtypes:
            return f"an array of {' or '.join(self._dtypes)}"
        if problem := match_sizes(self._shape, value.shape, sizes):
            return problem
        low, high = self._low, self._high
        if value.dtype.kind == "f":
            # Bounds beyond the range of the type would overflow.
            largest = float(np.finfo(value.dtype).max)
            low = max(low, -largest) if np.isfinite(low) else low
            high = min(high, largest) if np.isfinite(high) else high
        is_valid = (value >= low) & (value <= high)
        if self._allow_nan:
            is_valid |= np.isnan(value)
        if not is_valid.all():
            return f"between {self._low:g} and {self._high:g}"
        return None


class Labels(Field):
    """Sorted distinct class labels: strings, numbers or booleans."""

    def encode(self, value: Any, encoder: Encoder, owner: Any) -> Any:
        if value.dtype.kind == "U":
            longest = max(map(len, value.tolist()))
            width = min(value.dtype.itemsize // 4, max(longest, 256))
            return {"strings": encoder.add_strings(value.tolist()), "width": width}
        if value.dtype.kind == "O" and all(type(label) is str for label in value):
            return {"strings": encoder.add_strings(value.tolist())}
        if value.dtype.kind == "O":
            return {"values": [encoder.encode_value(label) for label in value]}
        return {"array": encoder.add_array(value)}

    def decode(self, node: Any, decoder: Decoder, owner: Any) -> Any:
        if not isinstance(node, dict):
            raise Rejected("has labels of the wrong structure")
        if "array" in node:
            return decoder.get_array(node["array"])
        if "values" in node:
            labels = decoder.decode_value(node["values"])
            if not isinstance(labels, list):
                raise Rejected("has labels of the wrong structure")
            return to_object_array(labels)
        labels = decoder.get_strings(node.get("strings"))
        if "width" not in node:
            return to_object_array(labels)
        longest, width = max(map(len, labels), default=0), node["width"]
        if type(width) is not int or not max(longest, 1) <= width <= max(longest, 256):
            raise Rejected("has labels of an invalid width")
        decoder.spend(4 * width * len(labels))
        return np.array(labels, f"U{width}")

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
            return "a one-dimensional array of labels"
        if value.dtype.kind not in "UObiuf":
            return "an array of strings, numbers or booleans"
        labels = value.tolist()
        kinds = {type(label) for label in labels}
        if not kinds <= {str} and not kinds <= {bool} and not kinds <= {int, float}:
            return "labels of one type: strings, numbers or booleans"
        if kinds == {str} and max(map(len, labels)) > _MAX_LABEL_LENGTH:
            return f"labels of at most {_MAX_LABEL_LENGTH:,} characters"
        if not all(a < b for a, b in pairwise(labels)):
            return "sorted and without duplicates"
        if kinds <= {int, float} and not np.all(np.isfinite(np.array(labels, float))):
            return "finite"
        return match_sizes(("n_classes",), value.shape, sizes)


class FeatureNames(Field):
    """Names of the features, if the training samples had any."""

    optional = True

    def encode(self, value: Any, encoder: Encoder, owner: Any) -> Any:
        return encoder.add_strings(value.tolist())

    def decode(self, node: Any, decoder: Decoder, owner: Any) -> Any:
        return to_object_array(decoder.get_strings(node))

    def check(self, value: Any, sizes: Sizes) -> str | None:
        is_array = isinstance(value, np.ndarray) and value.dtype.kind == "O"
        if not is_array or not all(type(name) is str for name in value):
            return "an array of strings"
        return match_sizes(("n_features",), value.shape, sizes)


def to_object_array(values: list[Any]) -> NDArray[np.object_]:
    """Return a one-dimensional array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def match_sizes(names: tuple[str | int, ...], shape: tuple[int, ...], sizes: Sizes) -> str | None:
    """Compare a shape with named sizes, and add names that are new; return the problem if any."""
    if len(names) != len(shape):
        return f"of {len(names)} dimensions"
    for name, size in zip(names, shape, strict=True):
        expected = sizes.setdefault(name, size) if isinstance(name, str) else name
        if expected != size:
            return f"of shape ({', '.join(map(str, names))}), with {name} = {expected}"
    return None
