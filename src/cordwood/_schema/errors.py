"""Reasons to reject the content of a model file."""

from typing import Any


class Rejected(Exception):
    """The content is rejected; the message is the predicate of a sentence about it."""


def shorten(found: object, limit: int = 80) -> str:
    """Escape and truncate untrusted text for an error message."""
    text = ascii(str(found))[1:-1]
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def expect_list(node: Any, length: int | None = None) -> list[Any]:
    """Return JSON of an untrusted file; raise Rejected unless it is a list of the given length."""
    if not isinstance(node, list) or length not in (None, len(node)):
        raise Rejected("has a value of the wrong structure")
    return node
