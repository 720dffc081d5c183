"""Threads for kernels, each with its own workspace; the only module that imports joblib."""

from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from threading import Event
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from cordwood._base.threads import map_parallel

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
    """Return `function(workspace, task)` of each task, in order, computed on several threads.

    `on_result` is called after each task, in order, with the list of results so far; the remaining
    tasks are skipped if it returns True.
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

    found: Iterable[Any]
    if verbose:
        parallel = Parallel(
            n_jobs=n_threads, require="sharedmem", verbose=verbose, return_as="generator"
        )
        found = parallel(delayed(run)(task) for task in tasks)
    else:
        found = map_parallel(run, tasks, n_threads)
    results: list[Result] = []
    for result in found:
        if not stopped.is_set():
            results.append(result)
            if on_result is not None and on_result(results):
                stopped.set()
    return results
