"""Atomic file writes: a file is replaced completely or not at all."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

# Errors of a full disk, which Python raises without the name of the file.
_NO_SPACE = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def write(path: str | os.PathLike[str], mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` if the block completes without an exception."""
    # The temporary file is in the directory of the replaced one, so that the rename stays within
    # one file system. A symbolic link is followed. A device or a named pipe cannot be replaced and
    # is written directly.
    target = resolve_links(path)
    if "b" not in mode:
        options.setdefault("encoding", "utf-8")
    if target.exists() and not target.is_file():
        with name_full_disk(path), open(target, mode, **options) as file:
            yield file
        return
    # Keep the permissions of an existing file; mkstemp would restrict a new one to its owner.
    permissions = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with name_full_disk(path), open(descriptor, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, permissions)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def resolve_links(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path with symbolic links points to, which may not exist."""
    resolved = Path(os.path.realpath(path))
    if resolved.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return resolved


@contextmanager
def name_full_disk(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of a file to the error that the disk is full."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_SPACE:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _umask() -> int:
    """Return the file mode creation mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
