"""Scheduling of the fits and predictions of the base estimators, and reporting to callbacks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.pipeline import Pipeline

from cordwood._base.sklearn_private import FitTask


class Task(NamedTuple):
    """A call on behalf of a base estimator."""

    name: str
    estimator: Any
    run: Callable[[], Any]


@contextmanager
def report_tasks(parent: FitTask | None, name: str, tasks: list[Task]) -> Iterator[list[Task]]:
    """Report tasks, which may run in any order and in any thread, as subtasks of one task."""
    if parent is None:
        yield tasks
        return
    with parent.subtask(name, len(tasks), is_sequential=False) as current:

        def report(number: int, task: Task) -> Any:
            with current.subtask(task.name, number=number):
                return task.run()

        yield [
            task._replace(run=partial(report, number, task)) for number, task in enumerate(tasks)
        ]


def run_tasks(tasks: Iterable[Task], n_jobs: int | None) -> list[Any]:
    """Run tasks and return their results in order.

    Estimators with their own `n_jobs` run one after another, to avoid oversubscription; all others
    run in a thread pool.
    """
    listed = list(tasks)
    results = {i: task.run() for i, task in enumerate(listed) if _is_parallel(task.estimator)}
    others = [i for i in range(len(listed)) if i not in results]
    if effective_n_jobs(n_jobs) == 1:
        found = [listed[i].run() for i in others]
    else:
        parallel = Parallel(n_jobs=n_jobs, require="sharedmem")
        found = parallel(delayed(listed[i].run)() for i in others)
    results.update(zip(others, found, strict=True))
    return [results[i] for i in range(len(listed))]


def _is_parallel(estimator: Any) -> bool:
    """Return whether the estimator, or the last step of a pipeline, uses several threads."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return getattr(last, "n_jobs", None) not in (None, 1)
