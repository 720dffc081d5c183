"""Fields: conversion and validation of the fitted attributes of estimators.

Sizes have names, such as "n_features", which must agree over all attributes of an object.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cordwood.persist._errors import Rejected

if TYPE_CHECKING:
    from cordwood.persist._objects import ModelDecoder, ModelEncoder

Sizes = dict[str, int]

# Larger numbers could overflow to infinity when they are multiplied.
MAX_NUMBER = 1e100
FLOATS = "float64|float32"

_MAX_LABEL_LENGTH = 10_000


class Field(ABC):
    """A fitted attribute: conversion and validation.

    Parameters
    ----------
    optional : bool, default=False
        Whether the attribute may be missing.
    """

    def __init__(self, *, optional: bool = False) -> None:
        self.optional = optional

    def is_stored(self, name: str, owner: Any, encoder: "ModelEncoder") -> bool:
        """Return whether a file contains the attribute of a valid object."""
        return name in vars(owner)

    @abstractmethod
    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Convert a valid value of an attribute of `owner` to JSON."""

    @abstractmethod
    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Convert JSON of an untrusted file to a value, which `check` validates.

        `owner` has its parameters and the preceding attributes, which are not validated yet.
        """

    @abstractmethod
    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Return what the value must be, as the end of "must be ...", or None if it is valid."""


class Plain(Field):
    """A value of simple type that satisfies a condition.

    Parameters
    ----------
    description : str
        Completes the sentence "must be ...".
    accepts : callable
        Returns whether a value is valid.
    optional : bool, default=False
        Whether the attribute may be missing.
    """

    def __init__(
        self, description: str, accepts: Callable[[Any], bool], *, optional: bool = False
    ) -> None:
        super().__init__(optional=optional)
        self._description = description
        self._accepts = accepts

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Convert the value."""
        return encoder.values.encode(value)

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Convert the value."""
        return decoder.values.decode(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check the condition."""
        return None if self._accepts(value) else self._description


def number(low: float, high: float, *, optional: bool = False) -> Plain:
    """Return a field for a number between two bounds."""
    return Plain(
        f"a number from {low:g} to {high:g}",
        lambda value: (
            isinstance(value, int | float | np.integer | np.floating)
            and not isinstance(value, bool)
            and bool(low <= value <= high)
        ),
        optional=optional,
    )


def integer(low: int, high: int, *, optional: bool = False) -> Plain:
    """Return a field for an integer between two bounds."""
    return Plain(
        f"an integer from {low} to {high}",
        lambda value: (
            isinstance(value, int | np.integer)
            and not isinstance(value, bool)
            and bool(low <= value <= high)
        ),
        optional=optional,
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
    """A number of features or classes, which other attributes have as their size.

    Parameters
    ----------
    name : str
        Name of the size.
    bytes_each : int, default=0
        Memory that predictions take in proportion to the size.
    optional : bool, default=False
        Whether the attribute may be missing.
    """

    def __init__(self, name: str, *, bytes_each: int = 0, optional: bool = False) -> None:
        super().__init__(optional=optional)
        self._name = name
        self._bytes_each = bytes_each

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Convert the value."""
        encoder.budget.spend(self._bytes_each * int(value))
        return int(value)

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Convert the value."""
        if type(node) is int and 1 <= node < 2**31:
            decoder.budget.spend(self._bytes_each * node)
        return node

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Compare the value with the sizes of other attributes."""
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_integer or not 1 <= value < 2**31:
            return "an integer from 1 to 2**31 - 1"
        return match_sizes((self._name,), (int(value),), sizes)


class Array(Field):
    """An array of numbers.

    Parameters
    ----------
    dtype : str
        Type of the numbers; several types are separated by "|".
    shape : tuple of str or int
        Names of sizes, or sizes.
    low, high : float
        Bounds of the numbers.
    optional : bool, default=False
        Whether the attribute may be missing.
    nullable : bool, default=False
        Whether the attribute may be None.
    allow_nan : bool, default=False
        Whether numbers may be NaN.
    """

    def __init__(
        self,
        dtype: str,
        *shape: str | int,
        low: float = -MAX_NUMBER,
        high: float = MAX_NUMBER,
        optional: bool = False,
        nullable: bool = False,
        allow_nan: bool = False,
    ) -> None:
        super().__init__(optional=optional)
        self._allow_nan = allow_nan
        self._dtypes = dtype.split("|")
        self._shape = shape
        self._low, self._high = low, high
        self._nullable = nullable

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Store the array."""
        return None if value is None else encoder.arrays.add(value)

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Read the array."""
        return None if node is None else decoder.arrays.get(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check type, shape and range."""
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

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Store strings without common prefixes, and numbers as an array."""
        if value.dtype.kind == "U":
            longest = max(map(len, value.tolist()))
            width = min(value.dtype.itemsize // 4, max(longest, 256))
            return {"strings": encoder.arrays.add_strings(value.tolist()), "width": width}
        if value.dtype.kind == "O" and all(type(label) is str for label in value):
            return {"strings": encoder.arrays.add_strings(value.tolist())}
        if value.dtype.kind == "O":
            return {"values": [encoder.values.encode(label) for label in value]}
        return {"array": encoder.arrays.add(value)}

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Read the labels."""
        if not isinstance(node, dict):
            raise Rejected("has labels of the wrong structure")
        if "array" in node:
            return decoder.arrays.get(node["array"])
        if "values" in node:
            labels = decoder.values.decode(node["values"])
            if not isinstance(labels, list):
                raise Rejected("has labels of the wrong structure")
            return _to_object_array(labels)
        labels = decoder.arrays.get_strings(node.get("strings"))
        if "width" not in node:
            return _to_object_array(labels)
        longest, width = max(map(len, labels), default=0), node["width"]
        if type(width) is not int or not max(longest, 1) <= width <= max(longest, 256):
            raise Rejected("has labels of an invalid width")
        decoder.budget.spend(4 * width * len(labels))
        return np.array(labels, f"U{width}")

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check that the labels are sorted and unique."""
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
        if not all(a < b for a, b in zip(labels, labels[1:], strict=False)):
            return "sorted and without duplicates"
        if kinds <= {int, float} and not np.all(np.isfinite(np.array(labels, float))):
            return "finite"
        return match_sizes(("n_classes",), value.shape, sizes)


class FeatureNames(Field):
    """Names of the features, if the training samples had any."""

    def __init__(self) -> None:
        super().__init__(optional=True)

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Store the names."""
        return encoder.arrays.add_strings(value.tolist())

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Read the names."""
        return _to_object_array(decoder.arrays.get_strings(node))

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check that there is one name per feature."""
        is_array = isinstance(value, np.ndarray) and value.dtype.kind == "O"
        if not is_array or not all(type(name) is str for name in value):
            return "an array of strings"
        return match_sizes(("n_features",), value.shape, sizes)


def _to_object_array(values: list[Any]) -> NDArray[np.object_]:
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
