"""The zip archive of a model file: four members, a digest of each, and bounded decompression.

``sha256`` holds one line per other member, in the format of the command `sha256sum`, so that
``unzip model.cordwood && sha256sum --check sha256`` verifies a file without cordwood.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from cordwood._schema.errors import Rejected

CARD, TREE, ARRAYS, DIGESTS = "cordwood.json", "model.json", "arrays", "sha256"

# A model may take this much memory: a multiple of the file size, plus a constant. Files of the
# recipes expand 3 to 30 times, see docs/model-files.md.
_MAX_EXPANSION = 100
_MIN_LIMIT = 256 * 2**20

# The tree has neither arrays nor vocabularies; a parsed tree takes about twenty times its size.
_MAX_SIZES = {TREE: 16 * 2**20, CARD: 16 * 2**20, DIGESTS: 4096}
_MAX_DIRECTORY_SIZE = 4096

_BLOCK = 2**20

_END_SIZE, _END_SIZE_64 = 22, 22 + 20 + 56
_END_MAGIC, _END_MAGIC_64 = b"PK\x05\x06", b"PK\x06\x06"


class Damaged(Exception):
    """The content differs from what was written; the message is the reason."""


class Content(NamedTuple):
    """Verified content of a model file."""

    card: bytes
    tree: bytes
    arrays: NDArray[np.uint8]
    file_size: int


def memory_limit(file_size: int) -> int:
    """Return the memory in bytes that a model may take, for the size of its file."""
    return _MAX_EXPANSION * file_size + _MIN_LIMIT


class ArchiveWriter:
    """Writes the members of a model file one after another; a context manager."""

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = ZipFile(file, "w", ZIP_DEFLATED)
        self._digests: dict[str, str] = {}

    @contextmanager
    def open(self, name: str) -> Iterator["_HashingWriter"]:
        """Open a member for writing, without knowing its size."""
        with self._archive.open(_make_info(name), "w", force_zip64=True) as member:
            writer = _HashingWriter(member)
            yield writer
        self._digests[name] = writer.digest.hexdigest()

    def write(self, name: str, content: bytes) -> None:
        """Write a whole member; raise Rejected if it is larger than `read_content` accepts."""
        _check_size(name, len(content))
        with self.open(name) as member:
            member.write(content)

    def write_digests(self) -> None:
        """Write the digests of all members so far."""
        self._archive.writestr(_make_info(DIGESTS), _format_digests(self._digests))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()


class _HashingWriter:
    """Passes bytes to a file and to a hash function."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, content: Any) -> None:
        """Write a bytes-like object."""
        self._file.write(content)
        self.digest.update(content)


def read_card(file: IO[bytes]) -> bytes:
    """Read the model card, without verifying the rest of the file."""
    archive = _open_archive(file)
    return _read_member(archive, CARD, hashlib.sha256()).tobytes()


def read_content(file: IO[bytes]) -> Content:
    """Read all members; raise Damaged or Rejected unless they are complete, valid and not large."""
    archive = _open_archive(file)
    members = {member.filename: member for member in archive.infolist()}
    if sorted(members) != sorted((CARD, TREE, ARRAYS, DIGESTS)) or len(archive.infolist()) != 4:
        raise Rejected("does not have exactly the members of a model file")
    file_size = file.seek(0, os.SEEK_END)
    if sum(member.file_size for member in members.values()) > memory_limit(file_size):
        raise Rejected("has archive members that are too large for the size of the file")
    contents: dict[str, NDArray[np.uint8]] = {}
    digests: dict[str, str] = {}
    for name in (CARD, TREE, ARRAYS):
        digest = hashlib.sha256()
        contents[name] = _read_member(archive, name, digest)
        digests[name] = digest.hexdigest()
    stored = _read_member(archive, DIGESTS, hashlib.sha256()).tobytes()
    if stored != _format_digests(digests):
        raise Damaged("its content does not match its SHA-256 digest")
    card, tree = contents[CARD].tobytes(), contents[TREE].tobytes()
    return Content(card, tree, contents[ARRAYS], file_size)


def _open_archive(file: IO[bytes]) -> ZipFile:
    if file.read(4) != b"PK\x03\x04":
        file.seek(0)
        hint = ", but seems to be a pickle, which may run code" if file.read(1) == b"\x80" else ""
        raise Rejected(f"is not a cordwood model file{hint}")
    _check_directory_size(file)
    archive = ZipFile(file)
    if CARD not in archive.namelist():
        raise Rejected(f"is not a cordwood model file: it contains no {CARD}")
    return archive


def _check_directory_size(file: IO[bytes]) -> None:
    """Check the size of the directory before `ZipFile` reads it: each entry becomes an object."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_SIZE_64))
    tail = file.read()
    end = tail[-_END_SIZE:]
    if not end.startswith(_END_MAGIC):
        raise Damaged("it does not end with the directory of an archive")
    directory_size = int.from_bytes(end[12:16], "little")
    if directory_size == 2**32 - 1 and tail.startswith(_END_MAGIC_64):
        directory_size = int.from_bytes(tail[40:48], "little")
    if directory_size > _MAX_DIRECTORY_SIZE:
        raise Rejected("has more archive members than a model file has")


def _check_size(name: str, size: int) -> None:
    limit = _MAX_SIZES.get(name)
    if limit is not None and size > limit:
        raise Rejected(f"has a member {name} of more than {limit:,} bytes")


def _read_member(archive: ZipFile, name: str, digest: Any) -> NDArray[np.uint8]:
    """Read a member and update the digest."""
    info = archive.getinfo(name)
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise Rejected("has archive members with an unsupported compression method")
    _check_size(name, info.file_size)
    content = np.empty(info.file_size, np.uint8)
    view = memoryview(content)
    position = 0
    with archive.open(info) as member:
        # Returns no more than the declared size, and compares the checksum at the end.
        while block := member.read(_BLOCK):
            view[position : position + len(block)] = block
            digest.update(block)
            position += len(block)
    if position != info.file_size:
        raise BadZipFile(f"{name} is shorter than declared")
    return content


def _make_info(name: str) -> ZipInfo:
    """Make a directory entry with a fixed date, so that equal models have equal bytes."""
    info = ZipInfo(name)
    info.compress_type = ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _format_digests(digests: dict[str, str]) -> bytes:
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()
