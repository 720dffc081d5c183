"""Detection of the roles of columns by their values."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from cordwood._base.labels import is_missing
from cordwood.columns.cells import to_category, to_date_parts, to_number
from cordwood.columns.frames import list_columns, read_columns
from cordwood.columns.roles import ColumnRoles
from cordwood.datasets.values import InvalidValue
from cordwood.exceptions import DataError

# Strings are categories if there are at most this many distinct ones per sample.
_MAX_DISTINCT_SHARE = 0.25
# Longer strings are texts, even if they repeat.
_MAX_CATEGORY_LENGTH = 60
# Strings of fewer words that hardly repeat are identifiers, such as file names.
_MIN_TEXT_WORDS = 1.5
# Strings of at least this many words are texts if more than half of them are distinct.
_MIN_WORDS = 4


@dataclass(frozen=True, kw_only=True)
class DetectedColumns:
    """Roles of the columns of a table."""

    roles: ColumnRoles  # columns by role
    # Columns without a role, and the reason.
    ignored: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"{role}: {', '.join(names)}" for role, names in self.roles.to_dict().items()]
        if self.ignored:
            reasons = [f"{name} ({reason})" for name, reason in self.ignored.items()]
            parts.append(f"ignored: {', '.join(reasons)}")
        return "; ".join(parts)


def detect_columns(table: Any, *, exclude: Collection[str] = ()) -> DetectedColumns:
    """Guess the role of each column of a table.

    Parameters
    ----------
    table : dataframe, mapping of names to columns, or Corpus
        Training samples.
    exclude : collection of str, default=()
        Columns that are not features, such as the label.

    Returns
    -------
    DetectedColumns
        Roles and ignored columns; `str` returns them in one line.

    Raises
    ------
    DataError
        If no column can be used.

    Notes
    -----
    The values that are not missing decide:

    - numbers, and strings of numbers, are numeric, unless they number the rows;
    - dates, and strings in ISO 8601 format, are dates;
    - booleans are categories; so are strings of fewer than 60 characters on average of which at
      most a quarter are distinct;
    - other strings are texts, unless they are single words that hardly repeat, which are
      identifiers.

    Columns with a single value and identifiers are ignored.

    Examples
    --------
    >>> table = {
    ...     "title": ["a bowl of soup", "two loaves of bread", "a pot of tea", "soup of the day"],
    ...     "price": [4.5, 3.0, None, 5.5],
    ...     "code": ["a17", "b02", "b03", "c11"],
    ...     "hot": [True, False, True, True],
    ... }
    >>> print(detect_columns(table))
    text: title; categorical: hot; numeric: price; ignored: code (identifier)
    """
    names = tuple(name for name in list_columns(table) if name not in exclude)
    roles: dict[str, list[str]] = {"text": [], "categorical": [], "numeric": [], "date": []}
    ignored = {}
    for name, values in read_columns(table, names).items():
        role, reason = _detect([value for value in values if not _is_empty(value)])
        if role is None:
            ignored[name] = reason
        else:
            roles[role].append(name)
    if not any(roles.values()):
        reasons = ", ".join(f"{name} ({reason})" for name, reason in ignored.items())
        raise DataError(f"no column can be used as a feature: {reasons or 'there are none'}")
    return DetectedColumns(
        roles=ColumnRoles(**{role: tuple(found) for role, found in roles.items()}), ignored=ignored
    )


def _detect(values: Sequence[Any]) -> tuple[str | None, str]:
    """Return the role of a column; None and the reason if it has none."""
    if not values:
        return None, "no values"
    if not all(isinstance(value, str | bool | int | float | date) for value in values):
        if _accepts(to_number, values):  # such as decimals
            return "numeric", ""
        return None, f"values of type {type(values[0]).__name__}"
    if len(set(map(to_category, values))) == 1:
        return None, "a single value"
    if all(isinstance(value, bool) for value in values):
        return "categorical", ""
    if _accepts(to_number, values):
        return (None, "row numbers") if _are_row_numbers(values) else ("numeric", "")
    if _accepts(to_date_parts, values):
        return "date", ""
    return _detect_strings([to_category(value) for value in values])


def _detect_strings(values: Sequence[str]) -> tuple[str | None, str]:
    n_values = len(values)
    distinct_share = len(set(values)) / n_values
    mean_length = sum(map(len, values)) / n_values
    mean_words = sum(len(value.split()) for value in values) / n_values
    if mean_length >= _MAX_CATEGORY_LENGTH and mean_words >= _MIN_TEXT_WORDS:
        return "text", ""
    if distinct_share <= _MAX_DISTINCT_SHARE:
        return "categorical", ""
    if mean_words < _MIN_TEXT_WORDS:
        return ("categorical", "") if distinct_share <= 0.5 else (None, "identifier")
    if distinct_share <= 0.5 and mean_words < _MIN_WORDS:
        return "categorical", ""
    return "text", ""


def _accepts(convert: Callable[[Any], Any], values: Sequence[Any]) -> bool:
    try:
        for value in values:
            convert(value)
    except InvalidValue:
        return False
    return True


def _are_row_numbers(values: Sequence[Any]) -> bool:
    numbers = list(map(to_number, values))
    return all(b - a == 1 for a, b in zip(numbers, numbers[1:], strict=False)) and len(numbers) > 2


def _is_empty(value: Any) -> bool:
    return not value.strip() if isinstance(value, str) else is_missing(value)
