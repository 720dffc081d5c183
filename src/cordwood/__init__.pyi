from . import (
    api,
    audit,
    columns,
    compare,
    confidence,
    datasets,
    encoders,
    ensemble,
    exceptions,
    explain,
    linear_model,
    metrics,
    multilabel,
    naive_bayes,
    neighbors,
    oof,
    persist,
    recipes,
    reports,
    rules,
    stacking,
    text,
)
from ._warmup import warmup
from .api import evaluate, predict, train
from .audit.dataset_check import check_dataset
from .datasets.corpus import Corpus, FeatureMatrix
from .datasets.readers import read_dataset
from .ensemble.adaboost_m2 import AdaBoostM2Classifier
from .ensemble.boosted_forest import BoostedForestClassifier
from .ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from .ensemble.lazy_forest import LazyForestClassifier
from .exceptions import CordwoodError, DataError, ModelFileError
from .explain.class_words import explain_classes
from .linear_model.linear_svm import LinearSVMClassifier
from .neighbors.k_neighbors import NeighborsClassifier
from .persist import load, save
from .reports.report import dataset_report, model_report
from .rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from .stacking.oob_stacking import OOBStackingClassifier
from .text.embedding import EmbeddingVectorizer
from .text.vectorizer import TextVectorizer

__version__: str

__all__ = [
    "AdaBoostM2Classifier",
    "AdaUBoostClassifier",
    "BoostedForestClassifier",
    "CordwoodError",
    "Corpus",
    "DataError",
    "EmbeddingVectorizer",
    "ExtraTreesClassifier",
    "FeatureMatrix",
    "LPUBoostClassifier",
    "LazyForestClassifier",
    "LinearSVMClassifier",
    "ModelFileError",
    "NeighborsClassifier",
    "OOBStackingClassifier",
    "RandomForestClassifier",
    "TextVectorizer",
    "api",
    "audit",
    "check_dataset",
    "columns",
    "compare",
    "confidence",
    "dataset_report",
    "datasets",
    "encoders",
    "ensemble",
    "evaluate",
    "exceptions",
    "explain",
    "explain_classes",
    "metrics",
    "multilabel",
    "oof",
    "linear_model",
    "load",
    "model_report",
    "naive_bayes",
    "neighbors",
    "persist",
    "predict",
    "read_dataset",
    "recipes",
    "reports",
    "rules",
    "save",
    "stacking",
    "text",
    "train",
    "warmup",
]
