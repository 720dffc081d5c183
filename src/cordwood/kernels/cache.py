"""Where compiled kernels are kept: a folder that we can write, named after their source.

numba compiles a kernel anew when its own file has changed, but not when a piece that it calls has,
and an upgrade may leave a file's date as it was. So the folder carries a digest of all sources.
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from numba import config

_PREFIX = "cordwood-kernels-"

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


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
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
