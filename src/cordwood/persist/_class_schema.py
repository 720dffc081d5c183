"""Schemas: what a model file contains of each class, and what is valid.

A schema lists the fitted attributes that prediction needs, each with a `Field` that converts it to
JSON and back and checks its type, shape and range. Sizes have names, such as "n_features", which
must agree over all attributes of an object. `save` and `load` run the same checks: on the object to
be saved, and on the object that was built.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.persist._errors import Rejected, shorten

if TYPE_CHECKING:
    from cordwood.persist._objects import Decoder, Encoder

Sizes = dict[str, int]

# Larger numbers could overflow to infinity when they are multiplied.
MAX_NUMBER = 1e100
_MAX_LABEL_LENGTH = 10_000
_BLOCK = 2**16


class Field(ABC):
    """A fitted attribute: conversion and validation.

    Parameters
    ----------
    optional : bool, default=False
        Whether the attribute may be missing.
    """

    def __init__(self, *, optional: bool = False) -> None:
        self.optional = optional

    @abstractmethod
    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
        """Convert a valid value of an attribute of `owner` to JSON."""

    @abstractmethod
    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
        """Convert the value."""
        return encoder.values.encode(value)

    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
        """Convert the value."""
        encoder.budget.spend(self._bytes_each * int(value))
        return int(value)

    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
        """Store the array."""
        return None if value is None else encoder.arrays.add(value)

    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
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


FLOATS = "float64|float32"


class Coefficients(Array):
    """A matrix of floats whose zeros are left out, and that may be stored in lower precision.

    Parameters
    ----------
    shape : tuple of str or int
        Names of sizes, or sizes.
    low, high : float
        Bounds of the numbers.
    find_step : callable, optional
        Called with the owner and the largest Euclidean norm of a sample, if it is known. Returns
        the step to which the coefficients are rounded with compact precision. By default, they are
        rounded to float32.
    """

    def __init__(
        self,
        *shape: str | int,
        low: float = -MAX_NUMBER,
        high: float = MAX_NUMBER,
        find_step: Callable[[Any, float], float] | None = None,
    ) -> None:
        super().__init__(FLOATS, *shape, low=low, high=high)
        self._find_step = find_step

    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
        """Store a mask of the non-zero coefficients, and these."""
        norm = encoder.input_norm
        step = None
        if encoder.is_compact and self._find_step is not None and norm is not None:
            step = self._find_step(owner, norm)
        return encode_matrix(value, encoder, step)

    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
        """Read the coefficients."""
        return decode_matrix(node, decoder)


def encode_matrix(matrix: NDArray[Any], encoder: "Encoder", step: float | None) -> Any:
    """Store a matrix without its zeros, exactly, as float32, or as multiples of `step`."""
    node: dict[str, Any] = {"shape": list(matrix.shape), "dtype": matrix.dtype.name}
    if matrix.flags.f_contiguous and not matrix.flags.c_contiguous:
        node["fortran"] = True
        matrix = matrix.T
    values = matrix.reshape(-1)
    if step is not None and np.abs(values).max(initial=0.0) / step < 2**31 - 1:
        values = _round_to_steps(values, step)
        node["step"] = step
    elif encoder.is_compact and np.abs(values).max(initial=0.0) < np.finfo(np.float32).max:
        values = values.astype(np.float32)
    mask = values != 0
    if values.dtype.kind == "f":
        mask |= np.signbit(values)  # keeps -0.0
    if np.count_nonzero(mask) < 0.9 * len(mask):
        node["mask"] = encoder.arrays.add(np.packbits(mask))
        values = values[mask]
    node["values"] = encoder.arrays.add(values)
    encoder.budget.spend(9 * matrix.size)
    return node


def decode_matrix(node: Any, decoder: "Decoder") -> NDArray[Any]:
    """Read a matrix that `encode_matrix` stored."""
    if not isinstance(node, dict) or not isinstance(shape := node.get("shape"), list):
        raise Rejected("has a matrix of the wrong structure")
    if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
        raise Rejected(f"has a matrix of the invalid shape {shorten(shape)}")
    size = shape[0] * shape[1]
    decoder.budget.spend(9 * size)
    values = decoder.arrays.get(node.get("values"))
    step, dtype = node.get("step"), node.get("dtype")
    if dtype not in FLOATS.split("|"):
        raise Rejected("has a matrix of the wrong type")
    if values.ndim != 1 or values.dtype.name not in ("uint32", "float32", "float64"):
        raise Rejected("has a matrix of the wrong type")
    if values.dtype.kind == "u":
        if not isinstance(step, float) or not 0 < step < MAX_NUMBER:
            raise Rejected("has a matrix with an invalid step")
        values = _multiply_steps(values, step)
    flat = values.astype(dtype, copy=False)
    if "mask" in node:
        packed = decoder.arrays.get(node["mask"])
        if packed.dtype != np.uint8 or packed.shape != (-(-size // 8),):
            raise Rejected("has a matrix with an invalid mask")
        mask = np.unpackbits(packed, count=size).view(bool)
        if np.count_nonzero(mask) != len(flat):
            raise Rejected("has a matrix with an invalid mask")
        flat = np.zeros(size, dtype)
        flat[mask] = values
    if len(flat) != size:
        raise Rejected("has a matrix whose size differs from its shape")
    return flat.reshape(shape[::-1]).T if node.get("fortran") is True else flat.reshape(shape)


def _round_to_steps(values: NDArray[Any], step: float) -> NDArray[np.uint32]:
    """Return numbers as multiples of a step, with the sign in the lowest bit.

    Small negative numbers then have high bytes of zero, like positive ones. Works in blocks,
    because the integers of a whole matrix would take as much memory as the matrix.
    """
    out = np.empty(len(values), np.uint32)
    for start in range(0, len(values), _BLOCK):
        rounded = np.rint(values[start : start + _BLOCK] / step).astype(np.int64)
        out[start : start + _BLOCK] = (rounded << 1) ^ (rounded >> 63)
    return out


def _multiply_steps(values: NDArray[np.uint32], step: float) -> NDArray[np.float64]:
    """Return the numbers that `_round_to_steps` rounded."""
    out = np.empty(len(values))
    for start in range(0, len(values), _BLOCK):
        integers = values[start : start + _BLOCK].astype(np.int64)
        out[start : start + _BLOCK] = ((integers >> 1) ^ -(integers & 1)) * step
    return out


class Labels(Field):
    """Sorted distinct class labels: strings, numbers or booleans."""

    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
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

    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
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

    def encode(self, value: Any, encoder: "Encoder", owner: Any) -> Any:
        """Store the names."""
        return encoder.arrays.add_strings(value.tolist())

    def decode(self, node: Any, decoder: "Decoder", owner: Any) -> Any:
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


class Interface(NamedTuple):
    """What an estimator takes and returns, as far as it is known.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features of the samples.
    takes_text : bool, default=False
        Whether samples are texts.
    n_outputs : int or None, default=None
        Number of columns of `transform`.
    norm : float or None, default=None
        Largest Euclidean norm of a row of `transform`.
    classes : ndarray or None, default=None
        Class labels.
    is_fitted : bool or None, default=None
        Whether the estimator is fitted; None if its class has no schema.
    """

    n_features: int | None = None
    takes_text: bool = False
    n_outputs: int | None = None
    norm: float | None = None
    classes: NDArray[Any] | None = None
    is_fitted: bool | None = None


InterfaceOf = Callable[[Any], Interface]


def classifier_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    """Return the interface of a classifier of a feature matrix."""
    return Interface(n_features=int(model.n_features_in_), classes=model.classes_)


def scaler_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    """Return the interface of a transformer that keeps the features."""
    return Interface(n_features=int(model.n_features_in_), n_outputs=int(model.n_features_in_))


# Parameters that only training uses and that may contain anything; files have their defaults.
_NOT_STORED = ("n_jobs", "verbose", "memory")


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What a model file contains of a class.

    Parameters
    ----------
    cls : type
        The class.
    fitted : mapping of str to Field
        Fitted attributes that prediction needs. An object without the first of them is not fitted,
        and only its parameters are stored. A `Pipeline` has none.
    nested : mapping of str to Field
        Parameters that contain estimators.
    storable : mapping of str to callable
        Replaces values of parameters that a file cannot contain, such as functions.
    check : callable
        Called with a fitted object and a function that returns the interface of another; raises
        Rejected if attributes contradict each other.
    check_params : callable
        Called with an object that has parameters only, and whether the class is trusted; raises
        an exception if a parameter is not valid.
    finish : callable
        Called with a checked object after loading; computes attributes that are not stored.
    interface : callable
        Returns the interface of a fitted object; called with the same arguments as `check`.
    """

    cls: type
    fitted: Mapping[str, Field]
    nested: Mapping[str, Field] = field(default_factory=dict)
    storable: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    check: Callable[[Any, InterfaceOf], None] = lambda model, interface_of: None
    check_params: Callable[[Any, bool], None] = lambda model, is_trusted: model._validate_params()
    finish: Callable[[Any], None] = lambda model: None
    interface: Callable[[Any, InterfaceOf], Interface] = classifier_interface

    @property
    def name(self) -> str:
        """Name of the class in files, which does not depend on the module that defines it."""
        return f"{self.cls.__module__.partition('.')[0]}.{self.cls.__name__}"

    def is_fitted(self, model: Any) -> bool:
        """Return whether an object has fitted attributes."""
        return all(name in vars(model) for name in [*self.fitted][:1])

    def defaults(self) -> dict[str, Any]:
        """Return the parameters that are plain values, with their defaults."""
        return {
            name: None if parameter.default is Parameter.empty else parameter.default
            for name, parameter in signature(self.cls).parameters.items()
            if name not in self.nested
        }

    def params(self, model: Any) -> dict[str, Any]:
        """Return the plain parameters of an object, as a file can contain them."""
        params = {}
        for name, default in self.defaults().items():
            value = getattr(model, name, default)
            if name in self.storable:
                value = self.storable[name](value)
            if name in _NOT_STORED:
                value = default
            if name == "random_state":
                value = int(value) if isinstance(value, int | np.integer) else None
            params[name] = value
        return params

    def check_fitted(self, model: Any, interface_of: InterfaceOf) -> None:
        """Raise Rejected unless the fitted attributes of an object are valid."""
        sizes: Sizes = {}
        for name, each in self.fitted.items():
            if name not in vars(model):
                if each.optional:
                    continue
                raise Rejected(f"has a {self.cls.__name__} without {name}")
            problem = each.check(getattr(model, name), sizes)
            if problem is not None:
                raise Rejected(f"has a {self.cls.__name__} whose {name} must be {problem}")
        self.check(model, interface_of)
