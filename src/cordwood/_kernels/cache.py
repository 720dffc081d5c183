"""The cache of compiled kernels: where it is, and files that are checked before they are used.

The machine code of a kernel is one file for each combination of argument types. It begins with a
checksum of its content and of everything that the code depends on, so that a file that is damaged,
or was compiled for something else, is replaced instead of executed. numba's own cache has no
checksums, and fails in every process after a file was truncated.

numba recompiles a kernel when its own file has changed, but not when a helper that it calls has, so
the name of the directory contains a digest of all kernel sources.
"""

import hashlib
import logging
import os
import pickle
import platform
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import config
from numba.core import compiler, serialize

from cordwood._user_dirs import create_private_dir, user_cache_dir

logger = logging.getLogger(__name__)

_rebuild: Any = compiler.CompileResult._rebuild
_dumps: Any = serialize.dumps

# Seconds of compilation in a process after which a message is logged.
_SLOW_COMPILATION = 2.0

# Seconds to wait for another process that compiles the same kernel: if it is stopped or slow, both
# compile it.
_PATIENCE = 60.0

_NOBODY = 65534
_PREFIX = "cordwood-kernels-"
_SUFFIX = ".kernel"

# Modules with kernels and all that these import of the package, as glob patterns relative to it:
# the only such list, which tests/_kernels/test_cache.py keeps complete. A list, because searching
# the whole package for kernels would read every file of it at import.
_SOURCES = (
    "_kernels/*.py",
    "audit/_set_join.py",
    "encoders/activations.py",
    "encoders/matmul.py",
    "ensemble/tree_engine/*.py",
    "explain/_lazy_paths.py",
    "explain/_tree_shap.py",
    "linear_model/_dual_solver.py",
    "stacking/combiners/_pool_loss.py",
    "neighbors/_knn.py",
)

# Seconds without use after which the cache directory of other sources is deleted, and seconds after
# which another use of a directory is noted.
_STALE_AFTER = 30 * 24 * 3600
_NOTE_USE_AFTER = 24 * 3600


def find_cache_dir() -> Path | None:
    """Create or find the first usable cache directory; None if none is writable."""
    # Candidates, in this order: NUMBA_CACHE_DIR, the user's cache directory, and a private
    # temporary directory (for containers without a home directory). The package directory is not
    # one of them, because ``pip uninstall`` leaves files that it did not install.
    name = _PREFIX + _source_digest(Path(__file__).parents[1])
    bases = list(_candidate_dirs())
    for base in bases:
        cache_dir = base.resolve() / name
        if _is_private_dir(cache_dir):
            _note_use(cache_dir, bases)
            return cache_dir
    return None


def list_sources(package: Path) -> list[Path]:
    """Return the files of all modules with kernels, and of those that these import."""
    return [path for pattern in _SOURCES for path in sorted(package.glob(pattern))]


def _source_digest(package: Path) -> str:
    digest = hashlib.sha256()
    for path in list_sources(package):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _candidate_dirs() -> Iterator[Path]:
    if configured := vars(config)["CACHE_DIR"]:
        yield Path(configured)
    with suppress(RuntimeError):  # no home directory
        yield user_cache_dir()
    # Cached files are executed, and other users can write to the shared temporary directory: use a
    # subdirectory that only this user can write to.
    private = Path(tempfile.gettempdir(), f"cordwood-{_user_id()}").absolute()
    if _is_private_dir(private):
        yield private


def _is_private_dir(path: Path) -> bool:
    """Create a directory if needed; return whether this user can write to it and no other can."""
    try:
        create_private_dir(path)
        tempfile.TemporaryFile(dir=path).close()
        # Who can write to a directory above it could replace it.
        return not path.is_symlink() and all(
            _is_private(each.stat(), shared=each != path) for each in (path, *path.parents)
        )
    except OSError:
        return False


def _is_private(status: os.stat_result, *, shared: bool = False) -> bool:
    """Return whether no other user can write; `shared` directories may be those of the system."""
    if os.name != "posix":
        return True
    # In some containers, the directories of root seem to belong to nobody.
    owners = (_user_id(), 0, _NOBODY) if shared else (_user_id(),)
    # In a directory such as /tmp, only the owner can rename a file.
    is_sticky = shared and status.st_mode & stat.S_ISVTX
    is_writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky
    return status.st_uid in owners and not is_writable


def _user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _note_use(cache_dir: Path, bases: list[Path]) -> None:
    """Note once a day that a directory is in use, and delete directories that no longer are."""
    with suppress(OSError):
        age = time.time() - cache_dir.stat().st_mtime
        if age > _NOTE_USE_AFTER or not any(cache_dir.iterdir()):
            os.utime(cache_dir)
            for base in bases:
                _remove_stale(base, cache_dir)


def _remove_stale(base: Path, cache_dir: Path) -> None:
    """Delete the cache directories of other sources that were not used for a month."""
    for other in base.glob(_PREFIX + "*"):
        with suppress(OSError):
            if other != cache_dir and time.time() - other.stat().st_mtime > _STALE_AFTER:
                shutil.rmtree(other, ignore_errors=True)


class KernelCache:
    """Cache of the machine code of one kernel, with the interface of numba's caches."""

    def __init__(self, name: str, directory: Path | None) -> None:
        self._name = name
        self._directory = directory
        self._lock: Any = None  # held while this process compiles

    @property
    def cache_path(self) -> str:
        """The directory of the files."""
        return str(self._directory or "")

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled kernel; None if there is no valid file of it."""
        target_context.refresh()
        identity = self._identify(signature, target_context.codegen())
        payload = self._read(identity)
        if payload is None:
            compilation_log.begin()
            self._acquire_lock(identity)
            payload = self._read(identity)
            if payload is None:
                return None
            compilation_log.end()
            self._release_lock()
        return _rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write the file of a compiled kernel."""
        compilation_log.end()
        if self._directory is not None:
            payload = _dumps(compiled._reduce())
            self._write(self._identify(signature, compiled.codegen), payload)
        self._release_lock()

    def flush(self) -> None:
        """Delete all files of the kernel."""
        if self._directory is not None:
            for path in self._directory.glob(f"{self._name}.*{_SUFFIX}"):
                path.unlink(missing_ok=True)

    def _acquire_lock(self, identity: bytes) -> None:
        """Wait for another process that compiles the same kernel, which it can then load."""
        filelock = import_module("filelock")  # which imports much, and is seldom needed
        path = self._path(identity)
        if path is not None:
            self._release_lock()  # of a compilation that failed
            self._lock = filelock.FileLock(path.with_suffix(".lock"), thread_local=False)
            with suppress(OSError, filelock.Timeout):
                self._lock.acquire(timeout=_PATIENCE)

    def _release_lock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None and lock.is_locked:
            lock.release()
            with suppress(OSError):  # another process waits for it, or has deleted it
                os.unlink(lock.lock_file)

    def _identify(self, signature: Any, codegen: Any) -> bytes:
        """Return what machine code depends on, beside the sources."""
        versions = (numba.__version__, llvmlite.__version__, platform.python_version())
        return repr((self._name, signature, codegen.magic_tuple(), versions)).encode()

    def _path(self, identity: bytes) -> Path | None:
        if self._directory is None:
            return None
        number = hashlib.sha256(identity).hexdigest()[:16]
        return self._directory / f"{self._name}.{number}{_SUFFIX}"

    def _read(self, identity: bytes) -> bytes | None:
        path = self._path(identity)
        if path is None:
            return None
        try:
            with open(path, "rb") as file:
                is_private = _is_private(os.fstat(file.fileno()))
                content = file.read() if is_private else b""
        except OSError:  # There is no such file, or another process is replacing it.
            return None
        checksum, payload = content[:32], content[32:]
        if checksum != _checksum(identity, payload):
            logger.info("The kernel cache file %s is damaged and will be replaced.", path)
            return None
        return payload

    def _write(self, identity: bytes, payload: bytes) -> None:
        """Write a file completely or not at all: other processes may read and write it as well."""
        path = self._path(identity)
        if path is None:
            return
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(_checksum(identity, payload) + payload)
            try:
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
                raise
        except OSError as error:
            # The kernel is compiled, so the fit can go on; for example if the disk is full.
            _report_unwritable(path.parent, error.strerror)


@lru_cache  # a sentence for all kernels
def _report_unwritable(directory: Path, reason: str) -> None:
    logger.warning("The kernel cache %s cannot be written: %s.", directory, reason)


def _checksum(identity: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(len(identity).to_bytes(8, "little") + identity + payload).digest()


class CompilationLog:
    """Logs one message per process if compilation takes longer than two seconds in total."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._start = 0.0
        self._timer: threading.Timer | None = None
        self._is_logged = False

    def begin(self) -> None:
        """Start the clock; numba compiles one kernel at a time, and those that it calls."""
        if self._is_logged or self._timer is not None:
            return
        self._start = time.perf_counter()
        self._timer = threading.Timer(max(_SLOW_COMPILATION - self._seconds, 0.0), self._log)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._seconds += time.perf_counter() - self._start

    def _log(self) -> None:
        if not self._is_logged:
            self._is_logged = True
            logger.warning(
                "Compiling numba kernels: this takes up to a minute, the first time only."
            )


compilation_log = CompilationLog()

CACHE_DIR = find_cache_dir()
if CACHE_DIR is None:
    logger.warning(
        "No writable cache directory was found, so kernels are compiled again in every process; "
        "set NUMBA_CACHE_DIR to a writable directory."
    )
