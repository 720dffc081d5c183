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

from cordwood._schema.budget import JSON_COST, Budget, memory_limit
from cordwood._schema.errors import Rejected

CARD, TREE, ARRAYS, DIGESTS = "cordwood.json", "model.json", "arrays", "sha256"

_COSTS = {TREE: JSON_COST, CARD: JSON_COST}
_MAX_DIRECTORY_SIZE = 4096

_BLOCK = 2**20

# The last records of an archive: of a large one, the record of 64 bits, its locator, and the end.
_END_SIZE, _LOCATOR_SIZE, _RECORD_SIZE = 22, 20, 56
_END_MAGIC, _LOCATOR_MAGIC, _RECORD_MAGIC = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"


class Damaged(Exception):
    """The content differs from what was written; the message is the reason."""


class Content(NamedTuple):
    """Verified content of a model file."""

    card: bytes
    tree: bytes
    arrays: NDArray[np.uint8]
    budget: Budget


class ArchiveWriter:
    """Writes the members of a model file one after another; a context manager."""

    def __init__(self, file: IO[bytes], budget: Budget) -> None:
        self._archive = ZipFile(file, "w", ZIP_DEFLATED)
        self._budget = budget
        self._digests: dict[str, str] = {}

    @contextmanager
    def open(self, name: str) -> Iterator["_HashingWriter"]:
        """Open a member for writing, without knowing its size."""
        with self._archive.open(_make_info(name), "w", force_zip64=True) as member:
            writer = _HashingWriter(member)
            yield writer
        self._digests[name] = writer.digest.hexdigest()
        self._budget.spend(_COSTS.get(name, 1) * writer.n_bytes)

    def write(self, name: str, content: bytes) -> None:
        """Write a whole member."""
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
        self.n_bytes = 0

    def write(self, content: Any) -> None:
        """Write a bytes-like object."""
        self._file.write(content)
        self.digest.update(content)
        self.n_bytes += len(content)


def read_card(file: IO[bytes]) -> bytes:
    """Read the model card, without verifying the rest of the file."""
    archive, budget = _open_archive(file)
    return _read_member(archive, CARD, hashlib.sha256(), budget).tobytes()


def read_content(file: IO[bytes]) -> Content:
    """Read all members; raise Damaged or Rejected unless they are complete, valid and not large."""
    archive, budget = _open_archive(file)
    if sorted(archive.namelist()) != sorted((CARD, TREE, ARRAYS, DIGESTS)):
        raise Rejected("does not have exactly the members of a model file")
    contents: dict[str, NDArray[np.uint8]] = {}
    digests: dict[str, str] = {}
    for name in (CARD, TREE, ARRAYS):
        digest = hashlib.sha256()
        contents[name] = _read_member(archive, name, digest, budget)
        digests[name] = digest.hexdigest()
    stored = _read_member(archive, DIGESTS, hashlib.sha256(), budget).tobytes()
    if stored != _format_digests(digests):
        raise Damaged("its content does not match its SHA-256 digest")
    card, tree = contents[CARD].tobytes(), contents[TREE].tobytes()
    return Content(card, tree, contents[ARRAYS], budget)


def _open_archive(file: IO[bytes]) -> tuple[ZipFile, Budget]:
    if file.read(4) != b"PK\x03\x04":
        file.seek(0)
        hint = ", but seems to be a pickle, which may run code" if file.read(1) == b"\x80" else ""
        raise Rejected(f"is not a cordwood model file{hint}")
    file_size = file.seek(0, os.SEEK_END)
    _check_directory_size(file, file_size)
    archive = ZipFile(file)
    if CARD not in archive.namelist():
        raise Rejected(f"is not a cordwood model file: it contains no {CARD}")
    return archive, Budget(memory_limit(file_size))


def _check_directory_size(file: IO[bytes], file_size: int) -> None:
    """Check the size of the directory before `ZipFile` reads it: each entry becomes an object."""
    place = max(0, file_size - _END_SIZE - _LOCATOR_SIZE - _RECORD_SIZE)
    file.seek(place)
    tail = file.read()
    end, locator = tail[-_END_SIZE:], tail[-_END_SIZE - _LOCATOR_SIZE : -_END_SIZE]
    if not end.startswith(_END_MAGIC) or not end.endswith(b"\0\0"):
        raise Damaged("it does not end with the directory of an archive")
    directory_size = int.from_bytes(end[12:16], "little")
    # `ZipFile` prefers the record of 64 bits, if there is a locator, and ignores the end.
    if locator.startswith(_LOCATOR_MAGIC):
        if not tail.startswith(_RECORD_MAGIC) or locator[8:16] != place.to_bytes(8, "little"):
            raise Damaged("the directory of its archive is not where it should be")
        directory_size = int.from_bytes(tail[40:48], "little")
    if directory_size > _MAX_DIRECTORY_SIZE:
        raise Rejected("has more archive members than a model file has")


def _read_member(archive: ZipFile, name: str, digest: Any, budget: Budget) -> NDArray[np.uint8]:
    """Read a member and update the digest."""
    info = archive.getinfo(name)
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise Rejected("has archive members with an unsupported compression method")
    budget.spend(_COSTS.get(name, 1) * info.file_size)
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
