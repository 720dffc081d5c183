"""Terms and their columns: looking them up while reading, packing them up for a file."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import ModelFileError
from cordwood.text._analyzer import Analysis

UNKNOWN = -1

# Some 30 MB: enough for every form in a large corpus, and a bound for a server that never stops.
_MOST_REMEMBERED = 1 << 18


class Columns(dict[str, int]):
    """From features to columns; a feature without a column has `UNKNOWN`.

    Parameters
    ----------
    of_terms : dict of str to int
        The column of each term. Lookups are a sixth faster where frequent terms come first, as
        they do in the order in which they were read.
    analysis : Analysis
        From features to terms. A new form is stemmed once and then remembered.

    Examples
    --------
    >>> from cordwood.text._analyzer import analyze_by
    >>> from cordwood.text._vectorizer_params import Settings
    >>> columns = Columns(number(["dog", "cat"]), analyze_by(Settings(stemmer="porter")))
    >>> columns["dogs"], columns["cow"]
    (1, -1)
    """

    def __init__(self, of_terms: dict[str, int], analysis: Analysis) -> None:
        self.of_terms = of_terms
        self._analysis = analysis
        # Half of all words in a text are stop words, and finding one is faster than missing it.
        super().__init__(dict.fromkeys(analysis.stop_words, UNKNOWN))
        if not analysis.stems:
            # With stems a feature may look like a term and yet belong to another: "abus" is the
            # stem of "abuse", and the stem of "abus" is "abu".
            self.update(of_terms)

    def __missing__(self, feature: str) -> int:
        if not self._analysis.stems:
            return UNKNOWN
        [term] = self._analysis.terms([feature])
        column = UNKNOWN if term is None else self.of_terms.get(term, UNKNOWN)
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[feature] = column
        return column


def number(terms: Iterable[str | None]) -> dict[str, int]:
    """Number the different terms in order of spelling; None is not a term.

    Examples
    --------
    >>> number(["dog", None, "cat", "dog"])
    {'dog': 1, 'cat': 0}
    """
    numbers = {term: UNKNOWN for term in terms if term is not None}
    numbers.update(zip(sorted(numbers), range(len(numbers)), strict=True))
    return numbers


def pack(terms: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay terms end to end in one array of bytes.

    Parameters
    ----------
    terms : iterable of str
        Any strings.

    Returns
    -------
    text : array of uint8
        The terms in UTF-8.
    offsets : array of int64, shape (n_terms + 1,)
        Where each term starts, and where the last one ends.

    Examples
    --------
    >>> unpack(*pack(["cat", "", "naïve"]))
    ['cat', '', 'naïve']
    """
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Take terms apart again that were packed by `pack`.

    Raises
    ------
    ModelFileError
        If the arrays are not what `pack` returns.
    """
    for part, dtype in ((text, np.uint8), (offsets, np.int64)):
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype != np.dtype(dtype):
            raise ModelFileError("the vocabulary is damaged: its terms are not stored as arrays")
    bounds = offsets.tolist()
    if bounds[:1] != [0] or bounds[-1] != text.size or np.any(np.diff(offsets) < 0):
        raise ModelFileError("the vocabulary is damaged: its terms do not fill its text")
    content = text.tobytes()
    try:
        return [
            content[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds)
        ]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the vocabulary is damaged: {error}") from None
