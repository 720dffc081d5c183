import pytest

from cordwood.ensemble.tree_engine.threads import map_threads


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_results_are_in_the_order_of_the_tasks(n_jobs):
    assert map_threads(lambda _, task: 2 * task, range(20), list, n_jobs=n_jobs) == list(
        range(0, 40, 2)
    )


def test_workspaces_are_not_shared_by_running_tasks():
    workspaces, busy = [], set()

    def allocate():
        workspaces.append(object())
        return workspaces[-1]

    def run(workspace, task):
        assert workspace not in busy
        busy.add(workspace)
        busy.remove(workspace)
        return workspace

    used = map_threads(run, range(200), allocate, n_jobs=2)
    assert len(workspaces) == 2
    assert set(used) <= set(workspaces)


def test_a_workspace_is_returned_after_an_error():
    def fail(workspace, task):
        raise ValueError("task failed")

    with pytest.raises(ValueError, match="task failed"):
        map_threads(fail, range(5), list, n_jobs=1)


def test_there_are_no_more_threads_than_tasks():
    workspaces = []
    map_threads(lambda *_: None, range(2), lambda: workspaces.append(1), n_jobs=8)
    assert len(workspaces) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_on_result_stops_the_remaining_tasks(n_jobs):
    seen = []

    def stop_at_three(results):
        seen.append(list(results))
        return len(results) == 3

    results = map_threads(
        lambda _, task: task, range(50), list, n_jobs=n_jobs, on_result=stop_at_three
    )
    assert results == [0, 1, 2]
    assert seen == [[0], [0, 1], [0, 1, 2]]
