"""Arrays as kernels take what they only read."""

from typing import Any, TypeVar

from numpy.typing import NDArray

Array = TypeVar("Array", bound=NDArray[Any])


def read_only(array: Array) -> Array:
    """Give a view that cannot be written through.

    Kernels are compiled once for arrays that can be written and once for those that cannot, such
    as memory maps. What they only read is always handed to them like this.
    """
    view = array.view()
    view.flags.writeable = False
    return view
