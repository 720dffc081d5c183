"""Scores of predictions, with intervals, baselines and learning curves."""

from cordwood.metrics.evaluation import (
    ClassEvaluation,
    OOFEvaluation,
    ScoreInterval,
    Scores,
    oof_evaluation,
)
from cordwood.metrics.learning_curve import LearningCurveEstimate, estimate_learning_curve

__all__ = [
    "ClassEvaluation",
    "LearningCurveEstimate",
    "OOFEvaluation",
    "ScoreInterval",
    "Scores",
    "estimate_learning_curve",
    "oof_evaluation",
]
