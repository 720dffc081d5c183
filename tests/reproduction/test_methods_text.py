import pytest

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import collect
from reproduction import rare_classes
from reproduction.methods_text import describe_methods


def rare(**options):
    return {"procedure": f"{rare_classes.__file__}:RareClasses", "options": options}


def describe(tmp_path, recipe="svm", grid=(), **tables):
    learner = {"recipe": recipe, "grid": dict(grid)}
    mapping = {"datasets": [{"name": "sklearn:iris"}], "learners": [learner], **tables}
    plan = parse_plan(mapping)
    return list(describe_methods(plan, collect(plan, Ledger(tmp_path / "none.jsonl"))))


@pytest.mark.parametrize(
    ("evaluation", "expected"),
    [
        ({}, "5 stratified folds"),
        ({"kind": "repeated", "folds": 3}, "3 stratified folds, repeated 5 times"),
        ({"kind": "grouped"}, "5 folds, all samples of a group in the same fold"),
        ({"kind": "fixed"}, "the official split"),
        ({"kind": "holdout"}, "a random test set of 20% of the samples"),
        (
            {"train_fractions": [0.1, 0.5, 1.0]},
            "5 stratified folds; fitted on 10%, 50%, 100% of the training set, the last in the "
            "tables",
        ),
    ],
)
def test_describes_every_kind_of_evaluation(tmp_path, evaluation, expected):
    first, *_, last = describe(tmp_path, evaluation=evaluation)
    assert first == f"Evaluation: {expected}; seed 42"
    assert last == "Not run"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("cv", "5 folds of the training set"),
        ("oob", "out-of-bag scores if available, otherwise 5 folds"),
        ("loo", "leave-one-out scores if available, otherwise 5 folds"),
        ("auto", "out-of-bag or leave-one-out scores if available, otherwise 5 folds"),
    ],
)
def test_describes_every_kind_of_tuning(tmp_path, kind, expected):
    lines = describe(tmp_path, grid={"C": [1.0, 2.0]}, tuning={"kind": kind}, metric="macro_f1")
    assert lines[1].startswith(f"Tuning: svm, by macro-F1 in {expected}")
    assert not any("Tuning" in line for line in describe(tmp_path, tuning={"kind": kind}))


def test_vectorizer_is_described_for_text_only(tmp_path):
    assert not any("Vectorizer" in line for line in describe(tmp_path, vectorizer={"min_df": 2}))
    datasets = [{"name": "docstrings"}]
    assert "Vectorizer of docstrings: min_df `2`" in describe(
        tmp_path, vectorizer={"min_df": 2}, datasets=datasets
    )
    assert "Vectorizer of docstrings: defaults of each recipe" in describe(
        tmp_path, datasets=datasets
    )


def test_tuning_on_the_test_set_is_called_an_upper_bound(tmp_path):
    lines = describe(tmp_path, grid={"C": [1.0, 2.0]}, **rare(tune_on_test=True))
    assert lines[1] == (
        "Tuning: svm, by micro-F1 on the test set itself, which gives an upper bound and not an "
        "unbiased score"
    )


def test_describes_categories(tmp_path):
    lines = describe(
        tmp_path,
        metric="f1",
        **rare(threshold=True, max_positives=[3, 1000]),
        evaluation={"kind": "fixed", "repeats": 2},
        datasets=[{"name": "docstrings", "categories": ["array", "text"]}],
    )
    assert lines == [
        "Evaluation: the official split; fitted on at most 3, 1,000 samples of the category, the "
        "last in the tables, drawn 2 times; seed 42",
        "Categories of docstrings, each against all other samples: array, text",
        "Decision thresholds: of all learners, by F1 in 5 folds of the training set",
        "Vectorizer of docstrings: defaults of each recipe",
        "Not run",
    ]
