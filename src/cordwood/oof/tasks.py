"""Scheduling of the fits and predictions of the base estimators, and reporting to callbacks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from sklearn.pipeline import Pipeline


class Task(NamedTuple):
    """A call on behalf of a base estimator.

    Parameters
    ----------
    name : str
        Name of the task in progress bars.
    estimator : estimator
        The base estimator that the call fits or predicts with.
    run : callable
        Takes no arguments.
    """

    name: str
    estimator: Any
    run: Callable[[], Any]


class FitCallbacks:
    """Reports the tasks of `fit` to the callbacks of an estimator.

    Does nothing with scikit-learn before 1.9, which has no callbacks.

    Parameters
    ----------
    estimator : estimator
        The estimator that is being fitted.
    max_subtasks : int
        The number of times that `task` or `track` will be called.
    """

    def __init__(self, estimator: Any, max_subtasks: int) -> None:
        self._estimator = estimator
        self._root = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=max_subtasks)

    def begin(self, X: Any, y: Any) -> None:
        """Report that `fit` begins."""
        if self._root is not None:
            self._root.call_on_fit_task_begin(estimator=self._estimator, X=X, y=y)

    def end(self, X: Any, y: Any) -> None:
        """Report that the estimator is fitted, so that monitors can score it."""
        if self._root is not None:
            self._root.call_on_fit_task_end(
                estimator=self._estimator, X=X, y=y, reconstruction_attributes={}
            )

    @contextmanager
    def task(self, name: str) -> Iterator[None]:
        """Report one task: the body of the `with` statement."""
        with _reported(self._estimator, self._root and self._root.subcontext(task_name=name)):
            yield

    @contextmanager
    def track(self, name: str, tasks: list[Task]) -> Iterator[list[Task]]:
        """Report one task with subtasks, which may run in any order and in any thread."""
        if self._root is None:
            yield tasks
            return
        parent = self._root.subcontext(
            task_name=name, max_subtasks=len(tasks), sequential_subtasks=False
        )

        def report(number: int, task: Task) -> Task:
            context = parent.subcontext(task_name=task.name, task_id=number)

            def run() -> Any:
                with _reported(self._estimator, context):
                    return task.run()

            return task._replace(run=run)

        with _reported(self._estimator, parent):
            yield [report(number, task) for number, task in enumerate(tasks)]


@contextmanager
def _reported(estimator: Any, context: Any) -> Iterator[None]:
    if context is not None:
        context.call_on_fit_task_begin(estimator=estimator)
    yield
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator)


def run_tasks(tasks: Iterable[Task], n_jobs: int | None) -> list[Any]:
    """Run tasks and return their results in order.

    Estimators with their own `n_jobs` run one after another, to avoid oversubscription; all others
    run in a thread pool.

    Parameters
    ----------
    tasks : iterable of Task
    n_jobs : int or None
        Number of threads of the pool.

    Returns
    -------
    list
    """
    listed = list(tasks)
    results = {i: task.run() for i, task in enumerate(listed) if _is_parallel(task.estimator)}
    others = [i for i in range(len(listed)) if i not in results]
    found = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(listed[i].run)() for i in others)
    results.update(zip(others, found, strict=True))
    return [results[i] for i in range(len(listed))]


def _is_parallel(estimator: Any) -> bool:
    """Return whether the estimator, or the last step of a pipeline, uses several threads."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return last.get_params(deep=False).get("n_jobs") not in (None, 1)
