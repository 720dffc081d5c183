"""Compilation of numba kernels, on first use, cached on disk, run without the GIL."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cordwood._kernels.cache import CACHE_DIR, KernelCache

UInt32Array: TypeAlias = NDArray[np.uint32]
Float32Array: TypeAlias = NDArray[np.float32]
Float64Array: TypeAlias = NDArray[np.float64]
RngState: TypeAlias = NDArray[np.uint64]

# Arguments whose numba type is inferred at compile time: numbers of any width, and named tuples
# of arrays.
Int: TypeAlias = Any
Float: TypeAlias = Any
Record: TypeAlias = Any

# Kernels are never called from C, and without the C wrapper they compile about 15 % faster.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that is called from Python: on first use, cached on disk."""
    compiled = njit(**_OPTIONS)(function)
    if compiled is not function:  # as with NUMBA_DISABLE_JIT
        name = f"{function.__module__.removeprefix('cordwood.')}.{function.__name__}"
        compiled._cache = KernelCache(name, CACHE_DIR)
    return compiled


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that is called from kernels: it is cached as part of these."""
    return njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Inline a function into the kernels that call it; for functions that take records."""
    # Passing a record copies all of its fields, which costs more than most helpers do. Functions
    # that take single arrays are as fast with `helper` and compile faster.
    return njit(inline="always", **_OPTIONS)(function)
