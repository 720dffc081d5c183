"""Atomic file writes: a file is replaced completely or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def write(path: str | os.PathLike[str], mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` if the block completes without an exception.

    Parameters
    ----------
    path : str or path-like
        File to create or replace. Its directory must exist.
    mode : {"w", "wb"}, default="w"
        Mode passed to `open`. Text is encoded as UTF-8 unless `encoding` is given.
    **options
        Further arguments of `open`.

    Yields
    ------
    file object
        Temporary file in the directory of `path`, so that the final rename stays within one file
        system.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "result.txt")
    ...     with write(target) as file:
    ...         _ = file.write("42")
    ...     target.read_text()
    '42'
    """
    target = Path(path)
    if "b" not in mode:
        options.setdefault("encoding", "utf-8")
    # Keep the permissions of an existing file; mkstemp would restrict a new one to its owner.
    permissions = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(descriptor, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, permissions)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    """Return the file mode creation mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
