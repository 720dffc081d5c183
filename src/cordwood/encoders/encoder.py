"""Interface of encoders, which map texts to vectors."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Part of every fingerprint. Increase it whenever a change of the code changes vectors, so that
# cached vectors of the former code are not used.
CODE_VERSION = 1


class EncodedTexts(NamedTuple):
    """Vectors of texts."""

    # (n_texts, dimension): rows of unit Euclidean norm; zeros for a text without known tokens.
    vectors: NDArray[np.float32]
    # (n_texts,): whether tokens of the text were ignored because it is too long.
    truncated: NDArray[np.bool_]


class Encoder(ABC):
    """Base class of encoders.

    The vector of a text depends on nothing but the text: not on the other texts of the call, and
    not on the number of threads.

    Parameters
    ----------
    name : str
        Name or folder from which `cordwood.encoders.load_encoder` loads the encoder again.
    max_tokens : int
        Tokens of a text beyond this number are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from cordwood.encoders import load_encoder
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> encoder = load_encoder(Lengths())
    >>> encoder.dimension
    2
    """

    languages: ClassVar[str] = "those of the model"
    # Whether a few texts are encoded in less time than it takes to look them up in the cache.
    is_faster_than_cache: ClassVar[bool] = False

    def __init__(self, name: str, max_tokens: int) -> None:
        self.name = name
        self.max_tokens = max_tokens

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of elements of a vector."""

    @property
    @abstractmethod
    def fingerprint(self) -> str | None:
        """Hexadecimal digest of everything that vectors depend on; None if that is unknown."""

    @abstractmethod
    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts, and return which of them were truncated."""

    def read_files(self) -> dict[str, bytes] | None:
        """Read the files from which the encoder can be loaded; None if it needs more than files."""
        return None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        vectors : float32 array of shape (n_texts, dimension)
            Rows of unit Euclidean norm.
        """
        return self.encode_texts(texts).vectors

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, max_tokens={self.max_tokens})"


def compute_fingerprint(**parts: Any) -> str:
    """Return the SHA-256 digest of everything that the vectors of an encoder depend on."""
    described = json.dumps({"code_version": CODE_VERSION, **parts}, sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()


def group_by_tokens(n_tokens: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Split texts into groups of at most `limit` tokens, or of one text.

    >>> list(group_by_tokens([3, 4, 9, 1, 1], limit=8))
    [[0, 1], [2], [3, 4]]
    """
    group: list[int] = []
    total = 0
    for position, length in enumerate(n_tokens):
        if group and total + length > limit:
            yield group
            group, total = [], 0
        group.append(position)
        total += length
    if group:
        yield group


def normalize_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows to unit Euclidean norm; rows of zeros stay zero."""
    norms: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    norms[norms == 0] = 1
    unit: NDArray[np.float32] = vectors / norms[:, None]
    return unit
