"""Schema of `TextVectorizer`."""

import re
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any

import numpy as np

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes, match_sizes
from cordwood._schema.errors import Rejected, shorten
from cordwood._schema.fields import Array, choice, text
from cordwood._schema.interface import Interface, InterfaceOf
from cordwood._schema.schema import Schema
from cordwood.text.analyzer import build_analyzer
from cordwood.text.counting import MAX_UNSPACED, build_counter
from cordwood.text.languages import check_language
from cordwood.text.presets import PRESETS, check_auto_for
from cordwood.text.scripts import is_unspaced, split_characters
from cordwood.text.token_patterns import TOKEN_PATTERNS
from cordwood.text.vectorizer import TextVectorizer
from cordwood.text.vectorizer_params import VectorizerParams

_MAX_N = 32

# A pattern from an untrusted file runs on other texts, and some patterns take exponential time.
# These take linear time: up to four characters of given kinds, then any number of one kind.
_CHARACTER = r"(?:\\[wSd]|\[\^?(?:\\[wWsSdD_-]|[^\[\]\\^])+\]|[A-Za-z0-9#@_])"
_LINEAR_PATTERN = re.compile(
    rf"(?:\(\?u\))?(?:\\b)?{_CHARACTER}{{0,4}}{_CHARACTER}(?:\+|\{{\d,\}})?"
)
_KNOWN_PATTERNS = {
    *(preset.token_pattern for preset in PRESETS.values()),
    r"(?u)\b\w\w+\b",
    r"(?u)\b\w+\b",
    r"\b\w\w+\b",
    r"\b\w+\b",
}

# Memory of a term in the dictionary of a vectorizer and in its index of n-grams, and what making
# the index takes (measured: 67 to 92, and 26 to 150).
_BYTES_PER_TERM = 100
_TEMPORARY_PER_TERM = 160


def is_linear_pattern(pattern: str) -> bool:
    r"""Return whether a token pattern is known to take time proportional to the text.

    Examples
    --------
    >>> is_linear_pattern(r"[a-z]\w+"), is_linear_pattern(r"(\w+)+x")
    (True, False)
    """
    return pattern in _KNOWN_PATTERNS or _LINEAR_PATTERN.fullmatch(pattern) is not None


class _ResolvedParams(Field):
    """The parameters after applying the preset."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return {name: encoder.encode_value(each) for name, each in asdict(value).items()}

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        names = {each.name for each in fields(VectorizerParams)}
        if not isinstance(node, dict) or set(node) != names:
            raise Rejected("has a TextVectorizer with invalid parameters")
        params = {name: decoder.decode_value(each) for name, each in node.items()}
        _check_bounds(params, is_trusted=decoder.trusts(TextVectorizer))
        return VectorizerParams(**params)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, VectorizerParams):
            return "VectorizerParams"
        if value.analyzer != "word" and (value.stop_words or value.stemmer):
            return "without stop words and stemmer if terms are of characters"
        return None


class _Vocabulary(Field):
    """The terms in alphabetical order, which is the order of the columns."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        encoder.spend(_BYTES_PER_TERM * len(value), _TEMPORARY_PER_TERM * len(value))
        return encoder.add_strings(sorted(value))

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        terms = decoder.get_strings(node)
        decoder.spend(_BYTES_PER_TERM * len(terms), _TEMPORARY_PER_TERM * len(terms))
        if not all(a < b for a, b in pairwise(terms)):
            raise Rejected("has a vocabulary that is not sorted or contains a term twice")
        return dict(zip(terms, range(len(terms)), strict=True))

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, dict) or not value:
            return "a mapping of terms to columns"
        columns = np.fromiter((value[term] for term in sorted(value)), np.int64, len(value))
        if not np.array_equal(columns, np.arange(len(value))):
            return "a mapping of sorted terms to columns"
        return match_sizes(("n_terms",), (len(value),), sizes)


def _check_vectorizer(model: Any, interface_of: InterfaceOf) -> None:
    params = model.resolved_params_
    if params.analyzer == "word" and params.token_pattern in TOKEN_PATTERNS:
        unspaced = filter(is_unspaced, model._vocabulary)
        if any(len(split_characters(term)) > MAX_UNSPACED for term in unspaced):
            raise Rejected("has a TextVectorizer with terms that are longer than its n-grams")
    if (params.weighting == "tfidf") != (model.idf_ is not None):
        raise Rejected("has a TextVectorizer whose idf_ does not match its weighting")
    # N-grams are indexed level by level, up to the longest of the vocabulary.
    max_n = params.ngram_range[1]
    if params.analyzer != "word":
        longest = max(map(len, model._vocabulary))
    elif build_analyzer(params).ngram_range is not None:
        longest = 1 + max(term.count(" ") for term in model._vocabulary)
    else:
        return
    if longest > max_n:
        raise Rejected("has a TextVectorizer with terms that are longer than its n-grams")


def _check_params(model: Any, is_trusted: bool) -> None:
    if model.preset not in ("auto", *PRESETS):
        raise Rejected(f"has a TextVectorizer with the unknown preset {shorten(model.preset)}")
    check_auto_for(model.auto_for)
    if model.language is not None:
        check_language(model.language)
    names = [each.name for each in fields(VectorizerParams)]
    given = {name: getattr(model, name) for name in names if getattr(model, name) is not None}
    if isinstance(given.get("ngram_range"), list):
        given["ngram_range"] = tuple(given["ngram_range"])
    if isinstance(given.get("stop_words"), list | set | frozenset):
        given["stop_words"] = tuple(given["stop_words"])
    _check_bounds(given, is_trusted=is_trusted)
    VectorizerParams(**given)


def _check_bounds(params: dict[str, Any], *, is_trusted: bool) -> None:
    """Raise Rejected if a parameter could make `transform` take unreasonably long."""
    if is_trusted:
        return
    trust = "if you trust it, pass trusted=['cordwood.text.vectorizer.TextVectorizer']"
    pattern, ngram_range = params.get("token_pattern"), params.get("ngram_range")
    if isinstance(pattern, str) and not is_linear_pattern(pattern):
        raise Rejected(
            f"has a TextVectorizer with the token_pattern {shorten(pattern)}, which is not known "
            f"to take linear time; {trust}"
        )
    if isinstance(ngram_range, tuple) and any(
        isinstance(n, int) and n > _MAX_N for n in ngram_range
    ):
        raise Rejected(
            f"has a TextVectorizer with the ngram_range {shorten(ngram_range)}, more than {_MAX_N};"
            f" {trust}"
        )


def _finish(model: Any) -> None:
    """Build the counter of the terms, frequent terms first, because lookups are then faster."""
    terms = list(model._vocabulary)
    # Short terms are frequent, where frequencies are not known.
    rank = model.idf_ if model.idf_ is not None else np.fromiter(map(len, terms), np.int64)
    order = np.argsort(rank, kind="stable").tolist()
    model._vocabulary = {terms[column]: column for column in order}
    model._count_terms = build_counter(model._vocabulary, build_analyzer(model.resolved_params_))


def _interface(model: Any, interface_of: InterfaceOf) -> Interface:
    params = model.resolved_params_
    return Interface(
        takes_text=True,
        n_outputs=len(model._vocabulary),
        norm=1.0 if params.norm in ("l1", "l2") else None,
        returns_counts=params.weighting != "tfidf" and not params.norm,
    )


SCHEMAS = (
    Schema(
        cls=TextVectorizer,
        fitted={
            "resolved_params_": _ResolvedParams(),
            "preset_": choice(*PRESETS),
            "preset_reason_": text(),
            "_vocabulary": _Vocabulary(),
            "idf_": Array("float64", "n_terms", low=0, high=1000, nullable=True),
        },
        check=_check_vectorizer,
        check_params=_check_params,
        finish=_finish,
        interface=_interface,
    ),
)
