"""The budget of a model file: what it costs to load is counted before it is spent."""

from cordwood._schema.errors import Rejected

# The budget is a multiple of the file size, plus a constant. Files of the recipes need 5 to 40
# times their size, see docs/model-files.md.
_MAX_EXPANSION = 100
_MIN_LIMIT = 256 * 2**20

# A byte of JSON, such as "[", takes up to 44 bytes when it is parsed, and again when it is
# converted to values.
JSON_COST = 100
# Time counts as the memory that is processed in it: some microseconds for a kilobyte.
ARRAY_COST = 2_000
OBJECT_COST = 10_000


def memory_limit(file_size: int) -> int:
    """Return the budget in bytes of a model, for the size of its file."""
    return _MAX_EXPANSION * file_size + _MIN_LIMIT


class Budget:
    """Counts the memory that a model takes when it is loaded, and work in proportion to memory.

    What counts is the sum, plus the largest temporary memory. Both are independent of the order, so
    that `save`, which knows the limit only when the file is complete, finds what `load` would find.
    Each reference to an array counts as an array of its own, because objects are derived from it.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._spent = 0
        self._temporary = 0
        self._limit = limit

    def spend(self, n_bytes: int, temporary: int = 0) -> None:
        """Count memory, and memory that is needed for a short time, before it is allocated."""
        self._spent += int(n_bytes)
        self._temporary = max(self._temporary, int(temporary))
        if self._limit is not None:
            self.check(self._limit)

    @property
    def total(self) -> int:
        """What was counted so far."""
        return self._spent + self._temporary

    def check(self, limit: int) -> None:
        """Raise Rejected if the memory exceeds a limit."""
        if self.total > limit:
            raise Rejected(
                f"needs more memory than the {limit / 2**20:,.0f} MB that a file of its size may"
            )
