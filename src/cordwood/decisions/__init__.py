"""Decisions that fit the problem: thresholds, class weights and costs of predicted classes."""

from cordwood.decisions.tuned_decision import TunedDecisionClassifier

__all__ = ["TunedDecisionClassifier"]
