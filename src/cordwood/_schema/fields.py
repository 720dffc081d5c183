"""Fields for numbers, strings, arrays, labels and names of features."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes, match_sizes
from cordwood._schema.errors import Rejected

# Larger numbers could overflow to infinity when they are multiplied.
MAX_NUMBER = 1e100
FLOATS = "float64|float32"

_MAX_LABEL_LENGTH = 10_000
# Of the objects that labels become when they are checked and compared.
_BYTES_PER_LABEL = 64


class Plain(Field):
    """A value of simple type that satisfies a condition; `description` completes "must be ..."."""

    def __init__(
        self, description: str, accepts: Callable[[Any], bool], *, optional: bool = False
    ) -> None:
        self._description = description
        self._accepts = accepts
        self.optional = optional

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return encoder.encode_value(value)

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        encoder.spend(self._bytes_each * int(value))
        return int(value)

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return None if value is None else encoder.add_array(value)

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        encoder.spend(_BYTES_PER_LABEL * value.size)
        if value.dtype.kind == "U":
            longest = max(map(len, value.tolist()))
            width = min(value.dtype.itemsize // 4, max(longest, 256))
            encoder.spend(4 * width * len(value))
            return {"strings": encoder.add_strings(value.tolist()), "width": width}
        if value.dtype.kind == "O" and all(type(label) is str for label in value):
            return {"strings": encoder.add_strings(value.tolist())}
        if value.dtype.kind == "O":
            return {"values": [encoder.encode_value(label) for label in value]}
        return {"array": encoder.add_array(value)}

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict):
            raise Rejected("has labels of the wrong structure")
        if "array" in node:
            array = decoder.get_array(node["array"])
            decoder.spend(_BYTES_PER_LABEL * array.size)
            return array
        if "values" in node:
            labels = decoder.decode_value(node["values"])
            if not isinstance(labels, list):
                raise Rejected("has labels of the wrong structure")
            return to_object_array(labels)
        labels = decoder.get_strings(node.get("strings"))
        decoder.spend(_BYTES_PER_LABEL * len(labels))
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

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return encoder.add_strings(value.tolist())

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return to_object_array(decoder.get_strings(node))

    def check(self, value: Any, sizes: Sizes) -> str | None:
        is_array = isinstance(value, np.ndarray) and value.dtype.kind == "O"
        if not is_array or not all(type(name) is str for name in value):
            return "an array of strings"
        return match_sizes(("n_features",), value.shape, sizes)


def classifier_fields(bytes_per_feature: int = 0) -> dict[str, Field]:
    """Return the fields that classifiers of a feature matrix have in common."""
    return {
        "classes_": Labels(),
        "n_features_in_": Size("n_features", bytes_each=bytes_per_feature),
        "feature_names_in_": FeatureNames(),
    }


def to_object_array(values: list[Any]) -> NDArray[np.object_]:
    """Return a one-dimensional array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
