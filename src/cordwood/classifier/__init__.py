"""The model: `TextClassifier`, its decisions, and the one builder of pipelines."""

from cordwood.classifier.batch_predictor import BatchPredictor
from cordwood.classifier.decision import Decision, TunedDecision
from cordwood.classifier.files import load
from cordwood.classifier.text_classifier import TextClassifier

__all__ = ["BatchPredictor", "Decision", "TextClassifier", "TunedDecision", "load"]
