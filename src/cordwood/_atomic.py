"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


@contextmanager
def write(path: str | os.PathLike[str], mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` only when the block ends without an error.

    Parameters
    ----------
    path : path
        The file to write or to replace. Its folder must exist.
    mode : {"w", "wb"}
        As for `open`; text is UTF-8 unless `options` say otherwise.
    **options
        Passed on to `open`.

    Yields
    ------
    file object
        A temporary file in the same folder, so that the final rename cannot cross file systems.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "answer.txt")
    ...     with write(target) as file:
    ...         _ = file.write("42")
    ...     target.read_text()
    '42'
    """
    target = Path(path)
    if "b" not in mode:
        options.setdefault("encoding", "utf-8")
    # A file that stands keeps its permissions; a new one gets what `open` would have given it.
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
    """Read the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
