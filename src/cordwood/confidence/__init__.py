"""Confidence: prediction sets, undecided samples, and samples unlike the training samples."""

from cordwood.confidence.conformal import ConformalCalibration, calibrate_sets
from cordwood.confidence.decision_rule import DecisionRule, make_decision_rule
from cordwood.confidence.out_of_scope import (
    ScopeReference,
    fit_scope,
    out_of_scope_score,
    scope_p_values,
)
from cordwood.confidence.selective import ConfidenceThreshold, choose_confidence

__all__ = [
    "ConfidenceThreshold",
    "ConformalCalibration",
    "DecisionRule",
    "ScopeReference",
    "calibrate_sets",
    "choose_confidence",
    "fit_scope",
    "make_decision_rule",
    "out_of_scope_score",
    "scope_p_values",
]
