r"""Token patterns that are selected by name, and tokenizers of texts in any script.

A named pattern finds the same tokens in English text as the regular expression in its second
column, and in text with other scripts:

===========  =====================  ======================================
name         in English text        use
===========  =====================  ======================================
``word``     ``\w\w+``              presets ``sigir15`` and ``sigir17``
``letters``  ``[^\W\d_]+``          preset ``icml03``
``social``   emoticons, ``\w+``     preset ``social``
             and punctuation
===========  =====================  ======================================

- Combining marks and joiners belong to the letter before them: ``हिन्दी`` is one token, which
  ``\w+`` splits into three.
- An emoji is a token, with its skin tone and the emoji joined to it; a flag is a token.
- Scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) have no
  tokens: their characters are counted as n-grams, see `cordwood.text.counting`.
- Texts are normalized to Unicode normalization form C (NFC), in which é is one character.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from cordwood.text.scripts import (
    EMOJI,
    EMOJI_ENDING,
    JOINERS,
    REGIONAL_INDICATORS,
    has_special_characters,
    marks,
    remove_unspaced,
)


class TokenPattern(NamedTuple):
    """Regular expression of a token, for two kinds of texts."""

    plain: str  # for texts without marks, emoji and scripts without spaces. Much faster
    full: str  # for any text. `_REST` stands for a character of a word after the first one


# An emoji is one token, with its joined emoji and skin tone; a flag is two code points.
_EMOJI_TOKENS = (
    f"[{REGIONAL_INDICATORS}]{{2}}|[{EMOJI}][{EMOJI_ENDING}]*(?:\u200d[{EMOJI}][{EMOJI_ENDING}]*)*"
)
# Emoticons that contain letters, digits or _, before \w+ can split them: :d <3 ^_^
_EMOTICONS = "|".join(
    [
        r"(?<!\w)[<>]?[:;=][-o*'^]?[)(\]\[dpo3/\\|*@$}{]+(?!\w)",
        r"</?3+(?!\w)",
        r"[-^>=]_+[-^<=]",
    ]
)
_PUNCTUATION = rf"[^\w\s{EMOJI}]+"
# Placeholder, because it takes milliseconds to list all marks, which few texts need.
_REST = "<rest of a word>"

TOKEN_PATTERNS: Mapping[str, TokenPattern] = MappingProxyType(
    {
        # Finds the same tokens as scikit-learn's r"\b\w\w+\b", a third faster.
        "word": TokenPattern(r"\w\w+", rf"{_EMOJI_TOKENS}|\w{_REST}+"),
        "letters": TokenPattern(r"[^\W\d_]+", rf"{_EMOJI_TOKENS}|[^\W\d_](?:(?![\d_]){_REST})*"),
        "social": TokenPattern(
            rf"{_EMOTICONS}|\w+|{_PUNCTUATION}",
            rf"{_EMOTICONS}|{_EMOJI_TOKENS}|\w{_REST}*|{_PUNCTUATION}",
        ),
    }
)
"""Named token patterns."""


@cache
def _compile_full(name: str) -> re.Pattern[str]:
    rest = rf"[\w{marks()}{JOINERS}]"
    return re.compile(TOKEN_PATTERNS[name].full.replace(_REST, rest))


def choose_pattern(name: str, text: str) -> re.Pattern[str]:
    """Return the regular expression of a named pattern that is right for a text.

    >>> [match.span() for match in choose_pattern("word", "a मानक").finditer("a मानक")]
    [(2, 6)]
    """
    if has_special_characters(text):
        return _compile_full(name)
    return re.compile(TOKEN_PATTERNS[name].plain)


def build_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Build a tokenizer for a named pattern.

    >>> build_tokenizer("word")("naïve मानक हिन्दी 👍🏽 编程")
    ['naïve', 'मानक', 'हिन्दी', '👍🏽']
    """
    find_plain = re.compile(TOKEN_PATTERNS[name].plain).findall

    def tokenize(text: str) -> list[str]:
        if not has_special_characters(text):
            return find_plain(text)
        return _compile_full(name).findall(remove_unspaced(text))

    return tokenize
