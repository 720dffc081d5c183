"""Records of arrays without reference counts, for the length of one kernel call.

Compiled code counts a reference, atomically, whenever it takes an array out of a record or hands
one on. In inner loops that costs more than the work, and threads that share a table fight for
its counters. The caller of a kernel holds the arrays anyway, so the kernel may do without.
"""

from typing import Any, TypeVar

from llvmlite.ir import Constant
from numba import types
from numba.extending import intrinsic, overload

Record = TypeVar("Record")


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
                array.meminfo = Constant(array.meminfo.type, None)
                array.parent = Constant(array.parent.type, None)
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
