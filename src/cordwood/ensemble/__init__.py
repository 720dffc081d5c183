"""Tree ensembles: random forests, extra-trees, boosted forests, lazy forests and AdaBoost.M2."""

from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier

__all__ = [
    "AdaBoostM2Classifier",
    "BoostedForestClassifier",
    "ExtraTreesClassifier",
    "LazyForestClassifier",
    "RandomForestClassifier",
]
