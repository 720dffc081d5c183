"""Inspection of data and models: mistakes in labelled data, and explanations of predictions."""

from cordwood.inspection.class_words import ClassWord, ClassWords, explain_classes
from cordwood.inspection.dataset_check import DatasetCheck, Finding, check_dataset
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
from cordwood.inspection.learning_curve import LearningCurveEstimate, estimate_learning_curve
from cordwood.inspection.oof_predictions import OOFPredictions, compute_oof

__all__ = [
    "ClassEvaluation",
    "ClassWord",
    "ClassWords",
    "DatasetCheck",
    "Explainer",
    "Explanation",
    "Explanations",
    "Finding",
    "LearningCurveEstimate",
    "MemberExplanation",
    "Neighbor",
    "OOFEvaluation",
    "OOFPredictions",
    "ScoreInterval",
    "Scores",
    "check_dataset",
    "compute_oof",
    "estimate_learning_curve",
    "explain",
    "explain_classes",
    "oof_evaluation",
]
