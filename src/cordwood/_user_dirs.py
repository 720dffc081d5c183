"""Directories of the current user: one for files that may be deleted, one for installed files."""

import os
import sys
from pathlib import Path

CACHE_VARIABLE = "CORDWOOD_CACHE_DIR"
DATA_VARIABLE = "CORDWOOD_DATA_DIR"


def user_cache_dir() -> Path:
    """Return the directory of cached files, which may be deleted at any time; it may not exist."""
    # The environment variable CORDWOOD_CACHE_DIR, or else the directory of the operating system:
    # ``$XDG_CACHE_HOME/cordwood`` (``~/.cache/cordwood``) on Linux, ``~/Library/Caches/cordwood``
    # on macOS, ``%LOCALAPPDATA%\cordwood\cache`` on Windows.
    if configured := os.environ.get(CACHE_VARIABLE):
        return Path(configured)
    if sys.platform == "win32":
        return _local_app_data() / "cordwood" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cordwood"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cordwood"


def user_data_dir() -> Path:
    """Return the directory of files that the user has installed; it may not exist."""
    # The environment variable CORDWOOD_DATA_DIR, or else the directory of the operating system:
    # ``$XDG_DATA_HOME/cordwood`` (``~/.local/share/cordwood``) on Linux, ``~/Library/Application
    # Support/cordwood`` on macOS, ``%LOCALAPPDATA%\cordwood`` on Windows.
    if configured := os.environ.get(DATA_VARIABLE):
        return Path(configured)
    if sys.platform == "win32":
        return _local_app_data() / "cordwood"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "cordwood"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "cordwood"


def create_private_dir(path: Path) -> None:
    """Create a directory and those above it, which only this user can read, unless they exist."""
    # `Path.mkdir(parents=True)` applies the mode to the last one only.
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _local_app_data() -> Path:
    return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
