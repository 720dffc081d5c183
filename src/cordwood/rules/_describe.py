"""Rules to read: one by one, and as a table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cordwood.rules._records import WordRules


class Rule(NamedTuple):
    """A rule to read.

    Parameters
    ----------
    word : str or int
        The word, or the number of its column where names are not known; "(always)" if both votes
        are the same.
    present, absent : float
        The votes of a document that has the word and of one that has not; above zero for the
        class, below against it.
    weight : float
        What votes are multiplied by.
    """

    word: Any
    present: float
    absent: float
    weight: float


def read_rules(rules: WordRules, names: Sequence[str] | None) -> list[Rule]:
    """Give rules one by one, with the names of their words if there are any."""
    read = [Rule(*values) for values in zip(*(array.tolist() for array in rules), strict=True)]
    return [rule._replace(word=_name(rule, names)) for rule in read]


def write_table(label: Any, rules: list[Rule]) -> str:
    """Write rules down, those that can change a decision most first.

    Examples
    --------
    >>> print(write_table("metal", [Rule("mine", 0.5, -0.25, 0.2), Rule("gold", 1.0, -0.5, 0.8)]))
    metal: 2 rules
      word   present    absent    weight
      gold    +1.000    -0.500    0.8000
      mine    +0.500    -0.250    0.2000
    """
    ranked = sorted(rules, key=lambda rule: -rule.weight * abs(rule.present - rule.absent))
    width = max(4, *(len(str(rule.word)) for rule in ranked))
    lines = [
        f"{label}: {len(ranked)} rule{'s' if len(ranked) > 1 else ''}",
        f"  {'word':<{width}}   present    absent    weight",
    ]
    lines += [
        f"  {rule.word!s:<{width}}  {rule.present:+8.3f}  {rule.absent:+8.3f}  {rule.weight:8.4f}"
        for rule in ranked
    ]
    return "\n".join(lines)


def _name(rule: Rule, names: Sequence[str] | None) -> Any:
    if rule.present == rule.absent:
        return "(always)"
    return rule.word if names is None else str(names[rule.word])
