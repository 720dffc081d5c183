"""The public names, all of them: a new one is a decision, and everything else is private."""

import inspect
from importlib import import_module

import pytest

import cordwood
from cordwood.stacking import combiners, diversity

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


def list_things():
    """Return all public classes and functions, by their full names."""
    packages = [cordwood, *(getattr(cordwood, name) for name in PACKAGES), combiners, diversity]
    names = [(module, name) for module in packages for name in getattr(module, "__all__", ())]
    things = {f"{module.__name__}.{name}": getattr(module, name) for module, name in names}
    return {name: thing for name, thing in things.items() if not inspect.ismodule(thing)}


@pytest.mark.parametrize("name", list_things())
def test_public_name_has_an_example(name):
    section = inspect.getdoc(list_things()[name]).partition("\nExamples\n--------\n")[2]
    assert ">>> " in section


@pytest.mark.parametrize("name", list_things())
def test_hints_are_readable(name):
    """`help` shows ArrayLike, not the union of eight types that it is."""
    thing = list_things()[name]
    is_class = inspect.isclass(thing)
    members = inspect.getmembers(thing, inspect.isfunction) if is_class else [("", thing)]
    functions = [value for key, value in members if key == "__init__" or not key.startswith("_")]
    hints = [
        inspect.formatannotation(parameter.annotation)
        for function in functions
        for parameter in inspect.signature(function).parameters.values()
    ]
    assert not [hint for hint in hints if len(hint) > 130]
