"""Matrices of coefficients: zeros are left out, and the others may be rounded."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._schema.base import FileDecoder, FileEncoder
from cordwood._schema.errors import Rejected, shorten
from cordwood._schema.fields import FLOATS, MAX_NUMBER, Array

_BLOCK = 2**16
# Of a coefficient, and of masks.
_BYTES_PER_ENTRY = 8 + 3


class Coefficients(Array):
    """A matrix of floats whose zeros are left out, and that may be stored in lower precision."""

    def __init__(
        self,
        *shape: str | int,
        low: float = -MAX_NUMBER,
        high: float = MAX_NUMBER,
        find_step: Callable[[Any, float], float] | None = None,
        n_derived: int = 0,
    ) -> None:
        super().__init__(FLOATS, *shape, low=low, high=high)
        # Called with the owner and the largest norm of a sample; returns the step to which
        # coefficients are rounded with compact precision. Without one, they become float32.
        self._find_step = find_step
        # Matrices of the same shape that are computed from it.
        self._bytes_per_entry = _BYTES_PER_ENTRY + 8 * n_derived

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        step = None
        if encoder.is_compact and self._find_step is not None and encoder.input_norm is not None:
            step = self._find_step(owner, encoder.input_norm)
        node: dict[str, Any] = {"shape": list(value.shape), "dtype": value.dtype.name}
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            node["fortran"] = True
            value = value.T
        values = value.reshape(-1)
        if step is not None and np.abs(values).max(initial=0.0) / step < 2**31 - 1:
            values = _round_to_steps(values, step)
            node["step"] = step
        elif encoder.is_compact and np.abs(values).max(initial=0.0) < np.finfo(np.float32).max:
            values = values.astype(np.float32)
        mask = values != 0
        if values.dtype.kind == "f":
            mask |= np.signbit(values)  # keeps -0.0
        if np.count_nonzero(mask) < 0.9 * len(mask):
            node["mask"] = encoder.add_array(np.packbits(mask))
            values = values[mask]
        node["values"] = encoder.add_array(values)
        encoder.spend(self._bytes_per_entry * value.size)
        return node

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict) or not isinstance(shape := node.get("shape"), list):
            raise Rejected("has a matrix of the wrong structure")
        if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
            raise Rejected(f"has a matrix of the invalid shape {shorten(shape)}")
        size = shape[0] * shape[1]
        decoder.spend(self._bytes_per_entry * size)
        values = decoder.get_array(node.get("values"))
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
            packed = decoder.get_array(node["mask"])
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
