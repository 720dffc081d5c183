"""Linear classifiers."""

from cordwood.linear_model.linear_svm import LinearSVMClassifier

__all__ = ["LinearSVMClassifier"]
