"""Threads for tasks that release the lock of the interpreter."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_parallel(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None
) -> Iterator[Result]:
    """Yield the result of each task, in order, computed on several threads.

    `n_jobs` is that of joblib, whose own `Parallel` waits for threads in steps of 10 ms. After an
    error, tasks that have not begun are dropped.

    Examples
    --------
    >>> list(map_parallel(len, ["a", "bc"], n_jobs=2))
    [1, 2]
    """
    listed = list(tasks)
    n_threads = min(effective_n_jobs(n_jobs), len(listed))
    if n_threads < 2:
        yield from map(function, listed)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(function, listed)
