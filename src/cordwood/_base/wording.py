"""Phrases of messages: lists of names, numbers with their nouns, shortened texts."""

import math
import re
from collections.abc import Sequence
from typing import Any

LABEL_SEPARATOR = ";"
_ENDS = re.compile("^ +| +$")
_REPEATED = re.compile(" {2,}")


def join_names(names: Sequence[str], n: int | None = None) -> str:
    """Join names by commas and "and", at most n of them.

    Names that contain what joins them are quoted.

    >>> join_names(["a", "b", "c"]), join_names(["a", "b", "c"], 1)
    ('a, b and c', 'a and 2 more')
    >>> join_names(["rf, 10 trees", "svm"])
    '“rf, 10 trees” and “svm”'
    """
    if any("," in name or " and " in name for name in names):
        names = [f"“{name}”" for name in names]
    if n is not None and len(names) > n:
        return f"{', '.join(names[:n])} and {len(names) - n:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Format a number with its noun.

    >>> count(1, "fold"), count(2000, "class", "classes")
    ('1 fold', '2,000 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def format_probability(value: float) -> str:
    """Format a probability in percent; close to 0 and 1 with a decimal place.

    >>> [format_probability(value) for value in (0.5, 0.9991, 0.99997, 0.0004)]
    ['50 %', '99.9 %', 'more than 99.9 %', 'less than 0.1 %']
    """
    if value > 0.9995:
        return "more than 99.9 %"
    if value < 0.001:
        return "less than 0.1 %"
    return f"{100 * value:.{0 if 0.01 <= value <= 0.99 else 1}f} %"


def format_seconds(seconds: float) -> str:
    """Format seconds with about two significant digits, without exponent; NaN as a dash.

    >>> [format_seconds(seconds) for seconds in (123.4, 1.234, 0.001)]
    ['123', '1.2', '<0.01']
    """
    if math.isnan(seconds):
        return "–"
    if seconds >= 10:
        return f"{seconds:.0f}"
    if seconds < 0.01:
        return "<0.01"
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2f}"


def show_hidden(text: str) -> str:
    """Make visible what cannot be seen: blanks at the ends, odd spaces, zero-width and RTL marks.

    >>> show_hidden("paid "), show_hidden("no\\u00a0break"), show_hidden("a b\\n")
    ('paid␠', 'no<U+00A0>break', 'a b\\n')
    """
    if text.isprintable() and text.strip() == text:
        return text
    return "".join(map(show_character, _ENDS.sub(_mark_blanks, text)))


def show_label(label: object) -> str:
    """Make visible what cannot be seen in a label, with tabs, newlines and repeated blanks.

    >>> show_label("a  b "), show_label("a\\tb"), show_label("a b")
    ('a␠␠b␠', 'a␉b', 'a b')
    """
    text = _REPEATED.sub(_mark_blanks, str(label))
    return show_hidden(text.replace("\t", "␉").replace("\n", "␊").replace("\r", "␍"))


def _mark_blanks(found: re.Match[str]) -> str:
    return "␠" * len(found[0])


def show_character(letter: str) -> str:
    """Return an invisible character as its number, but joiners, which scripts and emoji need.

    >>> show_character("\\u202e"), show_character("a")
    ('<U+202E>', 'a')
    """
    is_shown = letter.isprintable() or letter in "\t\n\r\u200c\u200d"
    return letter if is_shown else f"<U+{ord(letter):04X}>"


def shorten(text: str, length: int = 30, end: str = "...") -> str:
    """Return a text of at most `length` characters; `end` replaces the rest.

    >>> shorten("a long name", 9), shorten("a name", 9)
    ('a long...', 'a name')
    """
    return text if len(text) <= length else text[: length - len(end)] + end


def shorten_line(text: str, length: int, end: str = "...") -> str:
    r"""Return a text on one line of at most `length` characters.

    >>> shorten_line("a  long\nname", 8, "…")
    'a long …'
    """
    return shorten(" ".join(text.split()), length, end)


def join_labels(labels: Any) -> str:
    """Join the labels of a sample to one string, for tables.

    >>> join_labels(("gas", "oil")), join_labels("gas")
    ('gas;oil', 'gas')
    """
    return LABEL_SEPARATOR.join(map(str, labels)) if isinstance(labels, tuple) else str(labels)
