"""Bytes and lines of a data file: decompression, decoding and progress."""

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from stat import S_ISREG
from typing import IO, TYPE_CHECKING

from cordwood.datasets._row_errors import RowIssue
from cordwood.exceptions import CordwoodError, DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int | None], None]

STANDARD_INPUT = "-"
PROGRESS_STEP = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_ENCODING_ADVICE = "set the encoding, such as cp1252 or utf-16, with encoding= / --encoding"


def display_name(path: PathLike) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD_INPUT else os.fspath(path)


def check_encoding(encoding: str) -> None:
    """Raise an error if Python does not support the encoding."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise CordwoodError(
            "encoding must be a text encoding, such as 'utf-8', 'cp1252' or 'utf-16'; got "
            f"{encoding!r}"
        ) from None


@contextmanager
def open_bytes(path: PathLike, progress: Progress | None = None) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, and decompress it if its name ends in .gz.

    Parameters
    ----------
    path : path
        The file; ``"-"`` is standard input.
    progress : callable or None, default=None
        Called with the number of bytes read and the size of the (compressed) file, about every
        64 KiB and at the end. The size is None if it is unknown.

    Yields
    ------
    binary file
        Errors while reading it inside the block are raised as `DataError` with the file name.
    """
    name = display_name(path)
    is_gzip = name.lower().endswith(".gz")
    try:
        with ExitStack() as stack:
            if path == STANDARD_INPUT:
                stored, total = sys.stdin.buffer, None
            else:
                stored = stack.enter_context(open(path, "rb"))
                status = os.fstat(stored.fileno())
                total = status.st_size if S_ISREG(status.st_mode) else None
            file = io.BufferedReader(_ProgressReader(stored, total, progress), PROGRESS_STEP)
            start = file.peek(2)[:2]
            if is_gzip and not _GZIP_MAGIC.startswith(start):
                raise DataError(f"{name} is not in gzip format; remove .gz from its name")
            if not is_gzip and start == _GZIP_MAGIC:
                raise DataError(f"{name} is in gzip format; add .gz to its name, or decompress it")
            yield stack.enter_context(gzip.GzipFile(fileobj=file)) if is_gzip else file
    except EOFError:
        raise DataError(
            f"{name} is truncated: its gzip data has no end; copy the file again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} has corrupt gzip data ({error}); copy the file again") from error
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}") from error


class _ProgressReader(io.RawIOBase):
    """A raw file that reports how many bytes have been read."""

    def __init__(self, file: IO[bytes], total: int | None, progress: Progress | None) -> None:
        self._file = file
        self._total = total
        self._progress = progress
        self._done = self._reported = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._done

    def readinto(self, buffer: "WriteableBuffer") -> int:
        # At most one system call, so that data from a pipe are available immediately.
        n_read: int = self._file.readinto1(buffer)  # type: ignore[attr-defined]
        self._done += n_read
        at_end = n_read == 0 and self._reported < self._done
        if self._progress and (at_end or self._done - self._reported >= PROGRESS_STEP):
            self._reported = self._done
            self._progress(self._done, self._total)
        return n_read


class Lines:
    """Numbered lines of an open file, with their line ends.

    An undecodable byte or a NUL does not stop the iteration but sets `issue`, because it makes one
    row invalid and not the file. In encodings where the text after an undecodable byte is lost
    (UTF-16, UTF-32), it raises a `DataError` instead.

    Parameters
    ----------
    file : binary file
        The file, which must not be used by anyone else.
    name : str
        Name of the file for messages.
    encoding : str
        Text encoding. A byte order mark is removed in any encoding.

    Attributes
    ----------
    number : int
        Number of the last line that was returned, counted from 1.
    issue : RowIssue or None
        The first issue since `issue` was last set to None.

    Examples
    --------
    >>> lines = Lines(io.BytesIO(b"good\\nb\\xe4d\\n"), "words.txt", "utf-8")
    >>> len(list(lines))
    2
    >>> lines.issue.message
    'words.txt, line 2: byte 0xe4 at position 2 of the line is not utf-8 text'
    """

    def __init__(self, file: io.BufferedIOBase, name: str, encoding: str) -> None:
        self.name = name
        self.number = 0
        self.issue: RowIssue | None = None
        self._file = file
        # The byte order mark is removed below; with utf-8-sig, positions would be off by three.
        codec_name = codecs.lookup(encoding).name
        self._encoding = "utf-8" if codec_name == "utf-8-sig" else codec_name

    def __iter__(self) -> Iterator[str]:
        is_ascii_compatible = "\n".encode(self._encoding) == b"\n"
        text = io.TextIOWrapper(
            self._file,  # type: ignore[type-var]
            encoding=self._encoding,
            errors="surrogateescape" if is_ascii_compatible else "strict",
            newline="",
        )
        try:
            for line in text:
                self.number += 1
                if self.issue is None and ("\0" in line or not line.isascii()):
                    self.issue = self._find_issue(line)
                yield line.removeprefix("\ufeff") if self.number == 1 else line
        except UnicodeDecodeError as error:
            raise DataError(self._decoding_error(error)) from None

    def _find_issue(self, line: str) -> RowIssue | None:
        place = f"{self.name}, line {self.number}"
        if bad := _ESCAPED_BYTE.search(line):
            byte = ord(bad[0]) - 0xDC00
            position = len(line[: bad.start()].encode(self._encoding)) + 1
            message = (
                f"{place}: byte 0x{byte:02x} at position {position} of the line is not "
                f"{self._encoding} text"
            )
            return RowIssue(message, _ENCODING_ADVICE)
        if "\0" in line:
            message = f"{place}: character {line.index(chr(0)) + 1} of the line is a NUL"
            return RowIssue(message, "read UTF-16 with encoding= / --encoding utf-16")
        return None

    def _decoding_error(self, error: UnicodeDecodeError) -> str:
        before = error.object[: error.start].decode(error.encoding, "replace")
        line = self.number + before.count("\n") + 1
        position = self._file.tell() - len(error.object) + error.start + 1
        return (
            f"{self.name}, line {line}: byte 0x{error.object[error.start]:02x} at position "
            f"{position} of the file is not {self._encoding} text; {_ENCODING_ADVICE}"
        )
