"""Boosted single-feature rules for rare classes: AdaUBoost and LPUBoost.

A rule is a decision stump on the presence of one feature, with one vote if the feature is present
and one if it is absent. Both classifiers assign a higher cost to errors on the rare class.
"""

from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier

__all__ = ["AdaUBoostClassifier", "LPUBoostClassifier"]
