"""Parameters of forests: what they may be, and what they come to on given rows."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


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


def check_jobs(n_jobs: Any) -> None:
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


def count_features(wanted: Any, n_features: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tell how many features `max_features` comes to, for each number of features."""
    if wanted is None:
        return n_features
    if isinstance(wanted, str):
        check_choice("max_features", wanted, ("sqrt", "log2"))
        some: NDArray[Any] = (
            np.sqrt(n_features) if wanted == "sqrt" else np.log2(np.maximum(n_features, 1))
        )
    elif isinstance(wanted, Integral):
        check_number("max_features", wanted, 1)
        some = np.minimum(int(wanted), n_features)
    else:
        check_share("max_features", wanted)
        some = float(wanted) * n_features
    return np.maximum(1, np.asarray(some).astype(np.int64))


def count_rows(name: str, value: Any, n_docs: int, least: int) -> int:
    """Turn a number or a share of the rows into a number."""
    if isinstance(value, Integral):
        check_number(name, value, least)
        return int(value)
    check_share(name, value)
    return max(least, int(np.ceil(value * n_docs)))
