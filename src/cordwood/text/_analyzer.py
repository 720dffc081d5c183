"""Analyzer: split a text into tokens and map tokens to vocabulary terms.

A token is a word, a word n-gram or a character n-gram of the text. A term has a column in the
matrix: it is the token itself, or the token with each of its words stemmed.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import snowballstemmer
from sklearn.feature_extraction.text import CountVectorizer

from cordwood.text._vectorizer_params import VectorizerParams
from cordwood.text.presets import PRESETS
from cordwood.text.stop_words import get_stop_words

# Word n-grams are stored as space-separated strings and split again when a model is loaded, which
# is only possible if no token can contain a space.
_PATTERNS_WITHOUT_SPACES = {
    *(preset.token_pattern for preset in PRESETS.values()),
    r"\w+",
    r"\w\w+",
    r"\S+",
}


@dataclass(frozen=True)
class Analyzer:
    """Preprocessing and tokenization of a text.

    Parameters
    ----------
    tokenize : callable
        Maps a text to the list of its tokens, in order and with repetitions.
    stop_words : frozenset of str
        Tokens returned by `tokenize` that must not be counted.
    stem : bool
        Whether the words of a token are stemmed.
    ngram_range : (int, int) or None, default=None
        Smallest and largest length of the n-grams that are counted. If None, the tokens are
        counted themselves.
    char_ngrams : bool, default=False
        Whether the n-grams are of the characters of each token, instead of consecutive tokens.

    Examples
    --------
    >>> analyzer = build_analyzer(VectorizerParams(stop_words=("the",), stemmer="porter"))
    >>> tokens = analyzer.tokenize("The foxes ran")
    >>> tokens, analyzer.to_terms(tokens)
    (['the', 'foxes', 'ran'], [None, 'fox', 'ran'])
    """

    tokenize: Callable[[str], list[str]]
    stop_words: frozenset[str]
    stem: bool
    ngram_range: tuple[int, int] | None = None
    char_ngrams: bool = False

    def to_terms(self, tokens: Iterable[str]) -> list[str | None]:
        """Return the term of each token; None for a stop word."""
        kept = [None if token in self.stop_words else token for token in tokens]
        if not self.stem:
            return kept
        split = [token.split(" ") for token in kept if token is not None]
        stems = _stem_words({word for words in split for word in words})
        stemmed = iter([" ".join([stems[word] for word in words]) for words in split])
        return [None if token is None else next(stemmed) for token in kept]


def build_analyzer(params: VectorizerParams) -> Analyzer:
    """Build the analyzer for the given parameters, from the components of `CountVectorizer`."""
    options = {
        "lowercase": params.lowercase,
        "strip_accents": params.strip_accents or None,
        "analyzer": params.analyzer,
        "ngram_range": params.ngram_range,
    }
    vectorizer = CountVectorizer(token_pattern=params.token_pattern, **options)
    max_length = params.max_token_length
    if params.analyzer == "char_wb":
        preprocess = vectorizer.build_preprocessor()
        tokenize = _truncate_tokens(lambda text: preprocess(text).split(), max_length)
        return Analyzer(tokenize, frozenset(), False, params.ngram_range, True)
    stop_words = _stop_word_tokens(params, vectorizer)
    stem = bool(params.stemmer)
    if params.ngram_range == (1, 1):
        # Dropping the few columns of stop words is cheaper than testing each word of the text.
        return Analyzer(_truncate_tokens(vectorizer.build_analyzer(), max_length), stop_words, stem)
    ngram_range = None
    if params.analyzer == "word" and params.token_pattern in _PATTERNS_WITHOUT_SPACES:
        ngram_range, options["ngram_range"] = params.ngram_range, (1, 1)
    tokenize = _truncate_tokens(vectorizer.build_tokenizer(), max_length)
    if params.analyzer == "word":
        vectorizer = CountVectorizer(
            tokenizer=lambda text: [word for word in tokenize(text) if word not in stop_words],
            **options,
        )
    return Analyzer(vectorizer.build_analyzer(), frozenset(), stem, ngram_range)


def _truncate_tokens(
    tokenize: Callable[[str], list[str]], max_length: int
) -> Callable[[str], list[str]]:
    """Return a tokenizer that truncates tokens of more than `max_length` characters."""

    def tokenize_and_truncate(text: str) -> list[str]:
        tokens = tokenize(text)
        # The tokens of a short text cannot be longer.
        return tokens if len(text) <= max_length else [token[:max_length] for token in tokens]

    return tokenize_and_truncate


def _stop_word_tokens(params: VectorizerParams, vectorizer: CountVectorizer) -> frozenset[str]:
    """Return the stop words as tokens, preprocessed like the texts."""
    if isinstance(params.stop_words, bool):
        return frozenset()
    words: Iterable[str] = params.stop_words
    if isinstance(params.stop_words, str):
        words = get_stop_words(params.stop_words)
    preprocess, tokenize = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
    tokens = {preprocess(word) for word in words}
    # A tokenizer that splits at apostrophes never returns "don't", only its parts.
    contractions = [token for token in tokens if "'" in token]
    parts = {part for token in contractions for part in tokenize(token) if part.isalnum()}
    return frozenset(tokens | parts)


# Lone surrogates, as in wrongly decoded text; PyStemmer raises an error for them.
_SURROGATE = re.compile("[\ud800-\udfff]")


def _stem_words(words: set[str]) -> dict[str, str]:
    """Return the stem of each word; a word with lone surrogates is its own stem."""
    valid = [word for word in words if not _SURROGATE.search(word)]
    # Stemmer objects are not thread-safe: they store the word they are working on.
    stemmer = snowballstemmer.stemmer("porter")
    stems = dict(zip(words, words, strict=True))
    stems.update(zip(valid, stemmer.stemWords(valid), strict=True))
    return stems
