"""scikit-learn's callbacks in forests and boosted trees: task counts, scores, early stopping."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from cordwood._base.sklearn_private import NoCallbackSupport
from cordwood.ensemble import (
    AdaBoostM2Classifier,
    BoostedForestClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn < 1.9 has no callbacks")

X, Y = load_digits(return_X_y=True)
X, Y = X[:200], Y[:200]

ESTIMATORS = {
    "random forest": (RandomForestClassifier(5, random_state=0), "tree", 5),
    "random forest, two threads": (RandomForestClassifier(5, n_jobs=2, random_state=0), "tree", 5),
    "extra-trees": (ExtraTreesClassifier(5, random_state=0), "tree", 5),
    "boosted": (BoostedForestClassifier(4, trees_per_round=3, random_state=0), "round", 4),
    "AdaBoost.M2": (AdaBoostM2Classifier(6, random_state=0), "round", 6),
}
each_estimator = pytest.mark.parametrize(
    ("estimator", "task", "n_tasks"), ESTIMATORS.values(), ids=ESTIMATORS
)


class Recorder:
    """Records the tasks; requests to stop after `stop_after` leaf tasks."""

    def __init__(self, stop_after=None):
        self.events, self.max_subtasks, self.accuracies = [], {}, []
        self.stop_after, self.n_ended = stop_after, 0

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))
        self.max_subtasks[context.task_name] = context.max_subtasks

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.events.append(("end", context.task_name, context.task_id))
        self.accuracies.append(fitted_estimator.score(X, y))
        self.n_ended += context.max_subtasks == 0
        return self.n_ended == self.stop_after


@each_estimator
def test_every_tree_or_round_is_a_task(estimator, task, n_tasks):
    recorder = Recorder()
    model = clone(estimator).set_callbacks(recorder).fit(X, Y)
    tasks = [(event, task, i) for i in range(n_tasks) for event in ("begin", "end")]
    assert recorder.events == ["setup", ("begin", "fit", 0), *tasks, ("end", "fit", 0), "teardown"]
    assert recorder.max_subtasks == {"fit": n_tasks, task: 0}
    # The last two are the score of the whole model.
    assert len(recorder.accuracies) == n_tasks + 1
    assert recorder.accuracies[-2:] == [model.score(X, Y)] * 2


@each_estimator
def test_callbacks_do_not_change_the_model(estimator, task, n_tasks):
    plain = clone(estimator).fit(X, Y)
    watched = clone(estimator).set_callbacks(Recorder()).fit(X, Y)
    assert watched.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()
    assert all(map(np.array_equal, watched.forest_, plain.forest_))
    assert vars(watched).keys() - vars(plain).keys() == {"_skl_callbacks"}


@each_estimator
def test_fitted_estimator_is_the_model_so_far(estimator, task, n_tasks):
    recorder = Recorder()
    clone(estimator).set_callbacks(recorder).fit(X, Y)
    two = clone(estimator).set_params(n_estimators=2).fit(X, Y)
    assert recorder.accuracies[1] == two.score(X, Y)


@each_estimator
def test_callback_stops_the_fit(estimator, task, n_tasks):
    stopped = clone(estimator).set_callbacks(Recorder(stop_after=2)).fit(X, Y)
    two = clone(estimator).set_params(n_estimators=2).fit(X, Y)
    assert all(map(np.array_equal, stopped.forest_, two.forest_))
    assert stopped.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()
    assert getattr(stopped, "stop_reason_", "callback") == "callback"


def test_stopped_forest_has_oob_predictions_of_its_trees():
    forest = RandomForestClassifier(30, oob_score=True, random_state=0)
    stopped = clone(forest).set_callbacks(Recorder(stop_after=20)).fit(X, Y)
    twenty = clone(forest).set_params(n_estimators=20).fit(X, Y)
    assert stopped.oob_decision_function_.tobytes() == twenty.oob_decision_function_.tobytes()


def test_cross_fitted_runs_are_tasks_of_rounds():
    recorder = Recorder()
    model = BoostedForestClassifier(5, trees_per_round=3, cross_fit=2, random_state=0)
    model.set_callbacks(recorder).fit(X, Y)
    names = [event[1] for event in recorder.events if event[0] == "end"]
    assert names == ["round"] * 3 + ["run"] + ["round"] * 2 + ["run", "fit"]
    assert recorder.max_subtasks == {"fit": 2, "run": 2, "round": 0}
    assert recorder.accuracies[-1] == recorder.accuracies[-2] == model.score(X, Y)


@pytest.mark.parametrize("name", ["random forest", "boosted"])
def test_warm_start_reports_only_new_tasks(name):
    estimator, task, n_tasks = ESTIMATORS[name]
    model = clone(estimator).set_params(warm_start=True).fit(X, Y)
    recorder = Recorder()
    model.set_params(n_estimators=n_tasks + 2).set_callbacks(recorder).fit(X, Y)
    assert recorder.max_subtasks == {"fit": 2, task: 0}
    whole = clone(estimator).set_params(n_estimators=n_tasks + 2).fit(X, Y)
    assert model.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()


@each_estimator
def test_scoring_monitor_logs_one_score_per_task(estimator, task, n_tasks):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = clone(estimator).set_callbacks(monitor).fit(X, Y)
    log = monitor.get_logs()
    assert [entry["task_name"] for entry in log.data] == ["fit"] + [task] * n_tasks
    assert log.data[0]["accuracy"] == log.data[-1]["accuracy"] == model.score(X, Y)


def test_progress_bar(capsys):
    model = RandomForestClassifier(5, random_state=0).set_callbacks(callback.ProgressBar())
    model.fit(X, Y)
    assert "RandomForestClassifier" in capsys.readouterr().out


def test_teardown_is_called_after_an_error():
    recorder = Recorder()
    model = RandomForestClassifier(3, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=5, oob_score=True, max_samples=10).set_callbacks(recorder)
    with pytest.raises(ValueError, match="oob_score with warm_start"):
        model.fit(X, Y)
    assert recorder.events[-1] == "teardown"


def test_without_callback_support_the_model_is_the_same():
    """As on scikit-learn before 1.9, where the stand-in replaces the mixin."""
    Old = type("RandomForestClassifier", (NoCallbackSupport, RandomForestClassifier), {})
    old, new = (Forest(5, random_state=0).fit(X, Y) for Forest in (Old, RandomForestClassifier))
    assert old.predict_proba(X).tobytes() == new.predict_proba(X).tobytes()
