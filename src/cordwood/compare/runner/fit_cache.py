"""Members: what the members of stacks came to, done once for all stacks of the same rows.

Stacks of a plan mostly have members in common. What these came to on the rows at hand is kept in
this process, with the seconds that it took, so that times can be told as if it had been done anew.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import joblib

from cordwood.compare.runner.resources import Seconds, timed


class Members:
    """The memory that stacks are given, of the kind of joblib's.

    Examples
    --------
    >>> members = Members()
    >>> double = members.cache(lambda x: 2 * x)
    >>> with members.saving() as saved:
    ...     double(4), double(4)
    (8, 8)
    >>> saved.cpu > 0
    True
    """

    def __init__(self) -> None:
        self._rows: Hashable = None
        self._kept: dict[tuple[str, str], tuple[Any, Seconds]] = {}
        self._saved = Seconds()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Copies of a stack share it.
        return self

    def turn_to(self, rows: Hashable) -> None:
        """Forget what is known of other rows than these."""
        if rows != self._rows:
            self._rows = rows
            self._kept.clear()

    def cache(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give a function that does nothing twice."""

        def call(*arguments: Any) -> Any:
            name = function.__qualname__, joblib.hash(arguments)
            if name in self._kept:
                result, seconds = self._kept[name]
                self._saved.cpu += seconds.cpu
                self._saved.wall += seconds.wall
                return result
            with timed() as seconds:
                result = function(*arguments)
            self._kept[name] = result, seconds
            return result

        return call

    @contextmanager
    def saving(self) -> Iterator[Seconds]:
        """Tell how many seconds were saved in a `with` block."""
        self._saved = Seconds()
        yield self._saved


MEMBERS = Members()
"""Those of the rows at hand, in this process."""
