"""Matrices of coefficients: zeros are left out, and the others may be rounded."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cordwood.persist._errors import Rejected, shorten
from cordwood.persist._fields import FLOATS, MAX_NUMBER, Array

if TYPE_CHECKING:
    from cordwood.persist._objects import ModelDecoder, ModelEncoder

_BLOCK = 2**16


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

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Store a mask of the non-zero coefficients, and these."""
        norm = encoder.input_norm
        step = None
        if encoder.is_compact and self._find_step is not None and norm is not None:
            step = self._find_step(owner, norm)
        return encode_matrix(value, encoder, step)

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Read the coefficients."""
        return decode_matrix(node, decoder)


def encode_matrix(matrix: NDArray[Any], encoder: "ModelEncoder", step: float | None) -> Any:
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


def decode_matrix(node: Any, decoder: "ModelDecoder") -> NDArray[Any]:
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
