"""Explanations of predictions and classes by contributions of words and members."""

from cordwood.explain.class_words import ClassWords
from cordwood.explain.explanation import Explanation, Explanations

__all__ = ["ClassWords", "Explanation", "Explanations"]
