"""Scores of predictions, with intervals, baselines and learning curves."""

from cordwood.metrics.learning_curve import LearningCurveEstimate, estimate_learning_curve
from cordwood.metrics.predictions import Predictions
from cordwood.metrics.scores import ClassScores, Evaluation, Score

__all__ = [
    "ClassScores",
    "Evaluation",
    "LearningCurveEstimate",
    "Predictions",
    "Score",
    "estimate_learning_curve",
]
