"""Every switch between documents and numbers, checked when it is set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeGuard

from cordwood.exceptions import CordwoodError
from cordwood.text.stop_words import STOP_LISTS

# Two letters or digits and more: the tokens of scikit-learn's `\b\w\w+\b`, found a third faster.
_WORDS = r"\w\w+"

_CHOICES: Mapping[str, tuple[object, ...]] = {
    "weighting": ("tf", "tfidf", "binary"),
    "sublinear_tf": (True, False),
    "smooth_idf": (True, False),
    "norm": ("l1", "l2", "max", False),
    "stemmer": ("porter", False),
    "analyzer": ("word", "char", "char_wb"),
    "lowercase": (True, False),
    "strip_accents": ("ascii", "unicode", False),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that decides how documents become numbers, with nothing left open.

    The fields are the parameters of `TextVectorizer`, where they are described.

    Examples
    --------
    >>> Settings(min_df=2).min_df
    2
    >>> Settings(norm="l3")
    Traceback (most recent call last):
        ...
    cordwood.exceptions.CordwoodError: norm is 'l3', but can be 'l1', 'l2', 'max' or False
    """

    weighting: str = "tf"
    sublinear_tf: bool = False
    smooth_idf: bool = True
    norm: str | bool = False
    stop_words: str | tuple[str, ...] | bool = False
    stemmer: str | bool = False
    analyzer: str = "word"
    token_pattern: str = _WORDS
    ngram_range: tuple[int, int] = (1, 1)
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    lowercase: bool = True
    strip_accents: str | bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                *first, last = map(repr, choices)
                raise _refusal(name, value, f"{', '.join(first)} or {last}")
        _check_stop_words(self.stop_words)
        _check_token_pattern(self.token_pattern)
        _check_ngram_range(self.ngram_range)
        for name in ("min_df", "max_df"):
            _check_document_frequency(name, getattr(self, name))
        limit = self.max_features
        if limit is not None and not (_is_whole(limit) and limit >= 1):
            raise _refusal("max_features", limit, "None or a whole number from 1")


_STOP_WORDS = f"{', '.join(map(repr, STOP_LISTS))}, a collection of words, or False"


def _check_stop_words(value: object) -> None:
    own = isinstance(value, tuple) and all(isinstance(word, str) for word in value)
    if not own and value is not False and value not in STOP_LISTS:
        raise _refusal("stop_words", value, _STOP_WORDS)


def _check_token_pattern(value: object) -> None:
    if not isinstance(value, str):
        raise _refusal("token_pattern", value, "a regular expression")
    try:
        n_groups = re.compile(value).groups
    except re.error as error:
        raise CordwoodError(
            f"token_pattern is {value!r}, which is no regular expression: {error}"
        ) from None
    if n_groups > 1:
        raise CordwoodError(
            f"token_pattern is {value!r} with {n_groups} groups, but one at most can be the token;"
            " write the others as (?:...)"
        )


def _check_ngram_range(value: object) -> None:
    right = isinstance(value, tuple) and len(value) == 2 and all(map(_is_whole, value))
    if not (right and isinstance(value, tuple) and 1 <= value[0] <= value[1]):
        raise _refusal("ngram_range", value, "a pair of whole numbers from 1 in rising order")


def _check_document_frequency(name: str, value: object) -> None:
    count = _is_whole(value) and value >= 1
    share = isinstance(value, Real) and not isinstance(value, Integral) and 0 <= float(value) <= 1
    if not (count or share):
        raise _refusal(name, value, "a whole number from 1, or a share between 0.0 and 1.0")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _refusal(name: str, value: object, can_be: str) -> CordwoodError:
    return CordwoodError(f"{name} is {value!r}, but can be {can_be}")
