"""Compilation of numba kernels, and the directory where the machine code is cached.

Kernels are compiled on first use, cached on disk and run without the GIL. numba recompiles a kernel
when its own file has changed, but not when a helper that it calls has, and an upgrade may keep a
file's modification time. So the name of the cache directory contains a digest of all kernel
sources.
"""

import hashlib
import logging
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

Words: TypeAlias = NDArray[np.uint32]
Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Seed: TypeAlias = NDArray[np.uint64]

# numba infers the width of a number, and the fields of a record of arrays, from what is passed.
Int: TypeAlias = Any
Float: TypeAlias = Any
Record: TypeAlias = Any

# Nobody calls kernels from C, and leaving that door out compiles a sixth sooner.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# A wait that people notice.
_PATIENCE = 2.0

_PREFIX = "cordwood-kernels-"

# Every module that contains kernels or their helpers, relative to the package.
_SOURCES = (
    "_jit.py",
    "_intrinsics.py",
    "_random.py",
    "ensemble/_tree_engine/*.py",
    "linear_model/_dual_solver.py",
    "neighbors/_knn.py",
)

# Seconds after which a folder of other sources is taken for a left-over. Before that, somebody may
# still run them, such as a server that was started before an upgrade.
_STALE = 7 * 24 * 3600


def find_folder() -> Path | None:
    """Make or find the first folder that can be written, or None.

    In this order: the one that NUMBA_CACHE_DIR names, beside the source, the user's cache folder,
    and a private one for temporary files, for a container without a home.
    """
    here = Path(__file__).parent
    name = _PREFIX + _digest(here)
    for base in _bases(here):
        if base is not None and _is_ours(folder := base / name):
            if base.parent == here:
                _remove_others(folder)
            return folder
    return None


def _digest(package: Path) -> str:
    digest = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _bases(here: Path) -> Iterator[Path | None]:
    if chosen := vars(config)["CACHE_DIR"]:
        yield Path(chosen)
    yield here / "__pycache__"
    yield _user_folder()
    # Others may put files into the common folder for temporary files: what we keep is run, so
    # it goes into one that is our own.
    private = Path(tempfile.gettempdir(), f"cordwood-{_owner()}")
    yield private if _is_ours(private) else None


def _user_folder() -> Path | None:
    with suppress(RuntimeError):  # no home
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home())
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return None


def _is_ours(folder: Path) -> bool:
    """Make a folder if need be; tell whether it is ours, only ours, and can be written."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    if os.name != "posix":
        return True
    mine = status.st_uid == _owner() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and mine


def _owner() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _remove_others(folder: Path) -> None:
    """Remove what earlier versions of the sources have left beside them."""
    for other in folder.parent.glob(_PREFIX + "*"):
        with suppress(OSError):
            if other != folder and time.time() - other.stat().st_mtime > _STALE:
                shutil.rmtree(other, ignore_errors=True)


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
