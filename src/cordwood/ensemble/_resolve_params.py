"""Parameters of forests: what they come to on given rows."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._param_validation import check_choice, check_number, check_share


def balance(
    codes: NDArray[np.uint32], counts: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Weights that make all classes that occur weigh the same; `counts` are those of the rows."""
    of_class = np.bincount(codes, weights=counts, minlength=n_classes)
    present = of_class > 0
    balanced = counts.sum() / (present.sum() * np.where(present, of_class, 1.0))
    return np.where(present, balanced, 0.0)


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
