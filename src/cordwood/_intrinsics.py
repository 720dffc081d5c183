"""Numba intrinsics and array views that kernels need beyond what numba offers.

`borrow` strips the reference counts of a record of arrays for the length of one kernel call.
Compiled code counts a reference, atomically, whenever it takes an array out of a record or passes
one on. In inner loops that costs more than the work, and threads that share a record contend for
its counters. The caller of a kernel holds the arrays anyway.
"""

from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

Array = TypeVar("Array", bound=NDArray[Any])
Record = TypeVar("Record")

_get_or_insert_function: Any = cgutils.get_or_insert_function


def read_only(array: Array) -> Array:
    """Give a view that cannot be written through.

    Kernels are compiled once for arrays that can be written and once for those that cannot, such
    as memory maps. What they only read is always handed to them like this.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def borrow(record: Record) -> Record:
    """Give the same record, its arrays without owners; they must not outlive the kernel call."""
    return record


def _disown(context: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (kind,) = signature.args
        (value,) = arguments
        for place, member in enumerate(kind.types):
            if isinstance(member, types.Array):
                array = context.make_array(member)(
                    context, builder, builder.extract_value(value, place)
                )
                array.meminfo = ir.Constant(array.meminfo.type, None)
                array.parent = ir.Constant(array.parent.type, None)
                value = builder.insert_value(value, array._getvalue(), place)
        return value

    return record(record), generate


_disowned: Any = intrinsic(_disown)


@overload(borrow)
def _compile_borrow(record: Any) -> Any:
    if not isinstance(record, types.NamedTuple):
        return None

    # numba wants the same annotations here as above.
    def disown(record: Any) -> Any:
        return _disowned(record)

    return disown


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


def prefetch(array: Any, place: Any) -> None:
    """Ask for an element of a one-dimensional array, without waiting for it."""


def _ask(context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, _ = signature.args
        data = context.make_array(kind)(context, builder, arguments[0]).data
        byte, word = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        kind_of_hint = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        hint = _get_or_insert_function(builder.module, kind_of_hint, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(hint, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, place), generate


_asked: Any = intrinsic(_ask)


@overload(prefetch)
def _compile_prefetch(array: Any, place: Any) -> Any:
    def ask(array: Any, place: Any) -> None:
        _asked(array, place)

    return ask
