"""Combiners: final estimators for stacking.

A combiner is a classifier whose features are out-of-fold probabilities of the base estimators of an
ensemble: one block of `n_classes` columns per base estimator. `OOBStackingClassifier` passes such
features. scikit-learn's `StackingClassifier` drops one of two columns if there are two classes; its
features suit only combiners that accept any number of columns.
"""

from cordwood.stacking.combiners.decision_templates import DecisionTemplates
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.combiners.multi_response import MultiResponseRegression
from cordwood.stacking.combiners.scann import SCANN
from cordwood.stacking.combiners.variational_gaussian import VariationalGaussian
from cordwood.stacking.combiners.voting import Voting

__all__ = [
    "SCANN",
    "DecisionTemplates",
    "LogarithmicPool",
    "MultiResponseRegression",
    "VariationalGaussian",
    "Voting",
]
