"""Cost matrices in CSV files."""

import csv
import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import DataError


def read_cost_matrix(path: str | os.PathLike[str], classes: Iterable[str]) -> NDArray[np.float64]:
    """Read a cost matrix from a CSV file.

    The first row has the predicted classes, the first column the true classes, both in any order;
    the result has the costs by true and predicted class, both sorted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "costs.csv")
    ...     _ = file.write_text("true,spam,ham\\nham,10,0\\nspam,0,1\\n")
    ...     read_cost_matrix(file, ["ham", "spam"])
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot read the cost matrix {path}: {error}") from error
    if not rows:
        raise DataError(f"{path}: the file is empty; write one row and one column for each class")
    known = sorted(set(classes))
    header = [name.strip() for name in rows[0][1][1:]]
    _check_names(path, "column", header, known)
    _check_names(path, "row", [row[0].strip() for _, row in rows[1:]], known)
    costs = np.empty((len(known), len(known)))
    for number, (name, *cells) in rows[1:]:
        if len(cells) != len(header):
            raise DataError(f"{path}, row {number}: expected {len(header)} costs; got {len(cells)}")
        for column, cell in zip(header, cells, strict=True):
            try:
                cost = float(cell)
            except ValueError:
                cost = np.nan
            if not np.isfinite(cost):
                raise DataError(
                    f"{path}, row {number}: the cost in column {column!r} must be a number; got "
                    f"{cell!r}"
                )
            costs[known.index(name.strip()), known.index(column)] = cost
    return costs


def _check_names(
    path: str | os.PathLike[str], kind: str, names: list[str], known: list[str]
) -> None:
    """Raise an error unless there is exactly one row or column for each class."""
    for name in names:
        if name not in known:
            raise DataError(
                f"{path}: the {kind} {name!r} is not a class; classes: {', '.join(known)}"
            )
        if names.count(name) > 1:
            raise DataError(f"{path}: the {kind} {name!r} occurs more than once")
    if missing := [name for name in known if name not in names]:
        raise DataError(f"{path}: there is no {kind} for the class {missing[0]!r}; add it")
