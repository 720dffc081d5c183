"""Multilabel classification: several labels per sample, or none."""

from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.multilabel.problem_transformation import BinaryRelevance, LabelPowerset

__all__ = ["BinaryRelevance", "LabelPowerset", "MultiLabelClassifier"]
