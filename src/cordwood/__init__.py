"""Classify text, and other high-dimensional noisy data, with ensembles of trees.

The names below are loaded when they are first used, so that ``import cordwood`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cordwood.api import evaluate, predict, train
    from cordwood.datasets.corpus import Corpus, FeatureMatrix
    from cordwood.datasets.readers import read_dataset
    from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
    from cordwood.ensemble.boosted_forest import BoostedForestClassifier
    from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
    from cordwood.ensemble.lazy_forest import LazyForestClassifier
    from cordwood.exceptions import CordwoodError, DataError, ModelFileError
    from cordwood.linear_model.linear_svm import LinearSVMClassifier
    from cordwood.neighbors.k_neighbors import NeighborsClassifier
    from cordwood.persist import load, save
    from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
    from cordwood.stacking.oob_stacking import OOBStackingClassifier
    from cordwood.text.vectorizer import TextVectorizer

__version__ = "0.1.0"

_HOMES = {
    "AdaBoostM2Classifier": "cordwood.ensemble.adaboost_m2",
    "AdaUBoostClassifier": "cordwood.rules.estimators",
    "BoostedForestClassifier": "cordwood.ensemble.boosted_forest",
    "CordwoodError": "cordwood.exceptions",
    "Corpus": "cordwood.datasets.corpus",
    "DataError": "cordwood.exceptions",
    "ExtraTreesClassifier": "cordwood.ensemble.forests",
    "LPUBoostClassifier": "cordwood.rules.estimators",
    "LazyForestClassifier": "cordwood.ensemble.lazy_forest",
    "LinearSVMClassifier": "cordwood.linear_model.linear_svm",
    "FeatureMatrix": "cordwood.datasets.corpus",
    "ModelFileError": "cordwood.exceptions",
    "NeighborsClassifier": "cordwood.neighbors.k_neighbors",
    "OOBStackingClassifier": "cordwood.stacking.oob_stacking",
    "RandomForestClassifier": "cordwood.ensemble.forests",
    "TextVectorizer": "cordwood.text.vectorizer",
    "evaluate": "cordwood.api",
    "load": "cordwood.persist",
    "predict": "cordwood.api",
    "read_dataset": "cordwood.datasets.readers",
    "save": "cordwood.persist",
    "train": "cordwood.api",
}

__all__ = [
    "AdaBoostM2Classifier",
    "AdaUBoostClassifier",
    "BoostedForestClassifier",
    "CordwoodError",
    "Corpus",
    "DataError",
    "ExtraTreesClassifier",
    "LPUBoostClassifier",
    "LazyForestClassifier",
    "LinearSVMClassifier",
    "FeatureMatrix",
    "ModelFileError",
    "NeighborsClassifier",
    "OOBStackingClassifier",
    "RandomForestClassifier",
    "TextVectorizer",
    "evaluate",
    "load",
    "predict",
    "read_dataset",
    "save",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
