"""Combiners: classifiers that learn from what the members of an ensemble say.

They are trained on a meta matrix, the probabilities that members gave to rows they had not learnt
from: member after member, one column for each class. scikit-learn's `StackingClassifier` leaves a
column out where there are two classes, and then only suits those that take any columns.
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
