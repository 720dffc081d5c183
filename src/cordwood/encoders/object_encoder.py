"""Encoders that are objects of the user, such as models of sentence-transformers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cordwood.encoders.encoder import (
    EncodedTexts,
    Encoder,
    compute_fingerprint,
    normalize_rows,
)
from cordwood.exceptions import CordwoodError


class ObjectEncoder(Encoder):
    """Adapter of an object with a method ``encode(list of str)`` that returns vectors.

    If the object has an attribute `fingerprint`, a string that changes whenever vectors do, its
    vectors may be cached. If it has no attribute `dimension`, a text is encoded to find it.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(type(model).__name__, 0)
        if not callable(getattr(model, "encode", None)):
            raise CordwoodError(
                "encoder must be a name, a folder or an object with a method encode(list of str); "
                f"got {model!r}"
            )
        self.model = model
        self._dimension: int | None = getattr(model, "dimension", None)

    @property
    def dimension(self) -> int:
        """Number of elements of a vector."""
        if self._dimension is None:
            self.encode_texts([""])
        return int(self._dimension or 0)

    @property
    def fingerprint(self) -> str | None:
        """Digest of the fingerprint of the object; None if it has none."""
        own = getattr(self.model, "fingerprint", None)
        if not isinstance(own, str):
            return None
        return compute_fingerprint(kind="object", fingerprint=own)

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts; none counts as truncated, because that is not known."""
        try:
            vectors = np.asarray(self.model.encode(list(texts)), np.float32)
        except (TypeError, ValueError) as error:
            raise CordwoodError(f"encoder {self.name} failed: {error}") from error
        dimension = self._dimension or (vectors.shape[-1] if vectors.ndim == 2 else 0)
        if dimension == 0 or vectors.shape != (len(texts), dimension):
            raise CordwoodError(
                f"encoder {self.name} must return an array of shape (n_texts, dimension); for "
                f"{len(texts)} texts it returned shape {vectors.shape}"
            )
        if not np.isfinite(vectors).all():
            raise CordwoodError(f"encoder {self.name} returned values that are not finite")
        self._dimension = vectors.shape[1]
        return EncodedTexts(normalize_rows(vectors), np.zeros(len(texts), np.bool_))
