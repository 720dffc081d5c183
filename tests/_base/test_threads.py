import threading
import time

import joblib
import pytest

from cordwood._base.threads import map_parallel


def test_results_are_in_order_and_tasks_run_at_once():
    both_running = threading.Barrier(2, timeout=10)

    def work(task):
        if task < 2:
            both_running.wait()  # fails after the timeout if the two tasks run one after another
        return 10 * task

    assert list(map_parallel(work, range(5), 2)) == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tasks_after_an_error_are_dropped(n_jobs):
    done = []

    def work(task):
        if task == 3:
            raise ValueError(task)
        time.sleep(0.01)
        done.append(task)

    with pytest.raises(ValueError, match="3"):
        list(map_parallel(work, range(100), n_jobs))
    assert {0, 1, 2} <= set(done) and len(done) < 50


def test_number_of_threads_is_that_of_joblib():
    found = set()

    def work(_):
        time.sleep(0.01)
        found.add(threading.current_thread())

    list(map_parallel(work, range(8), None))
    assert found == {threading.current_thread()}
    with joblib.parallel_config(n_jobs=2):
        list(map_parallel(work, range(8), None))
    assert len(found) == 3
