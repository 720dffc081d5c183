"""Array records, read-only views and numba intrinsics that kernels use.

`borrow` strips the reference counts of a record of arrays for the duration of one kernel call.
Compiled code counts a reference, atomically, whenever it takes an array out of a record or passes
one on. In inner loops that costs more than the work itself, and threads that share a record contend
for its counters. The caller of a kernel keeps the arrays alive anyway.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

Array = TypeVar("Array", bound=NDArray[Any])
Record = TypeVar("Record")

_get_or_insert_function: Any = cgutils.get_or_insert_function


class CSRArrays(NamedTuple):
    """The arrays of a canonical CSR matrix, read-only, as kernels take them."""

    indptr: NDArray[np.int64]  # (n_samples + 1,)
    indices: NDArray[np.int32]  # (n_entries,)
    data: NDArray[np.float32]  # (n_entries,)
    shape: tuple[int, int]  # (n_samples, n_features)


class CSCArrays(NamedTuple):
    """The arrays of a canonical CSC matrix, read-only, as kernels take them."""

    indptr: NDArray[np.int64]  # (n_features + 1,)
    indices: NDArray[np.int32]  # (n_entries,)
    data: NDArray[np.float32]  # (n_entries,)
    shape: tuple[int, int]  # (n_samples, n_features)


def read_only(array: Array) -> Array:
    """Return a read-only view."""
    # numba compiles a kernel once for writable and once for read-only arrays, such as memory maps.
    # Arrays that a kernel only reads are always passed as read-only views, so that it is compiled
    # once.
    view = array.view()
    view.flags.writeable = False
    return view


def borrow(record: Record) -> Record:
    """Return the record with arrays that are not reference-counted.

    They must not outlive the kernel call.
    """
    return record


def _borrow_intrinsic(context: Any, record: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (kind,) = signature.args
        (value,) = arguments
        for index, member in enumerate(kind.types):
            if isinstance(member, types.Array):
                array = context.make_array(member)(
                    context, builder, builder.extract_value(value, index)
                )
                array.meminfo = ir.Constant(array.meminfo.type, None)
                array.parent = ir.Constant(array.parent.type, None)
                value = builder.insert_value(value, array._getvalue(), index)
        return value

    return record(record), codegen


_borrow: Any = intrinsic(_borrow_intrinsic)


@overload(borrow)
def _overload_borrow(record: Any) -> Any:
    if not isinstance(record, types.NamedTuple):
        return None

    # numba requires the same annotations as in the overloaded function.
    def implementation(record: Any) -> Any:
        return _borrow(record)

    return implementation


def count_bits(word: Any) -> Any:
    """Return the number of set bits of a 64-bit integer."""
    return np.uint64(int(word).bit_count())


def lowest_bit(word: Any) -> Any:
    """Return the position of the lowest set bit of a 64-bit integer, which must not be zero."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1)


def _count_bits_intrinsic(context: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), codegen


def _lowest_bit_intrinsic(context: Any, word: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), codegen


_count_bits: Any = intrinsic(_count_bits_intrinsic)
_lowest_bit: Any = intrinsic(_lowest_bit_intrinsic)


@overload(count_bits)
def _overload_count_bits(word: Any) -> Any:
    def implementation(word: Any) -> Any:
        return _count_bits(word)

    return implementation


@overload(lowest_bit)
def _overload_lowest_bit(word: Any) -> Any:
    def implementation(word: Any) -> Any:
        return _lowest_bit(word)

    return implementation


def prefetch(array: Any, index: Any) -> None:
    """Request an element of a one-dimensional array from memory without waiting for it."""


def _prefetch_intrinsic(context: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, _ = signature.args
        data = context.make_array(kind)(context, builder, arguments[0]).data
        byte, int32 = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
        function = _get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [address, int32(0), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, index), codegen


_prefetch: Any = intrinsic(_prefetch_intrinsic)


@overload(prefetch)
def _overload_prefetch(array: Any, index: Any) -> Any:
    def implementation(array: Any, index: Any) -> None:
        _prefetch(array, index)

    return implementation
