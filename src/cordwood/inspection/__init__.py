"""Explanations of predictions."""

from cordwood.inspection.explainer import Explainer, explain
from cordwood.inspection.explanation import (
    Explanation,
    Explanations,
    MemberExplanation,
    Neighbor,
)

__all__ = [
    "Explainer",
    "Explanation",
    "Explanations",
    "MemberExplanation",
    "Neighbor",
    "explain",
]
