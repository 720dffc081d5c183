"""Encoders whose weights and tokenizer are files of a folder."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.encoders.encoder import Encoder
from cordwood.encoders.model_folder import ModelFolder, tokenize
from cordwood.exceptions import CordwoodError


class FolderEncoder(Encoder):
    """Base class of encoders whose weights and tokenizer are files of a folder."""

    def __init__(
        self,
        folder: str | Path | ModelFolder,
        max_tokens: int = 256,
        *,
        name: str | None = None,
    ) -> None:
        if not isinstance(folder, ModelFolder):
            folder = ModelFolder(Path(folder).expanduser().resolve())
        super().__init__(name or str(folder.path), max_tokens)
        self._top = folder
        self._read_settings()

    @abstractmethod
    def _read_settings(self) -> None:
        """Check that the folder has what the encoder needs."""

    @property
    @abstractmethod
    def tokenizer(self) -> Any:
        """Tokenizer of the library tokenizers, which truncates texts."""

    def read_files(self) -> dict[str, bytes]:
        """Read the files of the encoder, by relative path."""
        return self._top.read_files()

    def _tokenize(
        self, texts: Sequence[str], **options: Any
    ) -> tuple[list[list[int]], NDArray[np.bool_]]:
        """Return the ids of the tokens of texts, and whether each text was truncated."""
        # One by one: batches are tokenized by threads of the library, one per processor.
        encodings = [tokenize(self.tokenizer, text, **options) for text in texts]
        truncated = np.array([bool(encoding.overflowing) for encoding in encodings], np.bool_)
        return [encoding.ids for encoding in encodings], truncated

    def __reduce__(self) -> tuple[Any, ...]:
        # Weights are read from the folder again instead of being pickled.
        return _restore, (type(self), self._top, self.max_tokens, self.name, self.fingerprint)


def _restore(
    kind: type[FolderEncoder],
    folder: ModelFolder,
    max_tokens: int,
    name: str,
    fingerprint: str,
) -> FolderEncoder:
    encoder = kind(folder, max_tokens, name=name)
    if encoder.fingerprint != fingerprint:
        raise CordwoodError(f"encoder {name!r} has changed since it was pickled")
    return encoder
