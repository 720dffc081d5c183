import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_info

from cordwood import recipes
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.runner import run_trial
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.run_trial import carry_out
from cordwood.compare.runner.trials import list_trials
from cordwood.datasets.registry import load_dataset
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.exceptions import DataError

iris = load_dataset("sklearn:iris")
division = split(iris, Evaluation(folds=3), seed=0)[0]


def make_unit(recipe="svm", evaluation=None, tuning=None, **tables):
    learner = {"recipe": recipe, **tables}
    plan = {
        "datasets": [{"name": "sklearn:iris"}],
        "evaluation": evaluation or {"folds": 3},
        "tuning": tuning or {"folds": 3, "kind": "oob"},
        "learners": [learner],
    }
    return list_trials(parse_plan(plan))[0]


@pytest.mark.parametrize("recipe", ["svm", "rf", "nb", "ada"])
def test_scores_and_predictions_are_those_of_a_fit_by_hand(recipe):
    model = recipes.make(recipe, input="numeric", random_state=5, n_jobs=1)
    X, y = iris.X, np.array(iris.labels)
    votes = model.fit(X[division.train], y[division.train]).predict_proba(X[division.test])
    expected = model.classes_[votes.argmax(axis=1)]

    outcome, predictions = carry_out(make_unit(recipe), iris, division, seed=5)
    truth = y[division.test]
    assert outcome["scores"]["micro_f1"] == pytest.approx(accuracy_score(truth, expected))
    assert outcome["scores"]["macro_f1"] == pytest.approx(
        f1_score(truth, expected, average="macro")
    )
    assert predictions["classes"][predictions["codes"]].tolist() == expected.tolist()
    np.testing.assert_array_equal(predictions["votes"], votes.astype(np.float32), strict=True)
    np.testing.assert_array_equal(predictions["rows"], division.test)
    assert (outcome["n_train"], outcome["n_test"]) == (100, 50)
    assert outcome["params"] == {} and outcome["tuning_score"] is None


def test_seeds_matter_and_nothing_else_does():
    trial = make_unit("rf", params={"n_estimators": 5, "max_depth": 2})
    votes = [carry_out(trial, iris, division, seed).predictions["votes"] for seed in (1, 2, 1)]
    assert (votes[0] != votes[1]).any()
    np.testing.assert_array_equal(votes[0], votes[2])


def test_the_model_is_fitted_with_the_parameters_that_were_chosen():
    outcome, predictions = carry_out(make_unit(grid={"C": [1e-6, 5.0]}), iris, division, seed=5)
    assert outcome["params"] == {"classifier__C": 5.0}
    fixed = carry_out(make_unit(params={"C": 5.0}), iris, division, seed=5)
    np.testing.assert_array_equal(predictions["votes"], fixed.predictions["votes"])


def test_out_of_bag_where_it_can_be_and_folds_elsewhere():
    grid = {"max_depth": [1, None]}
    few = {"n_estimators": 10}
    kinds = []
    for recipe, params in (("rf", few), ("et", few), ("et", {**few, "bootstrap": True})):
        trial = make_unit(recipe, params=params, grid=grid)
        kinds.append(carry_out(trial, iris, division, 0).outcome["tuned_by"])
    assert kinds == ["oob", "cv", "oob"]
    assert carry_out(make_unit(), iris, division, 0).outcome["tuned_by"] is None


@pytest.mark.parametrize(("sample", "n_asked"), [({}, 100), ({"sample": 30}, 30)])
def test_tuning_by_leave_one_out_asks_a_sample_and_learns_from_all(monkeypatch, sample, n_asked):
    asked = []
    answer = LazyForestClassifier.loo_decision_function

    def watch(model, groups=None, rows=None):
        asked.append((len(model.kneighbors(n_neighbors=1)[0]), rows.tolist()))
        return answer(model, groups, rows)

    monkeypatch.setattr(LazyForestClassifier, "loo_decision_function", watch)
    tuning = {"kind": "auto", **sample}
    few = {"n_estimators": 5}
    trial = make_unit("lazy_rf", tuning=tuning, params=few, grid={"n_neighbors": [2, 9]})
    assert carry_out(trial, iris, division, 0).outcome["tuned_by"] == "loo"
    (n_learnt, rows), other = asked
    assert other == (n_learnt, rows)  # both candidates are asked the same
    assert (n_learnt, len(set(rows))) == (100, n_asked)
    labels = np.array(iris.labels)[division.train][rows]
    assert np.ptp(np.unique(labels, return_counts=True)[1]) <= 2
    assert carry_out(replace(trial, seed=1), iris, division, 0).outcome["tuned_by"] == "loo"
    assert (asked[-1][1] != rows) == bool(sample)


def test_a_sample_leaves_out_of_bag_votes_alone():
    scores = []
    for sample in ({}, {"sample": 30}):
        grid = {"max_depth": [1, 2]}
        trial = make_unit("rf", tuning={"kind": "auto", **sample}, grid=grid)
        outcome = carry_out(trial, iris, division, 0).outcome
        scores.append((outcome["tuned_by"], outcome["tuning_score"], outcome["params"]))
    assert scores[0] == scores[1] and scores[0][0] == "oob"


@pytest.mark.parametrize("kind", ["grouped", "stratified"])
def test_groups_stay_together_while_tuning_where_they_do_in_the_evaluation(monkeypatch, kind):
    groups = tuple(f"g{row % 50}" for row in range(150))
    rows = replace(iris, groups=groups)
    seen = []
    choose = run_trial.choose_by_folds

    def watch(build, grid, learnt, divisions, aim):
        seen.extend(
            {learnt.groups[row] for row in train} & {learnt.groups[row] for row in test}
            for train, test in divisions
        )
        return choose(build, grid, learnt, divisions, aim)

    monkeypatch.setattr(run_trial, "choose_by_folds", watch)
    trial = make_unit(evaluation={"kind": kind, "folds": 3}, grid={"C": [0.1, 1.0]})
    carry_out(trial, rows, split(rows, Evaluation(kind=kind, folds=3), seed=0)[0], seed=0)
    assert len(seen) == 3
    assert all(map(bool, seen)) == (kind == "stratified")
    assert any(map(bool, seen)) == (kind == "stratified")


class Stub:
    """A learner that does what it is told when it is fitted."""

    classes_ = np.unique(iris.labels)
    n_features_in_ = 4

    def __init__(self, act):
        self.act = act

    def fit(self, X, y):
        self.act()
        return self

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


def carry_out_stub(monkeypatch, act):
    monkeypatch.setattr(recipes, "make", lambda *_, **__: Pipeline([("classifier", Stub(act))]))
    monkeypatch.setattr(run_trial, "_warm", set())
    return carry_out(make_unit(), iris, division, seed=0)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("too\nmuch"), "ValueError: too"),
        (DataError("a sentence"), "a sentence"),
        (MemoryError(), "MemoryError"),
        (OSError("no /home/me/x.csv, and/or 'C:\\a\\b'"), "OSError: no <path>, and/or '<path>'"),
    ],
)
def test_whatever_a_learner_raises_is_one_line_without_paths(monkeypatch, error, line):
    def fail():
        raise error

    assert carry_out_stub(monkeypatch, fail) == ({"error": line}, {})


def test_an_interrupt_is_no_result(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out_stub(monkeypatch, interrupt)


def test_warnings_are_told_once_and_only_those_that_concern_a_result(monkeypatch):
    def complain():
        for _ in range(3):
            warnings.warn("did not converge", stacklevel=1)
        warnings.warn("soon gone", FutureWarning, stacklevel=1)

    assert carry_out_stub(monkeypatch, complain).outcome["warnings"] == [
        "UserWarning: did not converge"
    ]


def test_libraries_work_in_one_thread(monkeypatch):
    n_threads = []

    def look():
        n_threads.extend(pool["num_threads"] for pool in threadpool_info())

    carry_out_stub(monkeypatch, look)
    assert n_threads and set(n_threads) == {1}
