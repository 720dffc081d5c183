"""From a document to its features, and from features to the terms that they count for.

A feature is what stands in the text: a word, several words in a row, some characters. A term is
what gets a column: the feature itself, or its stems.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import snowballstemmer
from sklearn.feature_extraction.text import CountVectorizer

from cordwood.text._vectorizer_params import Settings
from cordwood.text.presets import PRESETS
from cordwood.text.stop_words import stop_list

# A term of several words is told apart again at its spaces, so that no word may hold one.
_SPACELESS = {*(preset.token_pattern for preset in PRESETS.values()), r"\w+", r"\w\w+", r"\S+"}


@dataclass(frozen=True)
class Analysis:
    """What is done to a document before anything is counted.

    Parameters
    ----------
    features : callable
        From a document to the list of its features, in order, repeats included.
    stop_words : frozenset of str
        Features that `features` lets pass although they are not to be counted.
    stems : bool
        Whether the words of a feature are stemmed.
    runs : (int, int), optional
        Shortest and longest run of features that gets a column; without it, features do.
    in_words : bool
        Whether runs are of the characters of a feature, which is then a word.

    Examples
    --------
    >>> analysis = analyze_by(Settings(stop_words=("the",), stemmer="porter"))
    >>> features = analysis.features("The foxes ran")
    >>> features, analysis.terms(features)
    (['the', 'foxes', 'ran'], [None, 'fox', 'ran'])
    """

    features: Callable[[str], list[str]]
    stop_words: frozenset[str]
    stems: bool
    runs: tuple[int, int] | None = None
    in_words: bool = False

    def terms(self, features: Iterable[str]) -> list[str | None]:
        """Return the term of each feature; None for a stop word."""
        kept = [None if feature in self.stop_words else feature for feature in features]
        if not self.stems:
            return kept
        split = [feature.split(" ") for feature in kept if feature is not None]
        stem = _stems({word for words in split for word in words})
        stemmed = iter([" ".join([stem[word] for word in words]) for words in split])
        return [None if feature is None else next(stemmed) for feature in kept]


def analyze_by(settings: Settings) -> Analysis:
    """Build the analysis that the settings describe, out of scikit-learn's own parts."""
    options = {
        "lowercase": settings.lowercase,
        "strip_accents": settings.strip_accents or None,
        "analyzer": settings.analyzer,
        "ngram_range": settings.ngram_range,
    }
    plain = CountVectorizer(token_pattern=settings.token_pattern, **options)
    if settings.analyzer == "char_wb":
        prepare = plain.build_preprocessor()
        return Analysis(
            lambda text: prepare(text).split(), frozenset(), False, settings.ngram_range, True
        )
    stop_words = _stop_words(settings, plain)
    stems = bool(settings.stemmer)
    if settings.ngram_range == (1, 1):
        # Taking out the few columns of stop words is cheaper than looking at each word in turn.
        return Analysis(plain.build_analyzer(), stop_words, stems)
    runs = None
    if settings.analyzer == "word" and settings.token_pattern in _SPACELESS:
        runs, options["ngram_range"] = settings.ngram_range, (1, 1)
    tokenize = plain.build_tokenizer()
    if settings.analyzer == "word":
        plain = CountVectorizer(
            tokenizer=lambda text: [word for word in tokenize(text) if word not in stop_words],
            **options,
        )
    return Analysis(plain.build_analyzer(), frozenset(), stems, runs)


def _stop_words(settings: Settings, vectorizer: CountVectorizer) -> frozenset[str]:
    """Return the stop words as tokens, prepared as the documents are."""
    named = settings.stop_words
    if isinstance(named, bool):
        return frozenset()
    prepare, tokenize = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
    words = {prepare(word) for word in (stop_list(named) if isinstance(named, str) else named)}
    # "don't" is no token where the tokenizer splits at apostrophes: its pieces are.
    contractions = [word for word in words if "'" in word]
    pieces = {piece for word in contractions for piece in tokenize(word) if piece.isalnum()}
    return frozenset(words | pieces)


# Halves of a character, as in text that was decoded wrongly; PyStemmer stops at them.
_HALVES = re.compile("[\ud800-\udfff]")


def _stems(words: set[str]) -> dict[str, str]:
    """Return the stem of each word; one that is not proper text is its own stem."""
    proper = [word for word in words if not _HALVES.search(word)]
    # A stemmer keeps the word it works on, so threads must not share one.
    stemmer = snowballstemmer.stemmer("porter")
    stems = dict(zip(words, words, strict=True))
    stems.update(zip(proper, stemmer.stemWords(proper), strict=True))
    return stems
