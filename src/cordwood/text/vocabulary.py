"""Terms and their columns: looking them up while reading, packing them up for a file."""

from collections.abc import Collection, Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cordwood.errors import ModelFileError
from cordwood.text.analysis import Analysis

UNKNOWN = -1

# Some 30 MB: enough for every form in a large corpus, and a bound for a server that never stops.
_MOST_REMEMBERED = 1 << 18


class Columns(dict[str, int]):
    """From features to columns; a feature without a column has `UNKNOWN`.

    Parameters
    ----------
    terms : collection of str
        Different terms, in any order: columns go by spelling. A lookup is a fifth faster where
        frequent terms come first, as they do in the order in which they were read.
    analysis : Analysis
        From features to terms. A new form is stemmed once and then remembered.

    Attributes
    ----------
    of_terms : dict of str to int
        The column of each term, in the order given.

    Examples
    --------
    >>> from cordwood.text.analysis import analyze_by
    >>> from cordwood.text.settings import Settings
    >>> columns = Columns(["dog", "cat"], analyze_by(Settings(stemmer="porter")))
    >>> columns["dogs"], columns["cow"]
    (1, -1)
    """

    def __init__(self, terms: Collection[str], analysis: Analysis) -> None:
        number = dict(zip(sorted(terms), range(len(terms)), strict=True))
        self.of_terms = {term: number[term] for term in terms}
        self._analysis = analysis
        # Half of all words in a text are stop words, and finding one is faster than missing it.
        super().__init__(dict.fromkeys(analysis.stop_words, UNKNOWN))
        if not analysis.stems:
            # With stems a feature may look like a term and yet belong to another: "abus" is the
            # stem of "abuse", and the stem of "abus" is "abu".
            self.update(self.of_terms)

    def __missing__(self, feature: str) -> int:
        if not self._analysis.stems:
            return UNKNOWN
        [term] = self._analysis.terms([feature])
        column = UNKNOWN if term is None else self.of_terms.get(term, UNKNOWN)
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[feature] = column
        return column


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
