r"""Unicode scripts: combining marks, emoji, and scripts that are written without spaces.

`\w` of a regular expression does not match the marks that are part of a letter, such as the vowel
signs of Devanagari. In scripts without spaces, a sequence of letters is a clause, not a word.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

# Contents of character classes.
EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
REGIONAL_INDICATORS = "\U0001f1e6-\U0001f1ff"
# Variation selectors, skin tones and the tags of flags such as that of Scotland.
EMOJI_ENDING = "\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
JOINERS = "\u200c\u200d"  # inside words of Persian and of Indic scripts, and between emoji

# Letters, marks and digits, without punctuation.
_UNSPACED = "".join(
    [
        "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59",  # Thai
        "\u0e81-\u0ece\u0ed0-\u0edf",  # Lao
        "\u1000-\u1049\u1050-\u109d\ua9e0-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f",  # Myanmar
        "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9",  # Khmer
        "\u1950-\u1974\u1980-\u19da\u1a20-\u1a99\uaa80-\uaadd",  # Tai
        "\ua980-\ua9c0\ua9cf-\ua9d9\u1b00-\u1b4c\u1b50-\u1b59",  # Javanese, Balinese
        "\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",  # kana
        "\u3105-\u312f\u31a0-\u31bf",  # Bopomofo
        "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    ]
)
# Marks of other planes: variation selectors, and scripts that are in everyday use.
_MARKS_OF_OTHER_PLANES = "".join(
    [
        "\U000e0100-\U000e01ef",
        "\U00010d24-\U00010d27\U00011100-\U00011102\U00011127-\U00011134\U00011435-\U00011446",
        "\U0001e130-\U0001e136\U0001e2ec-\U0001e2ef\U0001e944-\U0001e94a",
    ]
)
_EAST_ASIAN = re.compile("[\u3041-\u30ff\u3400-\u9fff]")
# All marks, emoji, joiners and letters of unspaced scripts, and letters between them: the test for
# a character of few ranges is fast, and most texts in other languages than English pass it.
_SPECIAL = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u200c\u200d\u20d0-\u20ff\u2300-\u23ff\u2600-\u27bf"
    "\u2b00-\u2bff\u2cef-\u2cf1\u2d7f-\u2dff\u2e80-\uabff\uf900-\ufaff\ufb1e\ufe00-\ufe2f"
    "\uff66-\uff9f\U00010000-\U0010ffff]"
)


@cache
def marks() -> str:
    r"""Return the content of a character class of combining marks.

    >>> re.findall(rf"\w[\w{marks()}]*", "मानक हिन्दी")
    ['मानक', 'हिन्दी']
    >>> re.findall(r"\w+", "मानक हिन्दी")
    ['म', 'नक', 'ह', 'न', 'द']
    """
    ranges: list[list[int]] = []
    for code in range(0x300, 0x10000):
        if unicodedata.category(chr(code)).startswith("M"):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    joined = "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
    return joined + _MARKS_OF_OTHER_PLANES


def has_special_characters(text: str) -> bool:
    r"""Return whether plain `\w` patterns may be wrong for a text.

    >>> has_special_characters("Déjà vu – naïve"), has_special_characters("हिन्दी")
    (False, True)
    """
    # False only if the text has no marks, emoji, joiners and letters of unspaced scripts.
    return not text.isascii() and _SPECIAL.search(text) is not None


@cache
def unspaced_runs() -> re.Pattern[str]:
    """Return the regular expression of a sequence of characters of scripts without spaces."""
    return re.compile(f"[{_UNSPACED}][{_UNSPACED}{marks()}{JOINERS}]*")


@cache
def unspaced_characters() -> re.Pattern[str]:
    """Return the regular expression of one such character, a letter with its marks."""
    return re.compile(f"[{_UNSPACED}][{marks()}{JOINERS}]*")


def find_unspaced(text: str) -> list[str]:
    """Find the longest sequences of characters of scripts that are written without spaces.

    >>> find_unspaced("Python 编程语言, version 3.11 的")
    ['编程语言', '的']
    """
    return unspaced_runs().findall(text) if has_special_characters(text) else []


def remove_unspaced(text: str) -> str:
    """Replace each result of `find_unspaced` by a space.

    >>> remove_unspaced("Python的GIL")
    'Python GIL'
    """
    return unspaced_runs().sub(" ", text)


def is_unspaced(text: str) -> bool:
    """Return whether a text begins with a character of a script without spaces."""
    return not text.isascii() and unspaced_runs().match(text) is not None


def split_characters(text: str) -> list[str]:
    """Split a result of `find_unspaced` into characters, each a letter with its marks.

    >>> split_characters("ที่นี่")
    ['ที่', 'นี่']
    """
    return unspaced_characters().findall(text)


def count_characters(text: str) -> int:
    """Count the characters of a text; a Han character or kana counts as three.

    Chinese texts have about a third of the characters of their translations to European languages.

    >>> count_characters("abc"), count_characters("日本 a")
    (3, 8)
    """
    if not has_special_characters(text):
        return len(text)
    return len(text) + 2 * len(_EAST_ASIAN.findall(text))


def unspaced_share(texts: Iterable[str]) -> float:
    """Return the share of letters that belong to scripts without spaces.

    >>> unspaced_share(["日本", "no"])
    0.5
    """
    n_letters = n_unspaced = 0
    for text in texts:
        n_letters += sum(map(str.isalpha, text))
        n_unspaced += sum(sum(map(str.isalpha, run)) for run in find_unspaced(text))
    return n_unspaced / n_letters if n_letters else 0.0
