"""Tasks of a stack: pieces of work that its members have to do, shared out among threads."""

from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed
from sklearn.pipeline import Pipeline


def carry_out(tasks: Iterable[tuple[Any, Callable[[], Any]]], n_jobs: int | None) -> list[Any]:
    """Carry out tasks, each given with the member that it is for.

    A member that uses threads itself has them all, because two of them side by side would be in
    each other's way. The others go side by side.

    Parameters
    ----------
    tasks : iterable of (estimator, callable)
    n_jobs : int or None
        How many go side by side.

    Returns
    -------
    list
        What each came to.
    """
    listed = list(tasks)
    results = {place: task() for place, (member, task) in enumerate(listed) if _has_threads(member)}
    others = [place for place in range(len(listed)) if place not in results]
    found = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(listed[place][1])() for place in others
    )
    results.update(zip(others, found, strict=True))
    return [results[place] for place in range(len(listed))]


def _has_threads(member: Any) -> bool:
    last = member.steps[-1][1] if isinstance(member, Pipeline) else member
    return last.get_params(deep=False).get("n_jobs") not in (None, 1)
