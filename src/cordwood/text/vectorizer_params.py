"""Resolved parameters of `TextVectorizer`, validated on construction."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np

from cordwood.exceptions import CordwoodError
from cordwood.text.languages import LANGUAGES
from cordwood.text.stop_words import STOP_WORD_LISTS, has_stop_words
from cordwood.text.token_patterns import TOKEN_PATTERNS

_CHOICES: Mapping[str, tuple[object, ...]] = {
    "weighting": ("tf", "tfidf", "binary"),
    "sublinear_tf": (True, False),
    "smooth_idf": (True, False),
    "norm": ("l1", "l2", "max", False),
    "analyzer": ("word", "char", "char_wb"),
    "lowercase": (True, False),
    "strip_accents": ("ascii", "unicode", False),
    "strip_html": (True, False),
    "mark_negation": (True, False),
}


@dataclass(frozen=True, kw_only=True)
class VectorizerParams:
    """Parameters of `TextVectorizer` with no value left to a preset."""

    # Term counts, term counts times inverse document frequency, or 1 for each term of a text.
    weighting: str = "tf"
    sublinear_tf: bool = False  # whether to replace tf by ``1 + ln(tf)``
    # Whether to add one to document frequencies, as if one more text had each term once.
    smooth_idf: bool = True
    norm: str | bool = False  # norm to which each row is scaled
    # Words to remove: a list, the codes of languages such as "de" or "de+fr", or the words.
    stop_words: str | tuple[str, ...] | bool = False
    # Stemmer of words: Porter's, or the code of a language such as "de".
    stemmer: str | bool = False
    # Whether terms are of words, of characters, or of characters inside word boundaries.
    analyzer: str = "word"
    token_pattern: str = "word"  # a name in `TOKEN_PATTERNS`, or the regular expression of a word
    ngram_range: tuple[int, int] = (1, 1)  # smallest and largest n of the n-grams
    min_df: int | float = 1  # smallest document frequency of a term
    max_df: int | float = 1.0  # largest document frequency of a term
    max_features: int | None = None  # largest number of terms
    lowercase: bool = True  # whether to convert texts to lowercase
    strip_accents: str | bool = False  # how to remove accents
    max_token_length: int = 10_000  # number of characters after which a word is truncated
    strip_html: bool = False  # whether to remove HTML tags and to replace entities by characters
    # Whether words after an English negation have a prefix. Requires punctuation as tokens.
    mark_negation: bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if not any(_is_same(value, choice) for choice in choices):
                *first, last = map(repr, choices)
                raise _invalid(name, value, f"{', '.join(first)} or {last}")
        _check_stop_words(self.stop_words)
        _check_stemmer(self.stemmer)
        _check_token_pattern(self.token_pattern)
        _check_ngram_range(self.ngram_range)
        for name in ("min_df", "max_df"):
            _check_document_frequency(name, getattr(self, name))
        limit = self.max_features
        if limit is not None and not (_is_integer(limit) and limit >= 1):
            raise _invalid("max_features", limit, "None or a positive integer")
        length = self.max_token_length
        if not (_is_integer(length) and length >= 1):
            raise _invalid("max_token_length", length, "a positive integer")
        if self.mark_negation and (self.analyzer, self.token_pattern) != ("word", "social"):
            raise CordwoodError(
                "mark_negation=True requires analyzer='word' and token_pattern='social', whose "
                f"tokens include punctuation; got {self.analyzer!r} and {self.token_pattern!r}"
            )


def _check_stop_words(value: object) -> None:
    is_words = isinstance(value, tuple) and all(isinstance(word, str) for word in value)
    if not is_words and value is not False and not has_stop_words(value):
        lists = ", ".join(map(repr, STOP_WORD_LISTS))
        raise _invalid(
            "stop_words",
            value,
            f"{lists}, codes of languages such as 'de' or 'de+fr', a collection of strings, or "
            "False",
        )


def _check_stemmer(value: object) -> None:
    if value is False or value == "porter":
        return
    codes = [code for code, language in LANGUAGES.items() if language.stemmer]
    if not isinstance(value, str) or value not in codes:
        raise _invalid(
            "stemmer", value, f"'porter', 'auto', False or a language: {', '.join(codes)}"
        )


def _check_token_pattern(value: object) -> None:
    if not isinstance(value, str):
        names = ", ".join(map(repr, TOKEN_PATTERNS))
        raise _invalid("token_pattern", value, f"{names} or a regular expression")
    try:
        n_groups = re.compile(value).groups
    except re.error as error:
        raise _invalid("token_pattern", value, f"a valid regular expression ({error})") from None
    if n_groups > 1:
        raise CordwoodError(
            f"token_pattern must have at most one capturing group; got {value!r} with {n_groups},"
            " so write the others as (?:...)"
        )


def _check_ngram_range(value: object) -> None:
    is_pair = isinstance(value, tuple) and len(value) == 2 and all(map(_is_integer, value))
    if not (is_pair and isinstance(value, tuple) and 1 <= value[0] <= value[1]):
        raise _invalid("ngram_range", value, "a pair of positive integers (min_n, max_n)")


def _check_document_frequency(name: str, value: object) -> None:
    is_count = _is_integer(value) and value >= 1
    is_share = (
        isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1
    )
    if not (is_count or is_share):
        raise _invalid(name, value, "a positive integer or a float between 0.0 and 1.0")


def _is_same(value: object, choice: object) -> bool:
    # 0 and 1 equal False and True, but are no valid values of a boolean parameter.
    is_boolean = isinstance(value, bool | np.bool_)
    return is_boolean == isinstance(choice, bool) and bool(value == choice)


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _invalid(name: str, value: object, expected: str) -> CordwoodError:
    return CordwoodError(f"{name} must be {expected}; got {value!r}")
