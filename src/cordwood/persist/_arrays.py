"""Arrays of a model file: a table of shapes and types, and the concatenated bytes.

Each distinct array is stored once. Before compression, an array is transformed without loss to a
form that compresses well: integers are stored in the smallest type that holds them, sorted ones as
differences; numbers with few distinct values as a list of these and codes; and the bytes of each
number are separated, so that the nearly constant high bytes follow one another.
"""

import hashlib
import json
from collections.abc import Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cordwood._schema.budget import ARRAY_COST, Budget
from cordwood._schema.errors import Rejected, shorten

Array = NDArray[Any]

_DTYPES = {
    np.dtype(name).name: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
_UNSIGNED = tuple(np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64"))
_SIGNED = tuple(np.dtype(name) for name in ("int8", "int16", "int32", "int64"))
_MAX_CODES = 2**16
_MAX_DIMENSIONS = 8

# The largest copies of a number while it is read and checked: a sum of differences, and masks.
_TEMPORARY_PER_NUMBER = 16
# Header of a string, pointers and the number of its length; a character takes up to four bytes.
_STRING_COST = 100
_BYTE_COST = 4
_MAX_PREFIX = 255


class Sink(Protocol):
    """Where bytes are written."""

    def write(self, content: Any) -> None:
        """Write a bytes-like object."""


class ArrayWriter:
    """Writes arrays to a sink and keeps the table of them."""

    def __init__(self, sink: Sink, budget: Budget) -> None:
        self.table: list[dict[str, Any]] = []
        self.budget = budget
        self._sink = sink
        self._known: dict[bytes, int] = {}
        self._known_strings: set[tuple[int, ...]] = set()

    def add(self, array: Array) -> int:
        """Write an array, unless an equal one is there, and return its number in the table."""
        if array.dtype.name not in _DTYPES:
            raise Rejected(f"has an array of type {array.dtype.name}, which cannot be stored")
        entry: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            entry["fortran"] = True  # results of BLAS may depend on the memory layout
            array = array.T
        flat = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1)
        if flat.dtype.kind in "iu":
            flat = self._shrink(flat, entry)
        elif flat.dtype.kind == "f" and (codes := _find_codes(flat)) is not None:
            values, flat = codes
            entry["values"] = self.add(values)
            entry["stored"] = flat.dtype.name
        content = _separate_bytes(flat)
        digest = hashlib.sha256(json.dumps(entry).encode() + b"\0")
        digest.update(content)
        key = digest.digest()
        _charge(self.budget, array.size, array.dtype)
        if key not in self._known:
            self._known[key] = len(self.table)
            self.table.append(entry)
            self._sink.write(content)
        return self._known[key]

    def add_strings(self, strings: Sequence[str]) -> dict[str, int]:
        """Write strings, each without the prefix that it shares with the one before it."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        prefixes = np.zeros(len(encoded), np.uint8)
        previous = b""
        for i, string in enumerate(encoded):
            n = min(len(previous), len(string), _MAX_PREFIX)
            k = 0
            while k < n and previous[k] == string[k]:
                k += 1
            prefixes[i] = k
            previous = string
        shared = prefixes.tolist()
        suffixes = [string[k:] for string, k in zip(encoded, shared, strict=True)]
        lengths = np.array([len(suffix) for suffix in suffixes], np.int64)
        numbers = {
            "prefixes": self.add(prefixes),
            "lengths": self.add(lengths),
            "suffixes": self.add(np.frombuffer(b"".join(suffixes), np.uint8)),
        }
        if (key := tuple(numbers.values())) not in self._known_strings:  # they are read once
            self._known_strings.add(key)
            self.budget.spend(_measure_strings(prefixes, lengths))
        return numbers

    @staticmethod
    def _shrink(flat: Array, entry: dict[str, Any]) -> Array:
        """Return integers in the smallest type, as differences if they are sorted."""
        if len(flat) > 1 and (flat[1:] >= flat[:-1]).all() and flat[0] >= 0:
            if int(flat[-1]) < 2**63:
                entry["sorted"] = True
                flat = np.diff(flat.astype(np.int64), prepend=np.int64(0))
        if len(flat):
            flat = flat.astype(_smallest_dtype(int(flat.min()), int(flat.max())))
        if flat.dtype.name != entry["dtype"]:
            entry["stored"] = flat.dtype.name
        return flat


class ArrayReader:
    """Reads arrays from the table and the concatenated bytes of an untrusted file."""

    def __init__(self, table: Any, content: NDArray[np.uint8], budget: Budget) -> None:
        self.budget = budget
        self._content = content
        self._entries = [_Entry(entry) for entry in _expect(table, list, "a table of arrays")]
        self._ends = np.cumsum([0, *(entry.n_bytes for entry in self._entries)], dtype=object)
        if self._ends[-1] != len(content):
            raise Rejected("has arrays whose sizes differ from their content")
        self._arrays: dict[int, Array] = {}
        self._strings: dict[tuple[int, int, int], list[str]] = {}

    def get(self, number: Any) -> Array:
        """Return an array; all references to a number share it."""
        if type(number) is not int or not 0 <= number < len(self._entries):
            raise Rejected(f"has no array {shorten(number)}")
        entry = self._entries[number]
        _charge(self.budget, entry.size, entry.dtype)
        if number not in self._arrays:
            self._arrays[number] = self._read(number)
        return self._arrays[number]

    def get_strings(self, node: Any) -> list[str]:
        """Return strings that `ArrayWriter.add_strings` wrote."""
        node = _expect(node, dict, "strings")
        numbers = tuple(node.get(name) for name in ("prefixes", "lengths", "suffixes"))
        prefixes, lengths, suffixes = map(self.get, numbers)
        if numbers not in self._strings:
            for array, dtype in ((prefixes, np.uint8), (lengths, np.int64), (suffixes, np.uint8)):
                if array.dtype != dtype or array.ndim != 1:
                    raise Rejected("has strings that are not stored as arrays of bytes")
            if len(prefixes) != len(lengths) or (lengths < 0).any():
                raise Rejected("has strings of invalid lengths")
            if (lengths > len(suffixes)).any() or lengths.sum() != len(suffixes):
                raise Rejected("has strings of invalid lengths")
            self.budget.spend(_measure_strings(prefixes, lengths))
            self._strings[numbers] = _join_suffixes(prefixes, lengths, suffixes)
        return self._strings[numbers]

    def _read(self, number: int) -> Array:
        entry = self._entries[number]
        content = self._content[int(self._ends[number]) : int(self._ends[number + 1])]
        stored = _join_bytes(content, entry.stored)
        if entry.values is not None:
            if type(entry.values) is not int or entry.values >= number:
                raise Rejected("has codes without values")
            values = self.get(entry.values)
            if values.dtype != entry.dtype or values.ndim != 1 or stored.dtype.kind != "u":
                raise Rejected("has codes and values of different types")
            if len(stored) and stored.max() >= len(values):
                raise Rejected("has codes without values")
            return entry.reshape(values[stored])
        if entry.is_sorted:
            if stored.dtype.kind not in "iu" or entry.dtype.kind not in "iu":
                raise Rejected("has differences that are not integers")
            if len(stored) and not 0 <= stored.min() <= stored.max() < 2**63:
                raise Rejected("has differences that are out of range")
            stored = np.cumsum(stored, dtype=np.int64)
            if (stored < 0).any():  # a sum that exceeds 64 bits is negative first
                raise Rejected("has differences that are out of range")
        if stored.dtype != entry.dtype:
            if stored.dtype.kind not in "iu" or entry.dtype.kind not in "iu":
                raise Rejected("has an array whose stored type is not a smaller integer")
            limits = np.iinfo(entry.dtype)
            if (
                len(stored)
                and not limits.min <= int(stored.min()) <= int(stored.max()) <= limits.max
            ):
                raise Rejected("has integers that are out of the range of their type")
        elif entry.dtype == np.dtype(bool) and (content > 1).any():
            raise Rejected("has truth values other than 0 and 1")
        return entry.reshape(stored.astype(entry.dtype, copy=False))


def _charge(budget: Budget, size: int, dtype: np.dtype[Any]) -> None:
    """Count a reference to an array."""
    budget.spend(ARRAY_COST + size * dtype.itemsize, temporary=_TEMPORARY_PER_NUMBER * size)


class _Entry:
    """An entry of the table, with validated types."""

    def __init__(self, entry: Any) -> None:
        entry = _expect(entry, dict, "an array")
        self.dtype = _find_dtype(entry.get("dtype"))
        self.stored = _find_dtype(entry.get("stored", self.dtype.name))
        self.values = entry.get("values")
        self.is_sorted = entry.get("sorted") is True
        shape = _expect(entry.get("shape"), list, "the shape of an array")
        if len(shape) > _MAX_DIMENSIONS or not all(
            type(n) is int and 0 <= n < 2**48 for n in shape
        ):
            raise Rejected(f"has an array of the invalid shape {shorten(shape)}")
        self.shape = tuple(shape)
        self.size = prod(self.shape)
        self.n_bytes = self.size * self.stored.itemsize
        self._is_fortran = entry.get("fortran") is True

    def reshape(self, flat: Array) -> Array:
        """Return the array of the entry's shape and memory layout."""
        return flat.reshape(self.shape[::-1]).T if self._is_fortran else flat.reshape(self.shape)


def _find_dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or name not in _DTYPES:
        raise Rejected(f"has an array of type {shorten(name)}, which a model may not have")
    return _DTYPES[name]


def _expect(found: Any, kind: type, what: str) -> Any:
    if not isinstance(found, kind):
        raise Rejected(f"has {shorten(type(found).__name__)} in place of {what}")
    return found


def _smallest_dtype(low: int, high: int) -> np.dtype[Any]:
    for dtype in _UNSIGNED if low >= 0 else _SIGNED:
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return dtype
    raise Rejected("has integers that do not fit in 64 bits")


def _find_codes(flat: Array) -> tuple[Array, Array] | None:
    """Return the distinct values and the code of each number, if there are few values."""
    n = len(flat)
    if n < 64:
        return None
    # Bits, because they distinguish -0.0 from 0.0 and are equal for NaN.
    bits = flat.view(f"u{flat.dtype.itemsize}")
    sample = bits[:: max(1, n // 4096)]
    if len(np.unique(sample)) > len(sample) // 2:
        return None
    values, codes = np.unique(bits, return_inverse=True)
    if len(values) > min(_MAX_CODES, n // 4):
        return None
    return values.view(flat.dtype), codes.astype(_smallest_dtype(0, len(values)))


def _separate_bytes(flat: Array) -> bytes:
    """Return the first bytes of all numbers, then the second bytes, and so on."""
    little = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
    return little.view(np.uint8).reshape(len(flat), flat.dtype.itemsize).T.tobytes()


def _join_bytes(content: NDArray[np.uint8], dtype: np.dtype[Any]) -> Array:
    """Return the numbers whose bytes `_separate_bytes` separated."""
    planes = content.reshape(dtype.itemsize, -1)
    numbers = np.ascontiguousarray(planes.T).reshape(-1).view(dtype.newbyteorder("<"))
    return numbers.astype(dtype, copy=False)


def _measure_strings(prefixes: NDArray[np.uint8], lengths: NDArray[np.int64]) -> int:
    """Return the memory of strings, at most."""
    n_bytes = int(prefixes.sum(dtype=np.int64) + lengths.sum())
    return _BYTE_COST * n_bytes + _STRING_COST * len(prefixes)


def _join_suffixes(
    prefixes: NDArray[np.uint8], lengths: NDArray[np.int64], suffixes: NDArray[np.uint8]
) -> list[str]:
    content = suffixes.tobytes()
    strings = []
    previous, start = b"", 0
    try:
        for shared, end in zip(prefixes.tolist(), np.cumsum(lengths).tolist(), strict=True):
            previous = previous[:shared] + content[start:end]
            strings.append(previous.decode("utf-8", "surrogatepass"))
            start = end
    except UnicodeDecodeError as error:
        raise Rejected(f"has strings that are not UTF-8 ({shorten(error)})") from None
    return strings
