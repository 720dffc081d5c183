"""Inspection of data and models: mistakes in labelled data, explanations and confidence."""

from cordwood.inspection._confused_classes import ConfusedClasses
from cordwood.inspection._revealing_words import RevealingWord
from cordwood.inspection._suspects import Suspect
from cordwood.inspection.audit import audit_dataset
from cordwood.inspection.class_words import ClassWord, ClassWords, explain_classes
from cordwood.inspection.conformal import ConformalCalibration, calibrate_sets
from cordwood.inspection.dataset_audit import DatasetAudit, Fix
from cordwood.inspection.dataset_check import DatasetCheck, Finding, check_dataset
from cordwood.inspection.decision_rule import DecisionRule, make_decision_rule
from cordwood.inspection.evaluation import (
    ClassEvaluation,
    OOFEvaluation,
    ScoreInterval,
    Scores,
    oof_evaluation,
)
from cordwood.inspection.explainer import Explainer, explain
from cordwood.inspection.explanation import (
    Explanation,
    Explanations,
    MemberExplanation,
    Neighbor,
)
from cordwood.inspection.label_errors import LabelErrors, find_label_errors
from cordwood.inspection.learning_curve import LearningCurveEstimate, estimate_learning_curve
from cordwood.inspection.near_duplicates import NearDuplicates, find_near_duplicates
from cordwood.inspection.oof_predictions import OOFPredictions, compute_oof
from cordwood.inspection.out_of_scope import (
    ScopeReference,
    fit_scope,
    out_of_scope_score,
    scope_p_values,
)
from cordwood.inspection.selective import ConfidenceThreshold, choose_confidence

__all__ = [
    "ClassEvaluation",
    "ClassWord",
    "ClassWords",
    "ConfidenceThreshold",
    "ConformalCalibration",
    "ConfusedClasses",
    "DatasetAudit",
    "DatasetCheck",
    "DecisionRule",
    "Explainer",
    "Explanation",
    "Explanations",
    "Finding",
    "Fix",
    "LabelErrors",
    "LearningCurveEstimate",
    "MemberExplanation",
    "NearDuplicates",
    "Neighbor",
    "OOFEvaluation",
    "OOFPredictions",
    "RevealingWord",
    "ScopeReference",
    "ScoreInterval",
    "Scores",
    "Suspect",
    "audit_dataset",
    "calibrate_sets",
    "check_dataset",
    "choose_confidence",
    "compute_oof",
    "estimate_learning_curve",
    "explain",
    "explain_classes",
    "find_label_errors",
    "find_near_duplicates",
    "fit_scope",
    "make_decision_rule",
    "oof_evaluation",
    "out_of_scope_score",
    "scope_p_values",
]
