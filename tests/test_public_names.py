"""The public names, all of them: a new one is a decision, and everything else is private."""

from importlib import import_module

import pytest

import cordwood

TOP = """
    AdaBoostM2Classifier AdaUBoostClassifier BatchPredictor BoostedForestClassifier CordwoodError
    Corpus DataError
    Decision EmbeddingClassifier EmbeddingVectorizer ExtraTreesClassifier FeatureMatrix
    LPUBoostClassifier LazyForestClassifier LexiconVectorizer LinearSVMClassifier ModelFileError
    MultiLabelClassifier NaiveBayesClassifier NeighborsClassifier OOBStackingClassifier
    RandomForestClassifier TextClassifier TextVectorizer audit_dataset check_dataset cluster
    dataset_report load read_dataset save warmup
"""

# Names of packages beyond those of `cordwood` itself.
PACKAGES = {
    "audit": "DatasetAudit DatasetCheck find_label_errors find_near_duplicates",
    "classifier": "TunedDecision",
    "columns": "ColumnRoles detect_columns",
    "compare": "comparison_report",
    "confidence": "calibrate_sets choose_confidence",
    "datasets": "ReadOptions list_datasets load_dataset stream_dataset",
    "encoders": "Encoder list_encoders load_encoder",
    "ensemble": "",
    "exceptions": None,
    "explain": "ClassWords Explanation Explanations",
    "linear_model": "",
    "metrics": """
        ClassScores Evaluation LearningCurveEstimate Predictions Score estimate_learning_curve
    """,
    "multilabel": "",
    "naive_bayes": "",
    "neighbors": "",
    "oof": "OOFPredictions",
    "persist": "ModelCard TrainingRecord read_model_card",
    "recipes": "describe grid make names",
    "reports": "Report",
    "rules": "",
    "stacking": "combiners diversity",
    "text": "",
}


def test_names_of_the_package():
    assert sorted(cordwood.__all__) == sorted([*TOP.split(), *PACKAGES])


@pytest.mark.parametrize("package", [name for name, names in PACKAGES.items() if names is not None])
def test_names_of_packages(package):
    module = import_module(f"cordwood.{package}")
    own = set(module.__all__) - set(cordwood.__all__)
    assert own == set(PACKAGES[package].split())
    assert getattr(cordwood, package) is module
