import json
from dataclasses import fields, replace

import pytest

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.build_pipeline import build_pipeline
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.trials import Trial, learner_seed, trial_key
from cordwood.datasets.corpus import Corpus


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)


def trials(datasets=("docstrings",), learners=({"recipe": "svm"},), **tables):
    datasets = [{"name": name} for name in datasets]
    return list_trials(parse_plan({"datasets": datasets, "learners": list(learners), **tables}))


def first_key(**changes):
    return trial_key(trials(**changes)[0], "data")


TUNED = {"recipe": "svm", "grid": {"C": [1, 2]}}


def test_all_learners_run_on_a_split_before_the_next_split():
    found = trials(
        ("docstrings", "sklearn:iris"),
        ({"recipe": "svm"}, {"recipe": "rf"}),
        evaluation={"folds": 2, "repeats": 2, "train_fractions": [0.5, 1.0]},
    )
    order = [(t.dataset, t.repeat, t.fold, t.train_fraction, t.learner) for t in found]
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


def test_trial_has_everything_that_determines_its_result():
    (trial, *_) = trials(learners=[TUNED], seed=3, metric="macro_f1", vectorizer={"min_df": 2})
    assert (trial.recipe, trial.estimator) == ("svm", None)
    assert trial.grid == {"classifier__C": [1, 2]}
    assert trial.vectorizer == {"min_df": 2}
    assert trial.evaluation == {"kind": "stratified", "folds": 5}
    assert trial.tuning == {"kind": "cv", "folds": 5, "metric": "macro_f1"}
    assert trial.seed == 3


def test_tuning_has_a_sample_if_it_is_set():
    for kind in ("loo", "auto"):
        with_sample, without = (
            trials(learners=[TUNED], tuning={"kind": kind, **sample})[0]
            for sample in ({"sample": 50}, {})
        )
        assert with_sample.tuning == {**without.tuning, "sample": 50}
        assert trial_key(with_sample, "data") != trial_key(without, "data")


def test_json_of_a_trial_is_plain_and_without_unset_fields():
    (trial, *_) = trials(learners=[TUNED], vectorizer={"ngram_range": [1, 2]})
    content = trial.to_json()
    assert json.loads(json.dumps(content)) == content
    assert Trial(**content) == trial
    assert not {"estimator", "category", "max_positives", "estimator_folder"} & content.keys()


def test_numeric_data_have_no_vectorizer_params():
    learner = {"recipe": "svm", "params": {"min_df": 2, "C": 3}, "grid": {"norm": ["l1", "l2"]}}
    text, numbers = trials(
        ("docstrings", "sklearn:iris"),
        [learner],
        vectorizer={"preset": "social"},
        evaluation={"kind": "holdout"},
    )
    assert text.params == {"vectorizer__min_df": 2, "classifier__C": 3}
    assert (numbers.params, numbers.grid, numbers.vectorizer) == ({"classifier__C": 3}, {}, {})
    assert numbers.tuning == {}


def test_recipe_with_its_own_vectorizer_has_no_vectorizer_params():
    learners = [{"recipe": "logistic_ngrams"}, {"recipe": "svm"}]
    found = trials(learners=learners, vectorizer={"min_df": 2})
    assert [trial.vectorizer for trial in found[:2]] == [{}, {"min_df": 2}]


CHANGES = {
    "repeat": 1,
    "fold": 1,
    "train_fraction": 0.5,
    "recipe": "rf",
    "params": {"classifier__C": 2},
    "grid": {"classifier__C": [1, 3]},
    "vectorizer": {"min_df": 3},
    "evaluation": {"kind": "grouped", "folds": 5},
    "tuning": {"kind": "oob", "folds": 5, "metric": "micro_f1"},
    "seed": 1,
    "category": "tin",
    "extra": {"max_positives": 3},
    "estimator": "sklearn.svm:SVC",
    "weighting": "tf",
    "scaler": "minmax",
}


@pytest.mark.parametrize("field", [field.name for field in fields(Trial)])
def test_key_depends_on_every_field_except_names_and_files(field):
    trial = trials(learners=[TUNED])[0]
    changed = replace(trial, **{field: CHANGES.get(field, "another")})
    is_same = trial_key(changed, "data") == trial_key(trial, "data")
    assert is_same == (field in ("dataset", "learner", "estimator_folder", "procedure"))


def test_key_depends_on_the_data():
    trial = trials()[0]
    assert len({trial_key(trial, data) for data in ("one", "two", "one")}) == 2


def test_key_is_stable():
    # Another key would make all results in existing ledgers unfindable.
    assert first_key() == "6aafc4f24dbe6de40f37cd0f7edd272854cf392863c7b7456ebdc63ede4e55c2"


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
def test_key_does_not_depend_on_unused_parts_of_the_plan(changes):
    assert first_key(**changes) == first_key()


def test_key_does_not_depend_on_n_jobs():
    plain, parallel, full = (
        first_key(learners=[{"recipe": "rf", "params": params}])
        for params in ({}, {"n_jobs": 2}, {"classifier__n_jobs": 3})
    )
    assert plain == parallel == full


def test_key_does_not_depend_on_short_names_and_order():
    keys = {
        first_key(learners=[{"recipe": "svm", "params": params}])
        for params in ({"C": 2, "tol": 0.1}, {"classifier__tol": 0.1, "classifier__C": 2})
    }
    assert len(keys) == 1


def test_numeric_data_have_no_vectorizer_params_of_members():
    params = {"members": ["nb", "logistic_ngrams"], "nb__vectorizer__min_df": 2, "nb__alpha": 0.5}
    (trial, *_) = trials(["sklearn:iris"], [{"recipe": "stack_sigir17", "params": params}])
    assert trial.params == {
        "members": ["nb", "logistic_ngrams"],
        "classifier__nb__classifier__alpha": 0.5,
    }


def test_weighting_applies_to_text_and_scaler_to_numeric_data():
    learner = {"estimator": "sklearn.svm:SVC", "weighting": "tf", "scaler": "minmax"}
    found = trials(("docstrings", "sklearn:iris"), [learner], evaluation={"kind": "holdout"})
    assert [(trial.weighting, trial.scaler) for trial in found] == [("tf", None), (None, "minmax")]


def test_stacks_have_the_seed_of_the_plan_and_other_learners_one_of_their_key():
    svm, stack = trials(learners=[{"recipe": "svm"}, {"recipe": "quick"}], seed=3)[:2]
    assert learner_seed(svm, "ff") == 255
    assert learner_seed(stack, "ff") == 3


@pytest.mark.parametrize(("encoder", "expected"), [("none", False), ("use", True)])
def test_encoder_none_adds_no_member(encoder, expected):
    learner = {"recipe": "quick", "params": {"members": ["nb"], "encoder": encoder}}
    corpus = Corpus(texts=("a",), ids=("1",), labels=("x",))
    pipeline = build_pipeline(trials(learners=[learner])[0], corpus, 0, {})
    assert ("embeddings" in dict(pipeline[-1].estimators)) == expected
