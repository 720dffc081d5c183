import pytest

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import collect
from reproduction.methods_text import list_facts


def facts(tmp_path, recipe="svm", grid=(), **tables):
    learner = {"recipe": recipe, "grid": dict(grid)}
    mapping = {"datasets": [{"name": "sklearn:iris"}], "learners": [learner], **tables}
    plan = parse_plan(mapping)
    return list(list_facts(plan, collect(plan, Ledger(tmp_path / "none.jsonl"))))


@pytest.mark.parametrize(
    ("evaluation", "told"),
    [
        ({}, "5 stratified folds"),
        ({"kind": "repeated", "folds": 3}, "3 stratified folds, drawn 5 times"),
        ({"kind": "grouped"}, "5 folds, rows of a group in the same one"),
        ({"kind": "fixed"}, "the official split"),
        ({"kind": "holdout"}, "a random 20% of the rows for the test"),
        (
            {"train_fractions": [0.1, 0.5, 1.0]},
            "5 stratified folds; learnt from 10%, 50%, 100% of the training rows, the last in the "
            "tables",
        ),
    ],
)
def test_every_evaluation_is_told(tmp_path, evaluation, told):
    first, *_, last = facts(tmp_path, evaluation=evaluation)
    assert first == f"Evaluation: {told}; seed 42"
    assert last == "Not run"


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("cv", "5 folds of the training rows"),
        ("oob", "out-of-bag scores where a learner has them, otherwise 5 folds"),
        ("loo", "leave-one-out scores where a learner has them, otherwise 5 folds"),
        ("auto", "out-of-bag or leave-one-out scores where a learner has them, otherwise 5 folds"),
    ],
)
def test_every_kind_of_tuning_is_told(tmp_path, kind, told):
    lines = facts(tmp_path, grid={"C": [1.0, 2.0]}, tuning={"kind": kind}, metric="macro_f1")
    assert lines[1].startswith(f"Tuning: svm, by macro-F1 in {told}")
    assert not any("Tuning" in line for line in facts(tmp_path, tuning={"kind": kind}))


def test_text_is_told_where_there_is_any(tmp_path):
    assert not any("Text" in line for line in facts(tmp_path, text={"min_df": 2}))
    datasets = [{"name": "docstrings"}]
    assert "Text of docstrings: min_df `2`" in facts(
        tmp_path, text={"min_df": 2}, datasets=datasets
    )
    assert "Text of docstrings: as each recipe has it" in facts(tmp_path, datasets=datasets)


def test_a_choice_by_the_test_rows_is_called_an_upper_bound(tmp_path):
    lines = facts(tmp_path, grid={"C": [1.0, 2.0]}, tuning={"kind": "test"})
    assert lines[1] == (
        "Tuning: svm, by micro-F1 on the test rows themselves, which gives an upper bound and no "
        "result"
    )


def test_categories_and_what_goes_with_them_are_told(tmp_path):
    lines = facts(
        tmp_path,
        metric="f1",
        tuning={"threshold": True},
        evaluation={"kind": "fixed", "max_positives": [3, 1000], "repeats": 2},
        datasets=[{"name": "docstrings", "categories": ["array", "text"]}],
    )
    assert lines == [
        "Evaluation: the official split; learnt from at most 3, 1,000 rows of the category, the "
        "last in the tables, drawn 2 times; seed 42",
        "Categories of docstrings, each against all other rows: array, text",
        "Thresholds of probability: of all learners, by F1 in 5 folds of the training rows",
        "Text of docstrings: as each recipe has it",
        "Not run",
    ]
