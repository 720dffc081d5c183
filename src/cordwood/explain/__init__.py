"""Explanations of predictions and classes by contributions of words and members."""

from cordwood.explain.class_words import ClassWord, ClassWords
from cordwood.explain.explanation import Explanation, Explanations, MemberExplanation, Neighbor

__all__ = [
    "ClassWord",
    "ClassWords",
    "Explanation",
    "Explanations",
    "MemberExplanation",
    "Neighbor",
]
