import threading
import time

from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from cordwood.stacking._parallel import carry_out


def test_members_with_threads_go_one_after_another_and_the_others_side_by_side():
    at_work, seen = set(), {}
    together = threading.Barrier(2, timeout=10)

    def work(name, meets):
        at_work.add(name)
        if meets:
            together.wait()  # for ever, but for the time limit, if they did not go side by side
        time.sleep(0.02)
        seen[name] = set(at_work)
        at_work.discard(name)
        return name

    forest = RandomForestClassifier(n_jobs=2)
    tasks = [
        (forest, lambda: work("forest", False)),
        (MultinomialNB(), lambda: work("bayes", True)),
        (make_pipeline(MinMaxScaler(), forest), lambda: work("pipeline", False)),
        (RandomForestClassifier(n_jobs=1), lambda: work("alone", True)),
    ]
    assert carry_out(tasks, 2) == ["forest", "bayes", "pipeline", "alone"]
    assert seen["forest"] == {"forest"}
    assert seen["pipeline"] == {"pipeline"}


def test_no_tasks_come_to_nothing():
    assert carry_out([], 2) == []
