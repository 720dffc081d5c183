"""Multilabel classification: several labels per sample, or none."""

from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier

__all__ = ["MultiLabelClassifier"]
