"""Parameter validation: constraints, their tables, and one error sentence per invalid value.

An estimator declares `_parameter_constraints`, a mapping from the name of each constructor
parameter to a `Constraint`, and inherits `ParamValidationMixin`, whose `_validate_params` checks
them all. Subclasses extend the table of their base class. The functions `check_*` validate single
values where there is no table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state


@dataclass(frozen=True)
class Constraint:
    """A condition on the value of a parameter; ``a | b`` accepts what either accepts.

    >>> (integer(1) | options(None)).check("max_depth", 0)
    Traceback (most recent call last):
    ValueError: max_depth must be an integer >= 1 or None; got 0
    """

    description: str  # completes the sentence "<parameter> must be ..."
    accepts: Callable[[Any], bool]  # returns whether a value is valid

    def __or__(self, other: "Constraint") -> "Constraint":
        return Constraint(
            f"{self.description} or {other.description}",
            lambda value: self.accepts(value) or other.accepts(value),
        )

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError if `value` is not valid for the parameter `name`."""
        if not self.accepts(value):
            raise ValueError(f"{name} must be {self.description}; got {value!r}")


class ParamValidationMixin:
    """Validates the constructor parameters of an estimator from its `_parameter_constraints`."""

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {}

    def _validate_params(self) -> None:
        """Raise ValueError for the first parameter that violates its constraint."""
        for name, constraint in self._parameter_constraints.items():
            constraint.check(name, getattr(self, name))


def options(*choices: Any) -> Constraint:
    """Accept the given values only."""
    listed = ", ".join(map(repr, choices))
    # The type is compared first, because an array has no single truth value and True == 1.
    return Constraint(
        listed if len(choices) == 1 else f"one of {listed}",
        lambda value: any(
            isinstance(value, type(choice)) and value == choice for choice in choices
        ),
    )


def integer(least: int) -> Constraint:
    """Accept integers from `least` on; booleans are not integers."""
    return Constraint(
        f"an integer >= {least}",
        lambda value: isinstance(value, Integral) and not _is_bool(value) and int(value) >= least,
    )


def real(interval: str, low: float, high: float) -> Constraint:
    """Accept finite numbers in an interval, whose ends are included if its brackets are square."""

    def accepts(value: Any) -> bool:
        if not isinstance(value, Real) or _is_bool(value) or not np.isfinite(float(value)):
            return False
        above = low <= float(value) if interval[0] == "[" else low < float(value)
        below = float(value) <= high if interval[1] == "]" else float(value) < high
        return above and below

    return Constraint(f"a number in {interval[0]}{low:g}, {high:g}{interval[1]}", accepts)


def fraction() -> Constraint:
    """Accept floats in (0, 1]; an integer 1 is a count, not a fraction."""
    unit = real("(]", 0, 1)
    return Constraint(
        "a float in (0, 1]",
        lambda value: not isinstance(value, Integral) and unit.accepts(value),
    )


def unsupported(default: Any, reason: str) -> Constraint:
    """Accept only the default of a parameter that exists for compatibility."""
    return Constraint(
        f"{default!r} ({reason})",
        lambda value: value is default or (not _is_bool(value) and value == default),
    )


def class_weights(*names: str) -> Constraint:
    """Accept None, the names of weighting schemes, and mappings from labels to weights."""

    def is_mapping(value: Any) -> bool:
        return isinstance(value, Mapping) and all(map(non_negative.accepts, value.values()))

    non_negative = real("[)", 0, np.inf)
    mapping = Constraint("a mapping from labels to finite non-negative weights", is_mapping)
    return options(None, *names) | mapping


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_random_state(value: Any) -> bool:
    try:
        check_random_state(value)
    except ValueError:
        return False
    return True


BOOLEAN = Constraint("True or False", _is_bool)
CALLABLE = Constraint("a callable", callable)
POSITIVE = Constraint("a positive number", real("()", 0, np.inf).accepts)
N_JOBS = Constraint(
    "None or a non-zero integer",
    lambda value: value is None or (isinstance(value, Integral) and bool(value)),
)
RANDOM_STATE = Constraint("None, an integer from 0 to 2**32 - 1 or a RandomState", _is_random_state)


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise ValueError unless `value` is one of the choices."""
    choices = tuple(choices)  # Unlike a dict, a tuple can be searched for an unhashable value.
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_number(name: str, value: Any, least: int) -> None:
    """Raise ValueError unless `value` is an integer >= `least`."""
    integer(least).check(name, value)


def check_jobs(n_jobs: Any) -> None:
    """Raise ValueError unless joblib accepts the number of jobs."""
    N_JOBS.check("n_jobs", n_jobs)


def check_state(random_state: Any) -> np.random.RandomState:
    """Validate `random_state` and return it as a RandomState."""
    RANDOM_STATE.check("random_state", random_state)
    generator: np.random.RandomState = check_random_state(random_state)
    return generator
