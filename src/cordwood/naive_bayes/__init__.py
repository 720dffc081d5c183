"""Naive Bayes classifier whose event model is a parameter."""

from cordwood.naive_bayes.classifier import NaiveBayesClassifier

__all__ = ["NaiveBayesClassifier"]
