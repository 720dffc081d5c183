"""Vocabulary: fast lookup of the column of a token."""

from cordwood.text.analyzer import Analyzer

UNKNOWN = -1
"""Column of a token that is not in the vocabulary."""

# About 30 MB: enough for all word forms of a large corpus, and a bound for long-running servers.
_MAX_CACHED = 1 << 18


class ColumnLookup(dict[str, int]):
    """Map tokens to columns; a token that is not in the vocabulary maps to `UNKNOWN`.

    >>> from cordwood.text.analyzer import build_analyzer
    >>> from cordwood.text.vectorizer_params import VectorizerParams
    >>> analyzer = build_analyzer(VectorizerParams(stemmer="porter"))
    >>> columns = ColumnLookup({"cat": 0, "dog": 1}, analyzer)
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
