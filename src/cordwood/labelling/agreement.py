"""Agreement of annotators, corrected for chance."""

from collections import Counter
from collections.abc import Hashable, Sequence


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators of the same samples; None if it is undefined.

    Examples
    --------
    >>> cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    0.5
    """
    n = len(first)
    counts, others = Counter(first), Counter(second)
    by_chance = sum(counts[label] * others[label] for label in counts)
    if not n or by_chance == n * n:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True))
    return (observed * n - by_chance) / (n * n - by_chance)


def krippendorff_alpha(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Return Krippendorff's alpha of nominal labels; None if it is undefined.

    Each unit has the labels of one sample, by those annotators who labelled it.

    References
    ----------
    Krippendorff (2011). Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> krippendorff_alpha([["a", "a"], ["b", "b"], ["a", "b"], ["b"]])
    0.4444444444444444
    """
    paired = [Counter(unit) for unit in units if len(unit) > 1]
    totals = sum(paired, Counter())
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    observed = 0.0
    for counts in paired:
        size = counts.total()
        observed += (size * size - sum(each * each for each in counts.values())) / (size - 1)
    return 1 - (n - 1) * observed / expected
