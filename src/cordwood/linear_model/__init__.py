"""Linear classifiers."""

from cordwood.linear_model.embedding_classifier import EmbeddingClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier

__all__ = ["EmbeddingClassifier", "LinearSVMClassifier"]
