"""What a field is: conversion and validation of a fitted attribute.

Sizes have names, such as "n_features", which must agree over all attributes of an object.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from cordwood._schema.interface import Interface

Sizes = dict[str, int]


class FileEncoder(Protocol):
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
    def spend(self, n_bytes: int, temporary: int = 0) -> None: ...


class FileDecoder(Protocol):
    """What `load` provides to fields: arrays and nested values of an untrusted file."""

    def decode(self, node: Any) -> Any: ...
    def decode_value(self, node: Any) -> Any: ...
    def trusts(self, kind: type) -> bool: ...
    def get_array(self, number: Any) -> NDArray[Any]: ...
    def get_strings(self, node: Any) -> list[str]: ...
    def spend(self, n_bytes: int, temporary: int = 0) -> None: ...


class Field(ABC):
    """A fitted attribute: conversion and validation."""

    optional: bool = False  # whether the attribute may be missing

    def is_stored(self, name: str, owner: Any, encoder: FileEncoder) -> bool:
        """Return whether a file contains the attribute of a valid object."""
        return name in vars(owner)

    @abstractmethod
    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        """Convert a valid value of an attribute of `owner` to JSON."""

    @abstractmethod
    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        """Convert JSON of an untrusted file to a value, which `check` validates.

        `owner` has its parameters and the preceding attributes, which are not validated yet.
        """

    @abstractmethod
    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Return what the value must be, as the end of "must be ...", or None if it is valid."""


def match_sizes(names: tuple[str | int, ...], shape: tuple[int, ...], sizes: Sizes) -> str | None:
    """Compare a shape with named sizes, and add names that are new; return the problem if any."""
    if len(names) != len(shape):
        return f"of {len(names)} dimensions"
    for name, size in zip(names, shape, strict=True):
        expected = sizes.setdefault(name, size) if isinstance(name, str) else name
        if expected != size:
            return f"of shape ({', '.join(map(str, names))}), with {name} = {expected}"
    return None
