"""Checks of parameters: each complains in one sentence of what a parameter is and may be."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Complain of a value that is none of the choices.

    Examples
    --------
    >>> check_choice("criterion", "mse", ("gini", "entropy"))
    Traceback (most recent call last):
    ValueError: criterion must be one of 'gini', 'entropy'; got 'mse'
    """
    choices = tuple(choices)  # names of a mapping too, among which a list could not be looked up
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_number(name: str, value: Any, least: int) -> None:
    """Complain of a value that is no whole number, or too small.

    Examples
    --------
    >>> check_number("n_estimators", 0, least=1)
    Traceback (most recent call last):
    ValueError: n_estimators must be a whole number of at least 1; got 0
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")


def check_share(name: str, value: Any) -> None:
    """Complain of a value that is no share, where a whole number would do as well.

    Examples
    --------
    >>> check_share("max_samples", 1.5)
    Traceback (most recent call last):
    ValueError: max_samples must be a whole number or a share in (0, 1]; got 1.5
    """
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ValueError(f"{name} must be a whole number or a share in (0, 1]; got {value!r}")


def check_fraction(name: str, value: Any) -> None:
    """Complain of a value that is no number from 0 to 1.

    Examples
    --------
    >>> check_fraction("nb_scaling", -0.5)
    Traceback (most recent call last):
    ValueError: nb_scaling must be a number from 0 to 1; got -0.5
    """
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1; got {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Complain of a value that is no finite number above zero.

    Examples
    --------
    >>> check_positive("nu", 0)
    Traceback (most recent call last):
    ValueError: nu must be a number above zero; got 0
    """
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a number above zero; got {value!r}")


def check_jobs(n_jobs: Any) -> None:
    """Complain of a number of jobs that joblib would not take.

    Examples
    --------
    >>> check_jobs(0)
    Traceback (most recent call last):
    ValueError: n_jobs must be None or a whole number other than zero; got 0
    """
    if not (n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs)):
        raise ValueError(f"n_jobs must be None or a whole number other than zero; got {n_jobs!r}")


def check_state(random_state: Any) -> np.random.RandomState:
    """Give the generator that a `random_state` stands for."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be None, a whole number from 0 to 2**32 - 1, or a RandomState; "
            f"got {random_state!r}"
        ) from error
    return generator
