"""JSON in which no object has a key twice: parsers differ in which of the values they keep."""

import json
from collections import Counter
from typing import Any


def parse(content: str | bytes) -> Any:
    """Parse JSON; raise ValueError if it is invalid, nested too deeply, or has a key twice."""
    try:
        return json.loads(content, object_pairs_hook=make_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a parsed object; a hook of `json`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(describe_duplicate_key(pairs))
    return found


def describe_duplicate_key(pairs: list[tuple[str, Any]]) -> str:
    """Return a message about the key that occurs most often."""
    [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
    return f'the key "{key[:50]}" occurs more than once'
