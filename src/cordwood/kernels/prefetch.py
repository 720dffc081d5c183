"""A hint to the processor that an array's element will be read soon."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

_declare: Any = cgutils.get_or_insert_function


def prefetch(array: Any, place: Any) -> None:
    """Ask for an element of a one-dimensional array, without waiting for it."""


def _ask(context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, _ = signature.args
        data = context.make_array(kind)(context, builder, arguments[0]).data
        byte, word = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        kind_of_hint = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        hint = _declare(builder.module, kind_of_hint, "llvm.prefetch.p0")
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
