"""Parameters of forests: what they may be, and what they come to on given rows."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def balance(
    codes: NDArray[np.uint32], counts: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Weights that make all classes that occur weigh the same; `counts` are those of the rows."""
    of_class = np.bincount(codes, weights=counts, minlength=n_classes)
    present = of_class > 0
    balanced = counts.sum() / (present.sum() * np.where(present, of_class, 1.0))
    return np.where(present, balanced, 0.0)


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")


def check_share(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ValueError(f"{name} must be a whole number or a share in (0, 1]; got {value!r}")


def count_rows(name: str, value: Any, n_docs: int, least: int) -> int:
    """Turn a number or a share of the rows into a number."""
    if isinstance(value, Integral):
        check_number(name, value, least)
        return int(value)
    check_share(name, value)
    return max(least, int(np.ceil(value * n_docs)))
