"""Bits of a machine word: how many are set, and which is the lowest."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload


def count_bits(word: Any) -> Any:
    """Count the bits that are set in a word of 64."""
    return np.uint64(int(word).bit_count())


def lowest_bit(word: Any) -> Any:
    """Give the position of the lowest bit that is set in a word of 64, which must not be zero."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def _count(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _find(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


_counted: Any = intrinsic(_count)
_found: Any = intrinsic(_find)


@overload(count_bits)
def _compile_count(word: Any) -> Any:
    def count(word: Any) -> Any:
        return _counted(word)

    return count


@overload(lowest_bit)
def _compile_find(word: Any) -> Any:
    def find(word: Any) -> Any:
        return _found(word)

    return find
