"""Combiners: classifiers that learn from what the members of an ensemble say.

They are trained on a meta matrix, the probabilities that members gave to rows they had not learnt
from: member after member, one column for each class. scikit-learn's `StackingClassifier` leaves a
column out where there are two classes, and then only suits those that take any columns.
"""

from cordwood.combine.gaussian import VariationalGaussian
from cordwood.combine.pool import LogarithmicPool
from cordwood.combine.regression import MultiResponseRegression
from cordwood.combine.scann import SCANN
from cordwood.combine.templates import DecisionTemplates
from cordwood.combine.voting import Voting

__all__ = [
    "SCANN",
    "DecisionTemplates",
    "LogarithmicPool",
    "MultiResponseRegression",
    "VariationalGaussian",
    "Voting",
]
