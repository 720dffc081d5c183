import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_info

from cordwood import recipes
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner import run_trial as run_trial_module
from cordwood.compare.runner import tuning
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.run_trial import run_trial
from cordwood.datasets.registry import load_dataset
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.exceptions import DataError

iris = load_dataset("sklearn:iris")
fold = split(iris, EvaluationConfig(folds=3), seed=0)[0]


def make_trial(recipe="svm", evaluation=None, tuning=None, **tables):
    learner = {"recipe": recipe, **tables}
    plan = {
        "datasets": [{"name": "sklearn:iris"}],
        "evaluation": evaluation or {"folds": 3},
        "tuning": tuning or {"folds": 3, "kind": "oob"},
        "learners": [learner],
    }
    return list_trials(parse_plan(plan))[0]


@pytest.mark.parametrize("recipe", ["svm", "rf", "nb", "adaboost_m2"])
def test_scores_and_predictions_match_a_direct_fit(recipe):
    model = recipes.make(recipe, input="numeric", random_state=5, n_jobs=1)
    X, y = iris.X, np.array(iris.labels)
    proba = model.fit(X[fold.train], y[fold.train]).predict_proba(X[fold.test])
    expected = model.classes_[proba.argmax(axis=1)]

    outcome, predictions = run_trial(make_trial(recipe), iris, fold, seed=5)
    truth = y[fold.test]
    assert outcome["scores"]["micro_f1"] == pytest.approx(accuracy_score(truth, expected))
    assert outcome["scores"]["macro_f1"] == pytest.approx(
        f1_score(truth, expected, average="macro")
    )
    assert predictions["classes"][predictions["class_codes"]].tolist() == expected.tolist()
    np.testing.assert_array_equal(predictions["proba"], proba.astype(np.float32), strict=True)
    np.testing.assert_array_equal(predictions["test_indices"], fold.test)
    assert (outcome["n_train"], outcome["n_test"]) == (100, 50)
    assert outcome["params"] == {} and outcome["tuning_score"] is None


def test_result_depends_only_on_the_seed():
    trial = make_trial("rf", params={"n_estimators": 5, "max_depth": 2})
    proba = [run_trial(trial, iris, fold, seed).predictions["proba"] for seed in (1, 2, 1)]
    assert (proba[0] != proba[1]).any()
    np.testing.assert_array_equal(proba[0], proba[2])


def test_model_is_fitted_with_the_tuned_parameters():
    outcome, predictions = run_trial(make_trial(grid={"C": [1e-6, 5.0]}), iris, fold, seed=5)
    assert outcome["params"] == {"classifier__C": 5.0}
    fixed = run_trial(make_trial(params={"C": 5.0}), iris, fold, seed=5)
    np.testing.assert_array_equal(predictions["proba"], fixed.predictions["proba"])


def test_oob_tuning_falls_back_to_cv():
    grid = {"max_depth": [1, None]}
    small = {"n_estimators": 10}
    kinds = []
    for recipe, params in (("rf", small), ("et", small), ("et", {**small, "bootstrap": True})):
        trial = make_trial(recipe, params=params, grid=grid)
        kinds.append(run_trial(trial, iris, fold, 0).outcome["tuned_by"])
    assert kinds == ["oob", "cv", "oob"]
    assert run_trial(make_trial(), iris, fold, 0).outcome["tuned_by"] is None


@pytest.mark.parametrize(("sample", "n_expected"), [({}, 100), ({"sample": 30}, 30)])
def test_loo_tuning_predicts_a_sample_and_fits_on_all(monkeypatch, sample, n_expected):
    calls = []
    loo_decision_function = LazyForestClassifier.loo_decision_function

    def spy(model, groups=None, indices=None):
        calls.append((len(model.kneighbors(n_neighbors=1)[0]), indices.tolist()))
        return loo_decision_function(model, groups, indices)

    monkeypatch.setattr(LazyForestClassifier, "loo_decision_function", spy)
    tuning = {"kind": "auto", **sample}
    small = {"n_estimators": 5}
    trial = make_trial("lazy_rf", tuning=tuning, params=small, grid={"n_neighbors": [2, 9]})
    assert run_trial(trial, iris, fold, 0).outcome["tuned_by"] == "loo"
    (n_train, indices), other = calls
    assert other == (n_train, indices)  # the same sample for both candidates
    assert (n_train, len(set(indices))) == (100, n_expected)
    labels = np.array(iris.labels)[fold.train][indices]
    assert np.ptp(np.unique(labels, return_counts=True)[1]) <= 2
    assert run_trial(replace(trial, seed=1), iris, fold, 0).outcome["tuned_by"] == "loo"
    assert (calls[-1][1] != indices) == bool(sample)


def test_loo_sample_does_not_affect_oob_tuning():
    scores = []
    for sample in ({}, {"sample": 30}):
        grid = {"max_depth": [1, 2]}
        trial = make_trial("rf", tuning={"kind": "auto", **sample}, grid=grid)
        outcome = run_trial(trial, iris, fold, 0).outcome
        scores.append((outcome["tuned_by"], outcome["tuning_score"], outcome["params"]))
    assert scores[0] == scores[1] and scores[0][0] == "oob"


@pytest.mark.parametrize("kind", ["grouped", "stratified"])
def test_tuning_folds_respect_groups_if_the_evaluation_does(monkeypatch, kind):
    groups = tuple(f"g{i % 50}" for i in range(150))
    data = replace(iris, groups=groups)
    seen = []
    tune = tuning.tune_by_cv

    def spy(make_pipeline, grid, train, splits, objective, *, grouped):
        assert grouped == (kind == "grouped")
        seen.extend(
            {train.groups[i] for i in fit} & {train.groups[i] for i in validation}
            for fit, validation in splits
        )
        return tune(make_pipeline, grid, train, splits, objective, grouped=grouped)

    monkeypatch.setattr(tuning, "tune_by_cv", spy)
    trial = make_trial(evaluation={"kind": kind, "folds": 3}, grid={"C": [0.1, 1.0]})
    run_trial(trial, data, split(data, EvaluationConfig(kind=kind, folds=3), seed=0)[0], seed=0)
    assert len(seen) == 3
    assert all(map(bool, seen)) == (kind == "stratified")
    assert any(map(bool, seen)) == (kind == "stratified")


class Stub:
    """A classifier that calls `act` in `fit`."""

    classes_ = np.unique(iris.labels)
    n_features_in_ = 4

    def __init__(self, act):
        self.act = act

    def fit(self, X, y):
        self.act()
        return self

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


def run_stub(monkeypatch, act):
    monkeypatch.setattr(recipes, "make", lambda *_, **__: Pipeline([("classifier", Stub(act))]))
    monkeypatch.setattr(run_trial_module, "_warmed_up", set())
    return run_trial(make_trial(), iris, fold, seed=0)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("too\nmuch"), "ValueError: too"),
        (DataError("a sentence"), "a sentence"),
        (MemoryError(), "MemoryError"),
        (OSError("no /home/me/x.csv, and/or 'C:\\a\\b'"), "OSError: no <path>, and/or '<path>'"),
    ],
)
def test_errors_are_recorded_as_one_line_without_paths(monkeypatch, error, line):
    def fail():
        raise error

    assert run_stub(monkeypatch, fail) == ({"error": line}, {})


def test_keyboard_interrupt_is_raised(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stub(monkeypatch, interrupt)


def test_warnings_are_recorded_once_without_deprecations(monkeypatch):
    def warn():
        for _ in range(3):
            warnings.warn("did not converge", stacklevel=1)
        warnings.warn("soon gone", FutureWarning, stacklevel=1)

    assert run_stub(monkeypatch, warn).outcome["warnings"] == ["UserWarning: did not converge"]


def test_libraries_use_one_thread(monkeypatch):
    n_threads = []

    def count_threads():
        n_threads.extend(pool["num_threads"] for pool in threadpool_info())

    run_stub(monkeypatch, count_threads)
    assert n_threads and set(n_threads) == {1}
