"""Removal of HTML tags and entities."""

import html
import re
from collections.abc import Sequence

# Tags of everyday HTML, so that e-mail addresses and comparisons in angle brackets are no tags.
# The classes exclude "<", so that the time is linear in the length of a text.
_NAMES = (
    "a|abbr|article|b|blockquote|body|br|button|center|code|dd|div|dl|dt|em|figure|font|footer|form"
    "|h[1-6]|head|header|hr|html|i|iframe|img|input|label|li|link|main|meta|nav|ol|option|p|pre|q"
    "|script|section|select|small|span|strong|style|sub|sup|table|tbody|td|textarea|th|thead|title"
    "|tr|u|ul|video"
)
_TAG = re.compile(rf"</?(?:{_NAMES})(?:[\s/][^<>]*)?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:nbsp|amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_ANY_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<![^<>]*>")
# Elements whose content is no text.
_HIDDEN_START = re.compile(r"<!--|<(?:script|style)\b[^<>]*>", re.IGNORECASE)
_HIDDEN_END = {
    "<!--": re.compile("-->"),
    "<scr": re.compile(r"</script\s*>", re.IGNORECASE),
    "<sty": re.compile(r"</style\s*>", re.IGNORECASE),
}


def strip_html(text: str) -> str:
    """Remove tags, comments, scripts and style sheets, and replace entities by characters.

    >>> strip_html('<p>caf&eacute;&nbsp;&amp; <a href="#">bar</a></p>').split()
    ['café', '&', 'bar']
    """
    if "<" in text:
        text = _ANY_TAG.sub(" ", _remove_hidden(text))
    return html.unescape(text) if "&" in text else text


def _remove_hidden(text: str) -> str:
    """Remove comments, scripts and style sheets; one without an end is kept."""
    parts, position = [], 0
    missing: set[str] = set()
    for start in _HIDDEN_START.finditer(text):
        kind = start[0][:4].lower()
        if start.start() < position or kind in missing:
            continue
        end = _HIDDEN_END[kind].search(text, start.end())
        if end is None:
            missing.add(kind)
            continue
        parts += [text[position : start.start()], " "]
        position = end.end()
    return "".join([*parts, text[position:]])


def html_share(texts: Sequence[str]) -> float:
    """Return the share of texts that contain an HTML tag or entity.

    >>> html_share(["<b>bold</b>", "fish &amp; chips", "1 < 2", "<me@example.org>"])
    0.5
    """
    found = sum(1 for text in texts if _TAG.search(text) or _ENTITY.search(text))
    return found / len(texts) if texts else 0.0
