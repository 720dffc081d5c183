"""Threads for kernels, each with its own workspace; the only module that imports joblib."""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

Workspace = TypeVar("Workspace")
Result = TypeVar("Result")


def map_threads(
    function: Callable[[Workspace, int], Result],
    tasks: Sequence[int],
    allocate: Callable[[], Workspace],
    *,
    n_jobs: int | None,
) -> list[Result]:
    """Call `function(workspace, task)` for each task, on several threads.

    Parameters
    ----------
    function : callable
        Runs a kernel that releases the GIL.
    tasks : sequence of int
    allocate : callable
        Returns the workspace of one thread.
    n_jobs : int or None
        Number of threads, as in joblib; never more than there are tasks.

    Returns
    -------
    list
        The results, in the order of the tasks.
    """
    n_threads = min(effective_n_jobs(n_jobs), max(len(tasks), 1))
    idle: SimpleQueue[Workspace] = SimpleQueue()
    for _ in range(n_threads):
        idle.put(allocate())

    def run(task: int) -> Result:
        workspace = idle.get()
        try:
            return function(workspace, task)
        finally:
            idle.put(workspace)

    results: list[Any] = Parallel(n_jobs=n_threads, require="sharedmem")(
        delayed(run)(task) for task in tasks
    )
    return results
