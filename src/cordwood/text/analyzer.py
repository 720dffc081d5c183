"""Analyzer: split a text into tokens and map tokens to vocabulary terms.

A token is a word, a word n-gram or a character n-gram of the text. A term has a column in the
matrix: it is the token itself, or the token with each of its words stemmed.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import snowballstemmer
from sklearn.feature_extraction.text import CountVectorizer

from cordwood.text._html_removal import strip_html
from cordwood.text.languages import LANGUAGES
from cordwood.text.negation import mark_negation
from cordwood.text.scripts import find_unspaced, has_special_characters
from cordwood.text.stop_words import get_stop_words
from cordwood.text.token_patterns import TOKEN_PATTERNS, build_tokenizer
from cordwood.text.vectorizer_params import VectorizerParams

# Word n-grams are stored as space-separated strings and split again when a model is loaded, which
# is only possible if no token can contain a space.
_PATTERNS_WITHOUT_SPACES = {*TOKEN_PATTERNS, r"\w+", r"\w\w+", r"\S+"}


@dataclass(frozen=True)
class Analyzer:
    """Preprocessing and tokenization of a text.

    >>> analyzer = build_analyzer(VectorizerParams(stop_words=("the",), stemmer="porter"))
    >>> tokens = analyzer.tokenize("The foxes ran")
    >>> tokens, analyzer.to_terms(tokens)
    (['the', 'foxes', 'ran'], [None, 'fox', 'ran'])
    """

    # Maps a text to the list of its tokens, in order and with repetitions.
    tokenize: Callable[[str], list[str]]
    stop_words: frozenset[str]  # tokens returned by `tokenize` that must not be counted
    stemmer: str | None  # name of the Snowball algorithm that stems the words of a token
    # Smallest and largest length of the n-grams that are counted. If None, the tokens are counted
    # themselves.
    ngram_range: tuple[int, int] | None = None
    # Whether the n-grams are of the characters of each token, instead of consecutive tokens.
    char_ngrams: bool = False
    # Maps a text to the sequences of letters of scripts without spaces, whose n-grams are counted
    # in addition to the tokens.
    find_unspaced: Callable[[str], list[str]] | None = None

    def to_terms(self, tokens: Iterable[str]) -> list[str | None]:
        """Return the term of each token; None for a stop word."""
        kept = [None if token in self.stop_words else token for token in tokens]
        if self.stemmer is None:
            return kept
        split = [token.split(" ") for token in kept if token is not None]
        stems = _stem_words({word for words in split for word in words}, self.stemmer)
        stemmed = iter([" ".join([stems[word] for word in words]) for words in split])
        return [None if token is None else next(stemmed) for token in kept]


def build_analyzer(params: VectorizerParams) -> Analyzer:
    """Build the analyzer for the given parameters, from the components of `CountVectorizer`."""
    preprocess = build_preprocessor(params)
    if params.analyzer == "char_wb":
        split = _truncate_tokens(lambda text: preprocess(text).split(), params.max_token_length)
        return Analyzer(split, frozenset(), None, params.ngram_range, True)
    if params.analyzer == "char":
        characters = CountVectorizer(
            preprocessor=preprocess, analyzer="char", ngram_range=params.ngram_range
        )
        return Analyzer(characters.build_analyzer(), frozenset(), None)
    is_named = params.token_pattern in TOKEN_PATTERNS
    tokenize = _truncate_tokens(
        build_tokenizer(params.token_pattern)
        if is_named
        else CountVectorizer(token_pattern=params.token_pattern).build_tokenizer(),
        params.max_token_length,
    )
    stop_words = _stop_word_tokens(params, preprocess, tokenize)

    def split_text(text: str) -> list[str]:
        tokens = tokenize(preprocess(text))
        return mark_negation(tokens, stop_words) if params.mark_negation else tokens

    make = partial(
        Analyzer,
        stemmer=_find_stemmer(params.stemmer),
        find_unspaced=_build_unspaced_finder(params, preprocess) if is_named else None,
    )
    if params.ngram_range == (1, 1):
        # Dropping the few columns of stop words is cheaper than testing each word of the text.
        return make(split_text, stop_words)

    def tokenize_without_stop_words(text: str) -> list[str]:
        return [word for word in split_text(text) if word not in stop_words]

    if params.token_pattern in _PATTERNS_WITHOUT_SPACES:
        return make(tokenize_without_stop_words, frozenset(), ngram_range=params.ngram_range)
    ngrams = CountVectorizer(
        preprocessor=str, tokenizer=tokenize_without_stop_words, ngram_range=params.ngram_range
    )
    return make(ngrams.build_analyzer(), frozenset())


def _truncate_tokens(
    tokenize: Callable[[str], list[str]], max_length: int
) -> Callable[[str], list[str]]:
    """Return a tokenizer that truncates tokens of more than `max_length` characters."""

    def tokenize_and_truncate(text: str) -> list[str]:
        tokens = tokenize(text)
        # The tokens of a short text cannot be longer.
        return tokens if len(text) <= max_length else [token[:max_length] for token in tokens]

    return tokenize_and_truncate


def build_preprocessor(params: VectorizerParams) -> Callable[[str], str]:
    """Build the function that is applied to a text before it is split into tokens."""
    convert: Callable[[str], str] = CountVectorizer(
        lowercase=params.lowercase, strip_accents=params.strip_accents or None
    ).build_preprocessor()
    steps: list[Callable[[str], str]] = []
    if params.strip_html:
        steps.append(strip_html)
    if params.token_pattern in TOKEN_PATTERNS:
        steps.append(partial(unicodedata.normalize, "NFC"))
    if not steps:
        return convert

    def preprocess(text: str) -> str:
        for step in steps:
            text = step(text)
        return convert(text)

    return preprocess


def _build_unspaced_finder(
    params: VectorizerParams, preprocess: Callable[[str], str]
) -> Callable[[str], list[str]]:
    """Build the function that finds letters of scripts without spaces, fast if there are none."""

    def find(text: str) -> list[str]:
        # Only HTML entities such as &#26085; can hide such letters.
        if not params.strip_html and not has_special_characters(text):
            return []
        return find_unspaced(preprocess(text))

    return find


def _find_stemmer(stemmer: str | bool) -> str | None:
    """Return the name of the Snowball algorithm."""
    if isinstance(stemmer, bool):
        return None
    return stemmer if stemmer == "porter" else LANGUAGES[stemmer].stemmer


def _stop_word_tokens(
    params: VectorizerParams,
    preprocess: Callable[[str], str],
    tokenize: Callable[[str], list[str]],
) -> frozenset[str]:
    """Return the stop words as tokens, preprocessed like the texts."""
    if isinstance(params.stop_words, bool):
        return frozenset()
    words: Iterable[str] = params.stop_words
    if isinstance(params.stop_words, str):
        words = get_stop_words(params.stop_words)
    tokens = {preprocess(word) for word in words}
    # A tokenizer that splits at apostrophes never returns "don't", only its parts.
    contractions = [token for token in tokens if "'" in token]
    parts = {part for token in contractions for part in tokenize(token) if part.isalnum()}
    return frozenset(tokens | parts)


# Lone surrogates, as in wrongly decoded text; PyStemmer raises an error for them.
_SURROGATE = re.compile("[\ud800-\udfff]")


def _stem_words(words: set[str], algorithm: str) -> dict[str, str]:
    """Return the stem of each word; a word with lone surrogates is its own stem."""
    valid = [word for word in words if not _SURROGATE.search(word)]
    # Stemmer objects are not thread-safe: they store the word they are working on.
    stemmer = snowballstemmer.stemmer(algorithm)
    stems = dict(zip(words, words, strict=True))
    stems.update(zip(valid, stemmer.stemWords(valid), strict=True))
    return stems
