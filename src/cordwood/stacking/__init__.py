"""Stacked generalization: the stack, its final estimators and diversity measures."""

from cordwood.stacking import combiners, diversity
from cordwood.stacking.oob_stacking import OOBStackingClassifier

__all__ = ["OOBStackingClassifier", "combiners", "diversity"]
