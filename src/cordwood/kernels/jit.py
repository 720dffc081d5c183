"""How kernels are compiled: once, kept on disk, run without the interpreter's lock."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import config, njit

from cordwood.kernels.cache import find_folder

logger = logging.getLogger(__name__)

# Nobody calls kernels from C, and leaving that door out compiles a sixth sooner.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# A wait that people notice.
_PATIENCE = 2.0

_FOLDER = find_folder()
if _FOLDER is None:
    logger.warning(
        "Kernels are compiled anew in every process, because no folder to keep them in can be "
        "written; NUMBA_CACHE_DIR can name one."
    )


def kernel(function: Callable[..., Any]) -> Any:
    """Mark what Python calls: compiled on first use, and kept on disk."""
    if _FOLDER is None:
        return njit(**_OPTIONS)(function)
    settings = vars(config)
    before, settings["CACHE_DIR"] = settings["CACHE_DIR"], str(_FOLDER)
    try:
        return njit(cache=True, **_OPTIONS)(function)
    finally:
        settings["CACHE_DIR"] = before


def piece(function: Callable[..., Any]) -> Any:
    """Mark a part of a kernel: compiled and kept on disk with the kernels that call it."""
    return njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Mark a part that takes records of arrays: it is written into the kernel before compilation.

    Handing on a record copies all of it, which costs more than most parts do. Where single arrays
    are handed on, `piece` is as fast and compiles sooner.
    """
    return njit(inline="always", **_OPTIONS)(function)


@contextmanager
def announced(compiled: Any) -> Iterator[None]:
    """Say in the log that a kernel is being compiled, if that takes longer than two seconds."""

    def announce() -> None:
        if not compiled.signatures:
            logger.warning(
                "Compiling the kernels for this machine: some twenty seconds, the first time only."
            )

    timer = threading.Timer(_PATIENCE, announce)
    timer.daemon = True
    if not compiled.signatures:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
