"""Roles of columns: which columns are texts, categories, numbers and dates."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cordwood.exceptions import CordwoodError

ROLES = ("text", "categorical", "numeric", "date")


class ColumnRoles(NamedTuple):
    """Columns of a table by their role, each in one role only.

    Examples
    --------
    >>> from cordwood.columns import ColumnRoles
    >>> roles = ColumnRoles(text=("title", "body"), numeric=("price",))
    >>> print(roles)
    ColumnRoles(text=('title', 'body'), categorical=(), numeric=('price',), date=())
    """

    text: tuple[str, ...] = ()  # columns with texts
    categorical: tuple[str, ...] = ()  # columns with categories: strings, integers or booleans
    numeric: tuple[str, ...] = ()  # columns with numbers
    date: tuple[str, ...] = ()  # columns with dates, or dates and times

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return (*self.text, *self.categorical, *self.numeric, *self.date)

    def to_dict(self) -> dict[str, list[str]]:
        """Return the roles that have columns, as a mapping of lists."""
        return {role: list(names) for role, names in self._asdict().items() if names}


def check_columns(columns: Any) -> ColumnRoles:
    """Validate a mapping of roles to columns.

    >>> check_columns({"text": "title", "numeric": ["price"]})
    ColumnRoles(text=('title',), categorical=(), numeric=('price',), date=())
    """
    if isinstance(columns, ColumnRoles):
        columns = columns._asdict()
    if not isinstance(columns, Mapping):
        raise CordwoodError(
            "columns must be a mapping of roles to lists of columns, such as "
            f"{{'text': ['title'], 'numeric': ['price']}}; got {columns!r}"
        )
    if unknown := [role for role in columns if role not in ROLES]:
        raise CordwoodError(f"columns: unknown role {unknown[0]!r}; use one of {', '.join(ROLES)}")
    roles = ColumnRoles(**{role: _to_names(role, names) for role, names in columns.items()})
    names = roles.names
    if not names:
        raise CordwoodError("columns must name at least one column; got none")
    if twice := [name for name in names if names.count(name) > 1]:
        raise CordwoodError(f"columns: the column {twice[0]!r} is named more than once")
    return roles


def _to_names(role: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise CordwoodError(f"columns[{role!r}] must be a list of column names; got {names!r}")
    return tuple(names)
