"""Scheduling of the fits and predictions of the base estimators, and reporting to callbacks."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from cordwood._base.cluster import Call, Cluster, WorkersLost, active_cluster
from cordwood._base.sklearn_private import FitTask
from cordwood._base.threads import map_parallel


class Task(NamedTuple):
    """A call on behalf of a base estimator."""

    name: str
    estimator: Any
    run: Callable[[], Any]
    # Whether a worker of a cluster may run it: it can be pickled, and its result is small.
    is_remote: bool = False


def run_tasks(
    tasks: Iterable[Task],
    n_jobs: int | None,
    parent: FitTask | None = None,
    name: str = "",
    on_done: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Run tasks and return their results in order; report them as subtasks of one of `parent`.

    Estimators with their own `n_jobs` run one after another, to avoid oversubscription; all others
    run in a thread pool. In a `cordwood.cluster` block, the workers of the cluster run those that
    they may. `on_done` is called after each task.
    """
    listed = list(tasks)
    if parent is None:
        return _run_tasks(listed, n_jobs, None, on_done)
    with parent.subtask(name, len(listed), is_sequential=False) as current:
        return _run_tasks(listed, n_jobs, current, on_done)


def _run_tasks(
    tasks: list[Task], n_jobs: int | None, parent: FitTask | None, on_done: Callable[[], None]
) -> list[Any]:
    def run(number: int) -> Any:
        with _report(parent, tasks[number], number):
            result = tasks[number].run()
        on_done()
        return result

    workers = active_cluster()
    if workers is not None:
        results = _run_on_cluster(tasks, workers, parent, on_done)
        # In this thread, in which estimators may use the cluster themselves.
        n_jobs = 1
    else:
        results = {i: run(i) for i, task in enumerate(tasks) if _is_parallel(task.estimator)}
    others = [i for i in range(len(tasks)) if i not in results]
    results.update(zip(others, map_parallel(run, others, n_jobs), strict=True))
    return [results[i] for i in range(len(tasks))]


def _run_on_cluster(
    tasks: list[Task], workers: Cluster, parent: FitTask | None, on_done: Callable[[], None]
) -> dict[int, Any]:
    """Run tasks on a cluster; return the results of these by the positions of the tasks."""
    remote = [i for i, task in enumerate(tasks) if task.is_remote]
    if len(remote) < workers.n_workers:
        # These use all workers if they are fitted here.
        remote = [i for i in remote if not getattr(tasks[i].estimator, "splits_on_cluster", False)]
    results = {}
    for position, result in workers.run(Call(tasks[i].name, tasks[i].run) for i in remote):
        if isinstance(result, WorkersLost):
            raise result
        number = remote[position]
        with _report(parent, tasks[number], number):
            results[number] = result
        on_done()
    return results


def _report(parent: FitTask | None, task: Task, number: int) -> Any:
    """Report a task, which may run in any order and in any thread."""
    return nullcontext() if parent is None else parent.subtask(task.name, number=number)


def _is_parallel(estimator: Any) -> bool:
    """Return whether the estimator, or the last step of a pipeline, uses several threads."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return getattr(last, "n_jobs", None) not in (None, 1)
