"""Readable rules, and their formatting as a table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cordwood.rules.records import RuleSet


class Rule(NamedTuple):
    """One rule.

    Parameters
    ----------
    feature : str or int
        Name of the feature, or its index if names are unknown; "(always)" if both votes are equal.
    present, absent : float
        Vote if the feature is present or absent: positive for the class, negative against it.
    weight : float
        Factor of the votes.
    """

    feature: Any
    present: float
    absent: float
    weight: float


def list_rules(rules: RuleSet, feature_names: Sequence[str] | None) -> list[Rule]:
    """Convert a set of rules to a list, with the names of the features if they are known."""
    listed = [Rule(*values) for values in zip(*(array.tolist() for array in rules), strict=True)]
    return [rule._replace(feature=_feature_name(rule, feature_names)) for rule in listed]


def format_rules(label: Any, rules: list[Rule]) -> str:
    """Format rules as a table, in decreasing order of their influence.

    Examples
    --------
    >>> print(format_rules("metal", [Rule("mine", 0.5, -0.25, 0.2), Rule("gold", 1.0, -0.5, 0.8)]))
    metal: 2 rules
      feature   present    absent    weight
      gold       +1.000    -0.500    0.8000
      mine       +0.500    -0.250    0.2000
    """
    ranked = sorted(rules, key=lambda rule: -rule.weight * abs(rule.present - rule.absent))
    width = max(len("feature"), *(len(str(rule.feature)) for rule in ranked))
    lines = [
        f"{label}: {len(ranked)} rule{'s' if len(ranked) > 1 else ''}",
        f"  {'feature':<{width}}   present    absent    weight",
    ]
    lines += [
        f"  {rule.feature!s:<{width}}  {rule.present:+8.3f}  {rule.absent:+8.3f}  "
        f"{rule.weight:8.4f}"
        for rule in ranked
    ]
    return "\n".join(lines)


def _feature_name(rule: Rule, feature_names: Sequence[str] | None) -> Any:
    if rule.present == rule.absent:
        return "(always)"
    return rule.feature if feature_names is None else str(feature_names[rule.feature])
