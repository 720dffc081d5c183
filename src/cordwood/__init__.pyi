from . import (
    audit,
    classifier,
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
from ._base.cluster import cluster
from ._warmup import warmup
from .audit.audit_dataset import audit_dataset
from .audit.dataset_check import check_dataset
from .classifier.batch_predictor import BatchPredictor
from .classifier.decision import Decision
from .classifier.files import load
from .classifier.text_classifier import TextClassifier
from .datasets.corpus import Corpus, FeatureMatrix
from .datasets.readers import read_dataset
from .ensemble.adaboost_m2 import AdaBoostM2Classifier
from .ensemble.boosted_forest import BoostedForestClassifier
from .ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from .ensemble.lazy_forest import LazyForestClassifier
from .exceptions import CordwoodError, DataError, ModelFileError
from .linear_model.embedding_classifier import EmbeddingClassifier
from .linear_model.linear_svm import LinearSVMClassifier
from .multilabel.multilabel_classifier import MultiLabelClassifier
from .naive_bayes.classifier import NaiveBayesClassifier
from .neighbors.k_neighbors import NeighborsClassifier
from .persist import save
from .reports.report import dataset_report
from .rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from .stacking.oob_stacking import OOBStackingClassifier
from .text.embedding import EmbeddingVectorizer
from .text.lexicon import LexiconVectorizer
from .text.vectorizer import TextVectorizer

__version__: str

__all__ = [
    "AdaBoostM2Classifier",
    "AdaUBoostClassifier",
    "BatchPredictor",
    "BoostedForestClassifier",
    "CordwoodError",
    "Corpus",
    "DataError",
    "Decision",
    "EmbeddingClassifier",
    "EmbeddingVectorizer",
    "ExtraTreesClassifier",
    "FeatureMatrix",
    "LPUBoostClassifier",
    "LazyForestClassifier",
    "LexiconVectorizer",
    "LinearSVMClassifier",
    "ModelFileError",
    "MultiLabelClassifier",
    "NaiveBayesClassifier",
    "NeighborsClassifier",
    "OOBStackingClassifier",
    "RandomForestClassifier",
    "TextClassifier",
    "TextVectorizer",
    "audit",
    "audit_dataset",
    "check_dataset",
    "classifier",
    "cluster",
    "columns",
    "compare",
    "confidence",
    "dataset_report",
    "datasets",
    "encoders",
    "ensemble",
    "exceptions",
    "explain",
    "linear_model",
    "load",
    "metrics",
    "multilabel",
    "naive_bayes",
    "neighbors",
    "oof",
    "persist",
    "read_dataset",
    "recipes",
    "reports",
    "rules",
    "save",
    "stacking",
    "text",
    "warmup",
]
