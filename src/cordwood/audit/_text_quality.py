"""Empty, garbled and damaged texts."""

import re
import zlib
from typing import NamedTuple

from cordwood._base.wording import count

# Replacement characters, control characters except white space, and lone surrogates.
_DAMAGED = re.compile("[\ufffd\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")

# Bytes 0x80 to 0xbf, which continue a character in UTF-8, decoded as cp1252 or latin-1.
_CONTINUATION = (
    "[\x80-\xbf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018"
    "\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178]"
)
# UTF-8 that was decoded as cp1252 or latin-1, such as "Ã©" for "é". The first bytes of Latin,
# Greek and Cyrillic letters are 0xc2 to 0xd1.
_MOJIBAKE = re.compile(
    f"[\xc2-\xd1]{_CONTINUATION}|[\xe0-\xef]{_CONTINUATION}{{2}}|\xf0{_CONTINUATION}{{3}}"
)

# From this share of damaged characters on, a text is garbled.
_MAX_DAMAGED_SHARE = 0.1

# Shorter texts are not compressed, and not searched for encoded data.
_MIN_CHARS = 200
_MIN_COMPRESSION_RATIO = 0.08
# Words are shorter, except in languages that are written without spaces; base64 has lines of 76.
_LONG_TOKEN = re.compile(r"(?<!\S)[!-~]{41,}(?!\S)")
_MAX_LONG_SHARE = 0.5


# Cells that stand for a missing value: of databases and programs, and errors of spreadsheets.
_ERRORS = ("#ref!", "#n/a", "#na", "#value!", "#name?", "#div/0!", "#num!", "#null!", "#spill!")
_NO_LABELS = frozenset((*_ERRORS, "null", "(null)", "n/a", "nan", "<na>", "(blank)", "(empty)"))
_NO_TEXTS = _NO_LABELS | {"none", "nil", "na", "n.a.", "-", "--", "---", "–", "—"}


def is_placeholder(cell: str, *, is_label: bool) -> bool:
    """Return whether a cell stands for a missing value; fewer labels do, as "-" may be one.

    Examples
    --------
    >>> is_placeholder(" #REF!", is_label=True), is_placeholder("-", is_label=True)
    (True, False)
    """
    return cell.strip().casefold() in (_NO_LABELS if is_label else _NO_TEXTS)


class TextProblem(NamedTuple):
    """What is wrong with a text."""

    kind: str  # "empty text", "placeholder", "garbled text", "encoding error" or "no letters"
    reason: str


def find_text_problem(text: str) -> TextProblem | None:
    """Return what is wrong with a text; None if it looks like a text.

    Examples
    --------
    >>> find_text_problem("a fine text")
    >>> find_text_problem("le cafÃ© est un bon endroit")
    TextProblem(kind='encoding error', reason="wrongly decoded: 'Ã©' is probably 'é'")
    >>> find_text_problem("+++ 404 +++")
    TextProblem(kind='no letters', reason='it has no letters')
    """
    stripped = text.strip()
    if not stripped:
        return TextProblem("empty text", "it is empty")
    if is_placeholder(stripped, is_label=False):
        return TextProblem("placeholder", f"{stripped!r} stands for a missing text")
    mojibake = [] if text.isascii() else _MOJIBAKE.findall(text)
    # Without mojibake, which contains control characters if it was decoded as latin-1.
    damaged = _DAMAGED.findall(_MOJIBAKE.sub("", text) if mojibake else text)
    n_damaged = len(damaged) + sum(map(len, mojibake))
    if n_damaged:
        return _describe_damage(damaged, mojibake, n_damaged, len(stripped))
    if not any(map(str.isalpha, stripped)):
        return TextProblem("no letters", "it has no letters")
    return _find_unreadable(stripped)


def _describe_damage(
    damaged: list[str], mojibake: list[str], n_damaged: int, n_chars: int
) -> TextProblem:
    if len(mojibake) > len(damaged):
        reason = f"wrongly decoded: {mojibake[0]!r}"
        if repaired := _repair(mojibake[0]):
            reason += f" is probably {repaired!r}"
    else:
        name = "replacement" if damaged[0] == "\ufffd" else "control"
        n = len(damaged)
        reason = f"{count(n, f'{name} character')}, such as {ascii(damaged[0])}"
    if n_damaged < _MAX_DAMAGED_SHARE * n_chars:
        return TextProblem("encoding error", reason)
    return TextProblem("garbled text", f"{n_damaged / n_chars:.0%} of the characters: {reason}")


def _repair(mojibake: str) -> str | None:
    for encoding in ("cp1252", "latin-1"):
        try:
            return mojibake.encode(encoding).decode("utf-8")
        except UnicodeError:
            pass
    return None


def _find_unreadable(text: str) -> TextProblem | None:
    """Find repetitions of the same characters, and encoded data."""
    if len(text) < _MIN_CHARS:
        return None
    encoded = text.encode("utf-8", "surrogatepass")
    ratio = len(zlib.compress(encoded)) / len(encoded)
    if ratio < _MIN_COMPRESSION_RATIO:
        return TextProblem("garbled text", f"repetitive: it compresses to {ratio:.0%} of its size")
    n_long = sum(len(token) for token in _LONG_TOKEN.findall(text) if "://" not in token)
    if n_long > _MAX_LONG_SHARE * len(text):
        return TextProblem(
            "garbled text", f"{n_long / len(text):.0%} of it are strings of more than 40 characters"
        )
    return None
