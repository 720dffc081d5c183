"""The bytes and lines of one data file; the only place that knows of gzip and of encodings."""

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

from cordwood.datasets._row_errors import Fault
from cordwood.exceptions import CordwoodError, DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int | None], None]

STANDARD_INPUT = "-"
PROGRESS_STEP = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_NAME_THE_ENCODING = (
    "name the file's encoding, such as cp1252 or utf-16, with encoding= / --encoding"
)


def display_name(path: PathLike) -> str:
    """Name the file in a sentence, as the user wrote it."""
    return "standard input" if path == STANDARD_INPUT else os.fspath(path)


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):
        raise CordwoodError(
            f"there is no text encoding {encoding!r}; name one such as utf-8, cp1252 or utf-16 "
            "with encoding= / --encoding"
        ) from None


@contextmanager
def open_bytes(path: PathLike, progress: Progress | None = None) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, unpacked where its name ends in .gz.

    Parameters
    ----------
    path : path
        The file; ``"-"`` is standard input, which is taken as it comes.
    progress : callable, optional
        Told ``(done, total)`` in bytes of the file as it is stored, about every 64 KiB and at the
        end; the total is None where nobody knows it.

    Yields
    ------
    binary file
        What goes wrong in reading it inside the block becomes a `DataError` that names the file.
    """
    name = display_name(path)
    packed = name.lower().endswith(".gz")
    try:
        with ExitStack() as stack:
            if path == STANDARD_INPUT:
                stored, total = sys.stdin.buffer, None
            else:
                stored = stack.enter_context(open(path, "rb"))
                status = os.fstat(stored.fileno())
                total = status.st_size if S_ISREG(status.st_mode) else None
            file = io.BufferedReader(_Metered(stored, total, progress), PROGRESS_STEP)
            begins = file.peek(2)[:2]
            if packed and not _GZIP_MAGIC.startswith(begins):
                raise DataError(f"{name} is not gzip data; take .gz off its name")
            if not packed and begins == _GZIP_MAGIC:
                raise DataError(f"{name} is gzip data; add .gz to its name, or unpack it")
            yield stack.enter_context(gzip.GzipFile(fileobj=file)) if packed else file
    except EOFError:
        raise DataError(f"{name} is cut short: its gzip data has no end; copy it anew") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} is damaged gzip data ({error}); copy it anew") from error
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}") from error


class _Metered(io.RawIOBase):
    """A file that tells how far it has been read."""

    def __init__(self, file: IO[bytes], total: int | None, progress: Progress | None) -> None:
        self._file = file
        self._total = total
        self._progress = progress
        self._done = self._told = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._done

    def readinto(self, buffer: "WriteableBuffer") -> int:
        # At most one read of the system: what has come through a pipe is handed on at once.
        n_read: int = self._file.readinto1(buffer)  # type: ignore[attr-defined]
        self._done += n_read
        at_end = n_read == 0 and self._told < self._done
        if self._progress and (at_end or self._done - self._told >= PROGRESS_STEP):
            self._told = self._done
            self._progress(self._done, self._total)
        return n_read


class Lines:
    """The lines of an open file, numbered as an editor numbers them, each with its line end.

    A byte that is no text in the encoding, or a NUL, does not stop the iteration but sets `flaw`:
    the row that the line belongs to is bad, not the file. Encodings in which one bad byte makes
    nonsense of all that follows (UTF-16, UTF-32) raise a `DataError` instead.

    Parameters
    ----------
    file : binary file
        Belongs to the lines from now on.
    name : str
        The file in sentences.
    encoding : str
        A byte order mark is dropped whatever the encoding.

    Attributes
    ----------
    number : int
        Of the last line that was handed out, from 1.
    flaw : Fault or None
        What is wrong with the first bad line since `flaw` was last set to None.

    Examples
    --------
    >>> lines = Lines(io.BytesIO(b"good\\nb\\xe4d\\n"), "words.txt", "utf-8")
    >>> len(list(lines))
    2
    >>> lines.flaw.sentence
    'words.txt, line 2: byte 0xe4 at position 2 of the line is not utf-8 text'
    """

    def __init__(self, file: io.BufferedIOBase, name: str, encoding: str) -> None:
        self.name = name
        self.number = 0
        self.flaw: Fault | None = None
        self._file = file
        # The mark is dropped below; a codec that writes one would spoil the positions.
        known = codecs.lookup(encoding).name
        self._encoding = "utf-8" if known == "utf-8-sig" else known

    def __iter__(self) -> Iterator[str]:
        each_line_apart = "\n".encode(self._encoding) == b"\n"
        text = io.TextIOWrapper(
            self._file,  # type: ignore[type-var]
            encoding=self._encoding,
            errors="surrogateescape" if each_line_apart else "strict",
            newline="",
        )
        try:
            for line in text:
                self.number += 1
                if self.flaw is None and ("\0" in line or not line.isascii()):
                    self.flaw = self._find_flaw(line)
                yield line.removeprefix("\ufeff") if self.number == 1 else line
        except UnicodeDecodeError as error:
            raise DataError(self._lost(error)) from None

    def _find_flaw(self, line: str) -> Fault | None:
        place = f"{self.name}, line {self.number}"
        if bad := _ESCAPED_BYTE.search(line):
            byte = ord(bad[0]) - 0xDC00
            position = len(line[: bad.start()].encode(self._encoding)) + 1
            what = (
                f"byte 0x{byte:02x} at position {position} of the line is not {self._encoding} text"
            )
            return Fault(f"{place}: {what}", _NAME_THE_ENCODING)
        if "\0" in line:
            what = f"character {line.index(chr(0)) + 1} of the line is a NUL, which no text holds"
            return Fault(f"{place}: {what}", "read UTF-16 with encoding= / --encoding utf-16")
        return None

    def _lost(self, error: UnicodeDecodeError) -> str:
        before = error.object[: error.start].decode(error.encoding, "replace")
        line = self.number + before.count("\n") + 1
        position = self._file.tell() - len(error.object) + error.start + 1
        return (
            f"{self.name}, line {line}: byte 0x{error.object[error.start]:02x} at position "
            f"{position} of the file is not {self._encoding} text; {_NAME_THE_ENCODING}"
        )
