import threading

from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from cordwood.oof.tasks import Task, run_tasks


def test_parallel_estimators_run_alone_and_others_concurrently():
    running, seen = set(), {}
    both_running = threading.Barrier(2, timeout=10)

    def work(name, is_concurrent):
        running.add(name)
        if is_concurrent:
            both_running.wait()  # fails after the timeout if the two tasks run one after another
        seen[name] = set(running)
        if is_concurrent:
            both_running.wait()
        running.discard(name)
        return name

    forest = RandomForestClassifier(n_jobs=2)
    tasks = [
        Task("fit", forest, lambda: work("forest", False)),
        Task("fit", MultinomialNB(), lambda: work("bayes", True)),
        Task("fit", make_pipeline(MinMaxScaler(), forest), lambda: work("pipeline", False)),
        Task("fit", RandomForestClassifier(n_jobs=1), lambda: work("single", True)),
    ]
    assert run_tasks(tasks, 2) == ["forest", "bayes", "pipeline", "single"]
    assert seen["forest"] == {"forest"}
    assert seen["pipeline"] == {"pipeline"}
    assert seen["bayes"] == seen["single"] == {"bayes", "single"}


def test_no_tasks():
    assert run_tasks([], 2) == []
