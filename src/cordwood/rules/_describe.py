"""Readable rules, and their formatting as a table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from cordwood.rules.records import RuleSet


class Rule(NamedTuple):
    """One rule."""

    # Name of the feature, or its index if names are unknown; "(always)" if both votes are equal.
    feature: Any
    # Vote if the feature is present or absent: positive for the class, negative against it.
    present: float
    absent: float
    weight: float  # factor of the votes


def list_rules(rules: RuleSet, feature_names: Sequence[str] | None) -> list[Rule]:
    """Convert a set of rules to a list, with the names of the features if they are known."""
    listed = [Rule(*values) for values in zip(*(array.tolist() for array in rules), strict=True)]
    return [rule._replace(feature=_feature_name(rule, feature_names)) for rule in listed]


def format_rules(label: Any, rules: list[Rule]) -> str:
    """Format rules as a table, in decreasing order of their influence."""
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
