"""Inspection of data and models: mistakes in labelled data, and explanations of predictions."""

from cordwood.inspection.class_words import ClassWord, ClassWords, explain_classes
from cordwood.inspection.dataset_check import DatasetCheck, Finding, check_dataset
from cordwood.inspection.explainer import Explainer, explain
from cordwood.inspection.explanation import (
    Explanation,
    Explanations,
    MemberExplanation,
    Neighbor,
)
from cordwood.inspection.oof_predictions import OOFPredictions, compute_oof

__all__ = [
    "ClassWord",
    "ClassWords",
    "DatasetCheck",
    "Explainer",
    "Explanation",
    "Explanations",
    "Finding",
    "MemberExplanation",
    "Neighbor",
    "OOFPredictions",
    "check_dataset",
    "compute_oof",
    "explain",
    "explain_classes",
]
