"""Bytes and lines of a data file: decompression, decoding, size limits and progress."""

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
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

MAX_ROW_LENGTH = 1 << 26
"""Default number of characters of a row: longer than any text that is worth classifying."""

MAX_EXPANSION = 20
"""Default ratio of decompressed to compressed size; compressed text has a third to a tenth of its
size, while gzip can compress data to a thousandth."""

MIN_DECOMPRESSED_SIZE = 1 << 24
"""Decompressed size in bytes that is allowed for compressed files of any size, by default."""

_GZIP_MAGIC = b"\x1f\x8b"
_SURROGATE = re.compile("[\ud800-\udfff]")
# Python can decode these, but only as a whole and not in the way of a text encoding.
_NOT_FOR_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
# UTF-32 first, because its mark starts with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ENCODING_ADVICE = "set the encoding, such as cp1252 or utf-16, with encoding= / --encoding"


def display_name(path: PathLike) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD_INPUT else os.fspath(path)


def check_encoding(encoding: str) -> None:
    """Raise an error if Python does not support the encoding for files."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        is_supported = codecs.lookup(encoding).name.replace("_", "-") not in _NOT_FOR_FILES
    except (LookupError, TypeError, ValueError):
        is_supported = False
    if not is_supported:
        raise CordwoodError(
            "encoding must be a text encoding, such as 'utf-8', 'cp1252' or 'utf-16'; got "
            f"{encoding!r}"
        )


def detect_encoding(start: bytes) -> str:
    """Return the encoding that the first bytes of a file show by a byte order mark, else UTF-8.

    Examples
    --------
    >>> [detect_encoding(text.encode(name)) for text, name in (("a", "utf-16"), ("a", "cp1252"))]
    ['utf-16', 'utf-8']
    """
    return next((name for mark, name in _BYTE_ORDER_MARKS if start.startswith(mark)), "utf-8")


def default_max_bytes(compressed_size: int) -> int:
    """Return the default limit of the decompressed size.

    Examples
    --------
    >>> default_max_bytes(1000), default_max_bytes(10_000_000)
    (16777216, 200000000)
    """
    return max(MIN_DECOMPRESSED_SIZE, MAX_EXPANSION * compressed_size)


class Budget:
    """Bytes that the content of a compressed file may take; raises before more are allocated."""

    def __init__(self, name: str, file_size: int, max_bytes: int | None) -> None:
        self.limit = default_max_bytes(file_size) if max_bytes is None else max_bytes
        self._name = name
        self._spent = 0.0

    def spend(self, n_bytes: float) -> None:
        """Count bytes, or the size of the objects that they become."""
        self._spent += n_bytes
        if self._spent > self.limit:
            raise DataError(
                f"{self._name} has more than {self.limit:,} bytes after decompression; if it is "
                "not malicious, raise this limit with max_bytes= / --max-bytes"
            )


@contextmanager
def open_bytes(
    path: PathLike, progress: Progress | None = None, *, max_bytes: int | None = None
) -> Iterator[io.BufferedIOBase]:
    """Open a file for reading, and decompress it if its name ends in .gz.

    `progress` is called about every 64 KiB of the stored file. Errors while reading inside the
    block are raised as `DataError` with the name of the file.
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
            if not is_gzip:
                yield file
                return
            content = stack.enter_context(gzip.GzipFile(fileobj=file))
            if max_bytes is None:
                # A compressed pipe has no size; it is limited as an empty file is.
                max_bytes = default_max_bytes(total or 0)
            yield io.BufferedReader(_LimitedReader(content, max_bytes, name), PROGRESS_STEP)
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


class _LimitedReader(io.RawIOBase):
    """A raw file that raises an error if there are more than `max_bytes` bytes."""

    def __init__(self, file: gzip.GzipFile, max_bytes: int, name: str) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self._name = name
        self._done = self._n_lines = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._done

    def readinto(self, buffer: "WriteableBuffer") -> int:
        data = self._file.read1(min(len(memoryview(buffer)), self._max_bytes - self._done + 1))
        self._done += len(data)
        if self._done > self._max_bytes:
            raise DataError(
                f"{self._name}, line {self._n_lines + 1}: the file has more than "
                f"{self._max_bytes:,} bytes after decompression; if it is not malicious, raise "
                "this limit with max_bytes= / --max-bytes, or decompress the file"
            )
        self._n_lines += data.count(b"\n")
        memoryview(buffer)[: len(data)] = data
        return len(data)


class Lines:
    """Numbered lines of an open file, with their line ends.

    An undecodable byte or a NUL does not stop the iteration but sets `issue`, because it makes one
    row invalid and not the file. In encodings where the text after an undecodable byte is lost
    (UTF-16, UTF-32), it raises a `DataError` instead.

    Examples
    --------
    >>> lines = Lines(io.BytesIO(b"good\\nb\\xe4d\\n"), "words.txt", "utf-8")
    >>> len(list(lines))
    2
    >>> lines.issue.message
    'words.txt, line 2: byte 0xe4 at position 2 of the line is not utf-8 text'
    """

    def __init__(
        self,
        file: io.BufferedIOBase,
        name: str,
        encoding: str | None,
        max_length: int = MAX_ROW_LENGTH,
    ) -> None:
        self.name = name
        self.max_length = max_length
        self.number = 0  # of the last line that was returned
        self.issue: RowIssue | None = None  # the first one since it was last set to None
        self._file = file
        # The byte order mark is removed below; with utf-8-sig, positions would be off by three.
        encoding = encoding or detect_encoding(file.peek(4))  # type: ignore[attr-defined]
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
            n_characters = min(self.max_length, sys.maxsize - 1) + 1
            for line in iter(partial(text.readline, n_characters), ""):
                self.number += 1
                if len(line) > self.max_length:
                    raise row_length_error(f"{self.name}, line {self.number}", self.max_length)
                if self.issue is None and ("\0" in line or not line.isascii()):
                    self.issue = self._find_issue(line)
                yield line.removeprefix("\ufeff") if self.number == 1 else line
        except UnicodeDecodeError as error:
            raise DataError(self._decoding_error(error)) from None
        except UnicodeError as error:
            # Of UTF-16 and UTF-32 without a byte order mark, and of stateful encodings.
            raise DataError(
                f"{self.name}, line {self.number + 1} is not {self._encoding} text ({error}); "
                "set another encoding, such as utf-8 or utf-16-le, with encoding= / --encoding"
            ) from None

    def _find_issue(self, line: str) -> RowIssue | None:
        place = f"{self.name}, line {self.number}"
        if bad := _SURROGATE.search(line):
            byte = ord(bad[0]) - 0xDC00
            if not 0x80 <= byte <= 0xFF:  # not an undecodable byte, but decoded by UTF-7
                message = f"{place}: character {bad.start() + 1} of the line is a lone surrogate"
                return RowIssue(message, "correct the text")
            # Not every text that a stateful encoding decodes can be encoded again.
            position = len(line[: bad.start()].encode(self._encoding, "replace")) + 1
            message = (
                f"{place}: byte 0x{byte:02x} at position {position} of the line is not "
                f"{self._encoding} text"
            )
            return RowIssue(message, _ENCODING_ADVICE, is_of_file=True)
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


def row_length_error(place: str, max_length: int) -> DataError:
    """Return the error about a row that has more than `max_length` characters."""
    return DataError(
        f"{place}: the row has more than {max_length:,} characters; shorten it, or raise this "
        "limit with max_row_length= / --max-row-length"
    )


def unreadable_error(name: str, kind: str, error: BaseException, advice: str) -> DataError:
    """Return the error about a file that a library cannot read, with the beginning of its error."""
    message = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return DataError(f"{name} cannot be read as {kind} ({message[:200]}); {advice}")
