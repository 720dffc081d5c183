"""Threads for kernels, each with its own workspace; the only module that imports joblib."""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs

Workspace = TypeVar("Workspace")
Result = TypeVar("Result")


def map_threads(
    function: Callable[[Workspace, int], Result],
    tasks: Sequence[int],
    allocate: Callable[[], Workspace],
    *,
    n_jobs: int | None,
    verbose: int = 0,
    on_result: Callable[[list[Result]], bool] | None = None,
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
    verbose : int, default=0
        Verbosity of joblib.
    on_result : callable, default=None
        Called after each task, in the order of the tasks, with the list of results so far. If it
        returns True, the remaining tasks are skipped.

    Returns
    -------
    list
        The results, in the order of the tasks.
    """
    n_threads = min(effective_n_jobs(n_jobs), max(len(tasks), 1))
    idle: SimpleQueue[Workspace] = SimpleQueue()
    for _ in range(n_threads):
        idle.put(allocate())
    stopped = Event()

    def run(task: int) -> Result | None:
        if stopped.is_set():
            return None
        workspace = idle.get()
        try:
            return function(workspace, task)
        finally:
            idle.put(workspace)

    parallel = Parallel(
        n_jobs=n_threads, require="sharedmem", verbose=verbose, return_as="generator"
    )
    results: list[Result] = []
    for result in parallel(delayed(run)(task) for task in tasks):
        if not stopped.is_set():
            results.append(result)
            if on_result is not None and on_result(results):
                stopped.set()
    return results
