"""Explanations of predictions, which add up to the output of the model."""

from cordwood.inspection.class_words import ClassWord, ClassWords, explain_classes
from cordwood.inspection.explainer import Explainer, explain
from cordwood.inspection.explanation import (
    Explanation,
    Explanations,
    MemberExplanation,
    Neighbor,
)

__all__ = [
    "ClassWord",
    "ClassWords",
    "Explainer",
    "Explanation",
    "Explanations",
    "MemberExplanation",
    "Neighbor",
    "explain",
    "explain_classes",
]
