"""Phrases of reports: lists of names, and numbers with their nouns."""

from collections.abc import Sequence


def join_names(names: Sequence[str], n: int | None = None) -> str:
    """Join names by commas and "and", at most n of them.

    Names that contain what joins them are quoted.

    Examples
    --------
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

    Examples
    --------
    >>> count(1, "fold"), count(2000, "class", "classes")
    ('1 fold', '2,000 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
