"""Vocabulary: fast lookup of the column of a token, and serialization of the terms."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import ModelFileError
from cordwood.text.analyzer import Analyzer

UNKNOWN = -1
"""Column of a token that is not in the vocabulary."""

# About 30 MB: enough for all word forms of a large corpus, and a bound for long-running servers.
_MAX_CACHED = 1 << 18


class ColumnLookup(dict[str, int]):
    """Map tokens to columns; a token that is not in the vocabulary maps to `UNKNOWN`.

    >>> from cordwood.text.analyzer import build_analyzer
    >>> from cordwood.text.vectorizer_params import VectorizerParams
    >>> vocabulary = build_vocabulary(["dog", "cat"])
    >>> columns = ColumnLookup(vocabulary, build_analyzer(VectorizerParams(stemmer="porter")))
    >>> columns["dogs"], columns["cow"]
    (1, -1)
    """

    def __init__(self, vocabulary: dict[str, int], analyzer: Analyzer) -> None:
        self._vocabulary = vocabulary
        self._analyzer = analyzer
        # About half of the words of a text are stop words: a hit is faster than `__missing__`.
        super().__init__(dict.fromkeys(analyzer.stop_words, UNKNOWN))
        if analyzer.stemmer is None:
            # With stemming, a token may equal the stem of a different word: "abus" is the stem of
            # "abuse", but the stem of the token "abus" is "abu".
            self.update(vocabulary)

    def __missing__(self, token: str) -> int:
        if self._analyzer.stemmer is None:
            return UNKNOWN
        [term] = self._analyzer.to_terms([token])
        column = UNKNOWN if term is None else self._vocabulary.get(term, UNKNOWN)
        if len(self) >= _MAX_CACHED:
            self.clear()
        self[token] = column
        return column


def build_vocabulary(terms: Iterable[str]) -> dict[str, int]:
    """Map the distinct terms to columns in alphabetical order."""
    vocabulary = dict.fromkeys(terms, UNKNOWN)
    vocabulary.update(zip(sorted(vocabulary), range(len(vocabulary)), strict=True))
    return vocabulary


def pack_strings(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate strings into one array of bytes.

    >>> unpack_strings(*pack_strings(["cat", "", "naïve"]))
    ['cat', '', 'naïve']
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_strings(content: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the strings that were passed to `pack_strings`."""
    for array, dtype in ((content, np.uint8), (offsets, np.int64)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != np.dtype(dtype):
            raise ModelFileError("the vocabulary is damaged: its terms are not stored as arrays")
    bounds = offsets.tolist()
    if bounds[:1] != [0] or bounds[-1] != content.size or np.any(np.diff(offsets) < 0):
        raise ModelFileError("the vocabulary is damaged: its offsets do not match its content")
    data = content.tobytes()
    try:
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds)]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the vocabulary is damaged: {error}") from None
