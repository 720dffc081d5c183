"""Names for what kernels take and give."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint32]
Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Seed: TypeAlias = NDArray[np.uint64]

# numba infers the width of a number, and the fields of a record of arrays, from what is passed.
Int: TypeAlias = Any
Float: TypeAlias = Any
Record: TypeAlias = Any
