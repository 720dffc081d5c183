"""Explanations of predictions and classes by contributions of words and members."""

from cordwood.explain.class_words import ClassWord, ClassWords, explain_classes
from cordwood.explain.explainer import Explainer, explain
from cordwood.explain.explanation import Explanation, Explanations, MemberExplanation, Neighbor

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
