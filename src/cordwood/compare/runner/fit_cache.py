"""In-process cache of fitted base estimators, shared by all stacks on the same training set.

Stacks of a plan often have base estimators in common. Their fits on the current training set are
cached together with the time they took, so that the reported time of a stack is the same whether
its base estimators come from the cache or not.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import joblib

from cordwood._base.resources import Timing, timer


class FitCache:
    """Memoizing cache with the `cache` method of `joblib.Memory`, as `memory` of a stack.

    >>> fits = FitCache()
    >>> double = fits.cache(lambda x: 2 * x)
    >>> with fits.track_saved_time() as saved:
    ...     double(4), double(4)
    (8, 8)
    >>> saved.wall > 0
    True
    """

    def __init__(self) -> None:
        self._training_set: Hashable = None
        self._results: dict[tuple[str, str], tuple[Any, Timing]] = {}
        self._saved = Timing()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Clones of a stack share the cache.
        return self

    def use_training_set(self, training_set: Hashable) -> None:
        """Set the current training set, and clear the cache if it differs from the previous one."""
        if training_set != self._training_set:
            self._training_set = training_set
            self._results.clear()

    def cache(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a memoized version of a function of positional arguments."""

        def call(*args: Any) -> Any:
            key = function.__qualname__, joblib.hash(args)
            if key in self._results:
                result, timing = self._results[key]
                self._saved.cpu += timing.cpu
                self._saved.wall += timing.wall
                return result
            with timer() as timing:
                result = function(*args)
            self._results[key] = result, timing
            return result

        return call

    @contextmanager
    def track_saved_time(self) -> Iterator[Timing]:
        """Sum up the time of all cache hits in a `with` block."""
        self._saved = Timing()
        yield self._saved


FIT_CACHE = FitCache()
"""The cache of this process."""
