"""Classify text, and other high-dimensional noisy data, with ensembles of trees.

The names below are loaded when they are first used, so that ``import cordwood`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
    from cordwood.ensemble.boosted import BoostedForestClassifier
    from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
    from cordwood.ensemble.lazy import LazyForestClassifier
    from cordwood.ensemble.linear import LinearSVMClassifier
    from cordwood.ensemble.nearest import NeighborsClassifier
    from cordwood.ensemble.stacking import OOBStackingClassifier
    from cordwood.ensemble.uneven import AdaUBoostClassifier, LPUBoostClassifier
    from cordwood.errors import CordwoodError, DataError, ModelFileError
    from cordwood.persist import load, save
    from cordwood.text.corpus import Corpus, Matrix
    from cordwood.text.reading import read
    from cordwood.text.vectorizer import TextVectorizer
    from cordwood.workflow import evaluate, predict, train

__version__ = "0.1.0"

_HOMES = {
    "AdaBoostM2Classifier": "cordwood.ensemble.adaboost_m2",
    "AdaUBoostClassifier": "cordwood.ensemble.uneven",
    "BoostedForestClassifier": "cordwood.ensemble.boosted",
    "CordwoodError": "cordwood.errors",
    "Corpus": "cordwood.text.corpus",
    "DataError": "cordwood.errors",
    "ExtraTreesClassifier": "cordwood.ensemble.forests",
    "LPUBoostClassifier": "cordwood.ensemble.uneven",
    "LazyForestClassifier": "cordwood.ensemble.lazy",
    "LinearSVMClassifier": "cordwood.ensemble.linear",
    "Matrix": "cordwood.text.corpus",
    "ModelFileError": "cordwood.errors",
    "NeighborsClassifier": "cordwood.ensemble.nearest",
    "OOBStackingClassifier": "cordwood.ensemble.stacking",
    "RandomForestClassifier": "cordwood.ensemble.forests",
    "TextVectorizer": "cordwood.text.vectorizer",
    "evaluate": "cordwood.workflow",
    "load": "cordwood.persist",
    "predict": "cordwood.workflow",
    "read": "cordwood.text.reading",
    "save": "cordwood.persist",
    "train": "cordwood.workflow",
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
    "Matrix",
    "ModelFileError",
    "NeighborsClassifier",
    "OOBStackingClassifier",
    "RandomForestClassifier",
    "TextVectorizer",
    "evaluate",
    "load",
    "predict",
    "read",
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
