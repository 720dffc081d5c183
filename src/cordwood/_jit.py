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

# Seconds of compilation after which a message is logged.
_SLOW_COMPILATION = 2.0

_PREFIX = "cordwood-kernels-"

# Modules that contain kernels or their helpers, as glob patterns relative to the package.
_SOURCES = (
    "_jit.py",
    "_intrinsics.py",
    "_random.py",
    "ensemble/_tree_engine/*.py",
    "inspection/_lazy_paths.py",
    "inspection/_tree_shap.py",
    "linear_model/_dual_solver.py",
    "neighbors/_knn.py",
)

# Age in seconds after which the cache directory of other sources is deleted. A younger one may
# still be in use, for example by a server that was started before an upgrade.
_STALE_AFTER = 7 * 24 * 3600


def find_cache_dir() -> Path | None:
    """Create or find the first usable cache directory; None if none is writable.

    Candidates, in this order: NUMBA_CACHE_DIR, `__pycache__` next to the source, the user's cache
    directory, and a private temporary directory (for containers without a home directory).
    """
    package = Path(__file__).parent
    name = _PREFIX + _source_digest(package)
    for base in _candidate_dirs(package):
        if base is not None and _is_private_dir(cache_dir := base / name):
            if base.parent == package:
                _remove_stale(cache_dir)
            return cache_dir
    return None


def _source_digest(package: Path) -> str:
    digest = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _candidate_dirs(package: Path) -> Iterator[Path | None]:
    if configured := vars(config)["CACHE_DIR"]:
        yield Path(configured)
    yield package / "__pycache__"
    yield _user_cache_dir()
    # Cached files are executed, and other users can write to the shared temporary directory: use a
    # subdirectory that only this user can write to.
    private = Path(tempfile.gettempdir(), f"cordwood-{_user_id()}")
    yield private if _is_private_dir(private) else None


def _user_cache_dir() -> Path | None:
    with suppress(RuntimeError):  # no home directory
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home())
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return None


def _is_private_dir(path: Path) -> bool:
    """Create a directory if needed; return whether it is writable by this user and no other."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    if os.name != "posix":
        return True
    is_private = status.st_uid == _user_id() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and is_private


def _user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _remove_stale(cache_dir: Path) -> None:
    """Delete old cache directories of other versions of the sources."""
    for other in cache_dir.parent.glob(_PREFIX + "*"):
        with suppress(OSError):
            if other != cache_dir and time.time() - other.stat().st_mtime > _STALE_AFTER:
                shutil.rmtree(other, ignore_errors=True)


_CACHE_DIR = find_cache_dir()
if _CACHE_DIR is None:
    logger.warning(
        "No writable cache directory was found, so kernels are compiled again in every process; "
        "set NUMBA_CACHE_DIR to a writable directory."
    )


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that is called from Python: on first use, cached on disk."""
    if _CACHE_DIR is None:
        return njit(**_OPTIONS)(function)
    settings = vars(config)
    before, settings["CACHE_DIR"] = settings["CACHE_DIR"], str(_CACHE_DIR)
    try:
        return njit(cache=True, **_OPTIONS)(function)
    finally:
        settings["CACHE_DIR"] = before


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that is called from kernels: it is cached as part of these."""
    return njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Inline a function into the kernels that call it; for functions that take records of arrays.

    Passing a record copies all of its fields, which costs more than most helpers do. Functions
    that take single arrays are as fast with `helper` and compile faster.
    """
    return njit(inline="always", **_OPTIONS)(function)


@contextmanager
def log_slow_compilation(compiled: Any) -> Iterator[None]:
    """Log a message if a kernel is being compiled for longer than two seconds."""

    def log() -> None:
        if not compiled.signatures:
            logger.warning(
                "Compiling numba kernels: this takes about twenty seconds, on the first call only."
            )

    timer = threading.Timer(_SLOW_COMPILATION, log)
    timer.daemon = True
    if not compiled.signatures:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
