"""Reasons not to load or write a file, and their formatting for error messages."""


class Rejected(Exception):
    """The content is rejected; the message is the predicate of a sentence about it."""


class Damaged(Exception):
    """The content differs from what was written; the message is the reason."""


def shorten(found: object, limit: int = 80) -> str:
    """Escape and truncate untrusted text for an error message.

    Examples
    --------
    >>> shorten("a" * 100)[-5:]
    'aa...'
    """
    text = ascii(str(found))[1:-1]
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def describe_error(error: BaseException) -> str:
    """Return the type and the shortened message of an exception."""
    return f"{type(error).__name__}: {shorten(error)}"
