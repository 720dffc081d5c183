import json
from dataclasses import fields, replace

import pytest

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.trials import Unit, expand, key


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)


def units(datasets=("docstrings",), learners=({"recipe": "svm"},), **tables):
    datasets = [{"name": name} for name in datasets]
    return expand(parse_plan({"datasets": datasets, "learners": list(learners), **tables}))


def first_key(**changes):
    return key(units(**changes)[0], "data")


TUNED = {"recipe": "svm", "grid": {"C": [1, 2]}}


def test_all_learners_meet_a_division_before_the_next_has_its_turn():
    found = units(
        ("docstrings", "sklearn:iris"),
        ({"recipe": "svm"}, {"recipe": "rf"}),
        evaluation={"folds": 2, "repeats": 2, "shares": [0.5, 1.0]},
    )
    order = [(u.dataset, u.repeat, u.fold, u.share, u.learner) for u in found]
    assert len(order) == len(set(order)) == 2 * 2 * 2 * 2 * 2
    assert order[:5] == [
        ("docstrings", 0, 0, 0.5, "svm"),
        ("docstrings", 0, 0, 0.5, "rf"),
        ("docstrings", 0, 0, 1.0, "svm"),
        ("docstrings", 0, 0, 1.0, "rf"),
        ("docstrings", 0, 1, 0.5, "svm"),
    ]
    assert order[8][:3] == ("docstrings", 1, 0)
    assert order[16][0] == "sklearn:iris"


def test_a_unit_says_all_that_decides_its_result():
    (unit, *_) = units(learners=[TUNED], seed=3, metric="macro_f1", text={"min_df": 2})
    assert unit.recipe == "svm"
    assert unit.grid == {"classifier__C": [1, 2]}
    assert unit.text == {"min_df": 2}
    assert unit.evaluation == {"kind": "stratified", "folds": 5, "test_share": None}
    assert unit.tuning == {"kind": "cv", "folds": 5, "metric": "macro_f1"}
    assert unit.seed == 3


def test_a_unit_tells_of_a_sample_where_there_is_one():
    for kind in ("loo", "auto"):
        with_sample, without = (
            units(learners=[TUNED], tuning={"kind": kind, **sample})[0]
            for sample in ({"sample": 50}, {})
        )
        assert with_sample.tuning == {**without.tuning, "sample": 50}
        assert key(with_sample, "data") != key(without, "data")


def test_units_survive_json():
    (unit, *_) = units(learners=[TUNED], text={"ngram_range": [1, 2]})
    assert Unit.from_json(json.loads(json.dumps(unit.to_json()))) == unit


def test_numbers_have_no_words():
    learner = {"recipe": "svm", "params": {"min_df": 2, "C": 3}, "grid": {"norm": ["l1", "l2"]}}
    text, numbers = units(
        ("docstrings", "sklearn:iris"),
        [learner],
        text={"preset": "social"},
        evaluation={"kind": "holdout"},
    )
    assert text.params == {"vectorizer__min_df": 2, "classifier__C": 3}
    assert (numbers.params, numbers.grid, numbers.text) == ({"classifier__C": 3}, {}, {})
    assert numbers.tuning == {}


def test_a_recipe_with_its_own_preparation_has_no_text_settings():
    found = units(learners=[{"recipe": "logistic_ngrams"}, {"recipe": "svm"}], text={"min_df": 2})
    assert [unit.text for unit in found[:2]] == [{}, {"min_df": 2}]


CHANGES = {
    "repeat": 1,
    "fold": 1,
    "share": 0.5,
    "recipe": "rf",
    "params": {"classifier__C": 2},
    "grid": {"classifier__C": [1, 3]},
    "vectorizer": {"min_df": 3},
    "evaluation": {"kind": "grouped", "folds": 5, "test_share": None},
    "tuning": {"kind": "oob", "folds": 5, "metric": "micro_f1"},
    "seed": 1,
    "category": "tin",
    "positives": 3,
}


@pytest.mark.parametrize("field", [field.name for field in fields(Unit)])
def test_a_key_sees_every_field_but_the_labels(field):
    unit = units(learners=[TUNED])[0]
    changed = replace(unit, **{field: CHANGES.get(field, "another label")})
    assert (key(changed, "data") == key(unit, "data")) == (field in ("dataset", "learner"))


def test_a_key_sees_the_data():
    unit = units()[0]
    assert len({key(unit, "one"), key(unit, "two"), key(unit, "one")}) == 2


def test_a_key_is_the_same_for_ever():
    # Were it not, no ledger that is kept could be gone on with: raise the scheme on purpose only.
    assert first_key() == "36e60e5c2c2c6683b88877728fdf2bb26f45c37d9f38df6a8d4aafb35d205484"


@pytest.mark.parametrize(
    "changes",
    [
        {"learners": [{"recipe": "svm", "name": "SVM"}]},
        {"name": "another title"},
        {"metric": "macro_f1"},
        {"tuning": {"folds": 3}},
        {"tuning": {"kind": "loo", "sample": 50}},
        {"evaluation": {"repeats": 3}},
        {"evaluation": {"kind": "repeated"}},
        {"datasets": ["docstrings", "sklearn:iris"]},
    ],
)
def test_what_a_unit_does_not_use_leaves_its_key_alone(changes):
    assert first_key(**changes) == first_key()


def test_jobs_leave_a_key_alone():
    plain, parallel, full = (
        first_key(learners=[{"recipe": "rf", "params": params}])
        for params in ({}, {"n_jobs": 2}, {"classifier__n_jobs": 3})
    )
    assert plain == parallel == full


def test_short_and_full_names_and_their_order_make_one_key():
    keys = {
        first_key(learners=[{"recipe": "svm", "params": params}])
        for params in ({"C": 2, "tol": 0.1}, {"classifier__tol": 0.1, "classifier__C": 2})
    }
    assert len(keys) == 1


@pytest.mark.parametrize("recipe", ["boosted_rf", "boosted_et"])
def test_a_default_that_has_changed_leaves_records_what_they_are(recipe):
    def named(**params):
        return first_key(learners=[{"recipe": recipe, "params": params}])

    # As they were when the default was "aggregate".
    former = {
        "boosted_rf": "1a91f38e8e4d602285c44c65b06d35ecc18c3219e1272c5ae7519a6139c8fbad",
        "boosted_et": "02cdd57636751de031a7e894e9b8af4ca3994a9608c4564be3ee019ca5d3ce3a",
    }
    assert named(update="aggregate") == former[recipe]
    assert named() == named(update="majority") != former[recipe]
    assert named(update="per_tree") not in (named(), former[recipe])


def test_numbers_leave_out_the_words_of_members_as_well():
    params = {"members": ["nb", "logistic_ngrams"], "nb__words__min_df": 2, "nb__alpha": 0.5}
    (unit, *_) = units(["sklearn:iris"], [{"recipe": "stack_sigir17", "params": params}])
    assert unit.params == {
        "members": ["nb", "logistic_ngrams"],
        "classifier__nb__classifier__alpha": 0.5,
    }
