"""Confidence: prediction sets, undecided samples, and samples unlike the training samples."""

from cordwood.confidence.conformal import ConformalCalibration, calibrate_sets
from cordwood.confidence.selective import ConfidenceThreshold, choose_confidence

__all__ = ["ConfidenceThreshold", "ConformalCalibration", "calibrate_sets", "choose_confidence"]
