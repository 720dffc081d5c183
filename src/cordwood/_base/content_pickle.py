"""Pickles that refer to large objects by the digests of their own pickles."""

import io
import pickle
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from cordwood._kernels.intrinsics import read_only

try:
    from cloudpickle import CloudPickler
except ImportError:  # which the extra `cluster` installs
    CloudPickler = pickle.Pickler

# What is sent once: arrays of this number of bytes, and sequences of this length.
_LARGE_BYTES = 2**15
_LARGE_LENGTH = 1000


class Sent(NamedTuple):
    """A large object, the digest of its pickle, and the other large objects that it refers to."""

    content: Any
    digest: str
    size: int
    needed: dict[str, "Sent"]


def _is_large(value: Any) -> bool:
    kind = type(value)
    if kind is np.ndarray:
        return bool(value.nbytes >= _LARGE_BYTES)
    if kind is list or kind is tuple:
        return len(value) >= _LARGE_LENGTH
    return getattr(kind, "sent_once", False) is True


def dump(value: Any, sent: dict[int, Sent], root: Any = None) -> tuple[bytes, dict[str, Sent]]:
    """Return the pickle of a value, and the large objects in it, which `sent` collects.

    A root is pickled itself, and without parts unless it is of a class of objects to send once.
    """
    buffer = io.BytesIO()
    pickler = ContentPickler(buffer, sent, root)
    pickler.dump(value)
    return buffer.getvalue(), pickler.needed


class ContentPickler(CloudPickler):
    def __init__(self, file: io.BytesIO, sent: dict[int, Sent], root: Any) -> None:
        super().__init__(file, protocol=5)
        self._sent = sent
        self._root = root
        self._has_parts = root is None or getattr(type(root), "sent_once", False)
        self.needed: dict[str, Sent] = {}

    def persistent_id(self, value: Any) -> str | None:
        """Return the digest of a large object, and None for all others."""
        if value is self._root or not self._has_parts or not _is_large(value):
            return None
        if id(value) not in self._sent:
            content, needed = dump(value, self._sent, root=value)
            digest = blake2b(content, digest_size=16).hexdigest()
            self._sent[id(value)] = Sent(value, digest, len(content), needed)
        found = self._sent[id(value)]
        self.needed |= {**found.needed, found.digest: found}
        return found.digest

    def reducer_override(self, value: Any) -> Any:
        """Keep arrays read-only: numba compiles kernels again for others."""
        if type(value) is np.ndarray and not value.flags.writeable:
            return read_only, (np.array(value),)
        return super().reducer_override(value)


class ContentUnpickler(pickle.Unpickler):
    def __init__(self, content: bytes, kept: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._kept = kept

    def persistent_load(self, digest: str) -> Any:
        """Return a large object, which is unpickled when it is first used."""
        value = self._kept[digest]
        if isinstance(value, Pickled):
            value = self._kept[digest] = ContentUnpickler(value.content, self._kept).load()
        return value


class Pickled(NamedTuple):
    content: bytes
