"""Plain values as JSON: numbers, strings, containers, arrays, sparse matrices and estimators.

Whatever JSON has no type for is an object with one key, the tag: ``{"tuple": [1, 2]}``.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from cordwood._schema.errors import Rejected, expect_list, shorten
from cordwood._schema.fields import to_object_array
from cordwood.persist._arrays import ArrayReader, ArrayWriter

_MAX_INTEGER = 2**63
_MAX_STRING = 10**6

_CONTAINERS: Mapping[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
}
_SPARSE_ARRAYS = ("indptr", "indices", "data")
_SCALARS = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


class ValueEncoder:
    """Converts values to JSON, and estimators with `encode_object`."""

    def __init__(self, arrays: ArrayWriter, encode_object: Callable[[Any], Any]) -> None:
        self._arrays = arrays
        self._encode_object = encode_object

    def encode(self, value: Any) -> Any:
        """Convert a value; raise Rejected if a model file may not contain its type."""
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            return _check_integer(value)
        if kind is str:
            return _check_string(value)
        if kind is list:
            return [self.encode(each) for each in value]
        if kind is dict:
            return {"dict": [[self.encode(key), self.encode(each)] for key, each in value.items()]}
        if kind is np.str_:
            return {"scalar": ["str", _check_string(str(value))]}
        if isinstance(value, np.bool_) or (
            isinstance(value, np.generic) and value.dtype.name in _SCALARS
        ):
            return {"scalar": [value.dtype.name, value.item()]}
        for tag, container in _CONTAINERS.items():
            if kind is container:
                # Sets have no order, but equal models have equal files.
                items = value if kind is tuple else sorted(value, key=repr)
                return {tag: [self.encode(each) for each in items]}
        if kind is np.ndarray:
            return self._encode_array(value)
        if kind.__name__ in _SPARSE and kind is _SPARSE[kind.__name__]:
            return self._encode_sparse(value)
        return {"object": self._encode_object(value)}

    def _encode_array(self, array: Any) -> Any:
        if array.dtype.kind == "U":
            strings = self._arrays.add_strings(array.ravel().tolist())
            width = array.dtype.itemsize // 4
            self._arrays.budget.spend(array.nbytes)
            return {"strings": {**strings, "width": width, "shape": list(array.shape)}}
        if array.dtype.kind == "O":
            values = [self.encode(each) for each in array.ravel().tolist()]
            return {"objects": [list(array.shape), values]}
        return {"array": self._arrays.add(array)}

    def _encode_sparse(self, matrix: Any) -> Any:
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        arrays = {name: self._arrays.add(getattr(matrix, name)) for name in _SPARSE_ARRAYS}
        return {"sparse": {"type": type(matrix).__name__, "shape": list(matrix.shape), **arrays}}


class ValueDecoder:
    """Converts JSON of an untrusted file to values, and estimators with `decode_object`."""

    def __init__(self, arrays: ArrayReader, decode_object: Callable[[Any], Any]) -> None:
        self._arrays = arrays
        self._tags: Mapping[str, Callable[[Any], Any]] = {
            "dict": self._decode_dict,
            "scalar": _decode_scalar,
            "array": arrays.get,
            "strings": self._decode_strings,
            "objects": self._decode_objects,
            "sparse": self._decode_sparse,
            "object": decode_object,
        }

    def decode(self, node: Any) -> Any:
        """Convert a value; raise Rejected if it is not valid."""
        if node is None or isinstance(node, bool | float):
            return node
        if isinstance(node, int):
            return _check_integer(node)
        if isinstance(node, str):
            return _check_string(node)
        if isinstance(node, list):
            return [self.decode(each) for each in node]
        if len(node) != 1:
            raise Rejected("has a value without a type")
        [(tag, content)] = node.items()
        if tag in _CONTAINERS:
            return _CONTAINERS[tag](map(self.decode, expect_list(content)))
        if tag not in self._tags:
            raise Rejected(f"has a value of the unknown type {shorten(tag)}")
        return self._tags[tag](content)

    def _decode_dict(self, node: Any) -> Any:
        pairs = [expect_list(pair, 2) for pair in expect_list(node)]
        return {self.decode(key): self.decode(value) for key, value in pairs}

    def _decode_strings(self, node: Any) -> Any:
        strings = self._arrays.get_strings(node)
        width, shape = node.get("width"), _check_shape(node.get("shape"), len(strings))
        longest = max(map(len, strings), default=1)
        if type(width) is not int or not max(longest, 1) <= width <= max(longest, 256):
            raise Rejected("has an array of strings of an invalid width")
        self._arrays.budget.spend(4 * width * len(strings))
        return np.array(strings, f"U{width}").reshape(shape)

    def _decode_objects(self, node: Any) -> Any:
        shape, values = expect_list(node, 2)
        values = [self.decode(each) for each in expect_list(values)]
        return to_object_array(values).reshape(_check_shape(shape, len(values)))

    def _decode_sparse(self, node: Any) -> Any:
        kind = _SPARSE.get(str(node.get("type"))) if isinstance(node, dict) else None
        if kind is None:
            raise Rejected("has a sparse matrix of an unknown type")
        indptr, indices, data = (self._arrays.get(node.get(name)) for name in _SPARSE_ARRAYS)
        shape = expect_list(node.get("shape"), 2)
        if not all(type(n) is int and 0 <= n < 2**31 for n in shape):
            raise Rejected("has a sparse matrix of an invalid shape")
        n_major, n_minor = shape if kind in (sp.csr_matrix, sp.csr_array) else shape[::-1]
        _check_sparse(indptr, indices, data, n_major, n_minor)
        return kind((data, indices, indptr), shape=tuple(shape))


def _check_sparse(indptr: Any, indices: Any, data: Any, n_major: int, n_minor: int) -> None:
    """Raise Rejected unless the arrays are a sparse matrix with sorted, unique indices."""
    is_integer = indptr.dtype.kind in "iu" and indices.dtype.kind in "iu"
    if not is_integer or not indptr.ndim == indices.ndim == data.ndim == 1:
        raise Rejected("has a sparse matrix whose arrays have the wrong type")
    n_entries = len(indices)
    is_partition = len(indptr) == n_major + 1 and indptr[0] == 0 and indptr[-1] == n_entries
    lengths = np.diff(indptr.astype(np.int64))
    if not is_partition or (lengths < 0).any() or len(data) != n_entries:
        raise Rejected("has a sparse matrix whose indptr does not partition its entries")
    positions = indices.astype(np.int64)
    increases = np.diff(positions, append=0) > 0
    increases[indptr[1:][lengths > 0].astype(np.int64) - 1] = True  # the next row begins
    if not increases.all() or ((positions < 0) | (positions >= n_minor)).any():
        raise Rejected("has a sparse matrix whose indices are not sorted or out of bounds")


def _decode_scalar(node: Any) -> Any:
    name, value = expect_list(node, 2)
    if name == "str":
        return np.str_(_check_string(value) if isinstance(value, str) else "")
    if name == "bool" and isinstance(value, bool):
        return np.bool_(value)
    if not isinstance(name, str) or name not in _SCALARS or type(value) not in (int, float):
        raise Rejected(f"has a number of the unknown type {shorten(name)}")
    return _SCALARS[name](value)


def _check_integer(value: int) -> int:
    if not -_MAX_INTEGER <= value < 2 * _MAX_INTEGER:
        raise Rejected("has an integer that does not fit in 64 bits")
    return value


def _check_string(value: str) -> str:
    if len(value) > _MAX_STRING:
        raise Rejected(f"has a string of more than {_MAX_STRING:,} characters")
    return value


def _check_shape(shape: Any, size: int) -> tuple[int, ...]:
    shape = expect_list(shape)
    is_valid = all(type(n) is int and 0 <= n <= size for n in shape)
    if not is_valid or len(shape) > 8 or np.prod(shape, dtype=object) != size:
        raise Rejected("has an array of an invalid shape")
    return tuple(shape)
