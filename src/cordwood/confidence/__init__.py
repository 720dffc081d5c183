"""Confidence: prediction sets, undecided samples, and samples unlike the training samples."""

from cordwood.confidence.conformal import calibrate_sets
from cordwood.confidence.selective import choose_confidence

__all__ = ["calibrate_sets", "choose_confidence"]
