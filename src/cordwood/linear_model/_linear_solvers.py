"""Planes that part a class from the rest: the solvers of the linear machine."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from cordwood._intrinsics import read_only
from cordwood._jit import log_slow_compilation
from cordwood.linear_model._dual_solver import separate, stretch

Doubles = NDArray[np.float64]
# Takes the number of a machine, which rows are of its class, what each row costs, and by what each
# column is multiplied, if by anything; gives the plane of the columns as they are, its constant
# last, and the number of iterations.
Solver = Callable[[int, NDArray[np.bool_], Doubles, Doubles | None], tuple[Doubles, int]]


class Planes(NamedTuple):
    """Machines of several classes; for two classes one, which is about the second."""

    coef: Doubles
    intercept: Doubles
    n_iter: int


def make_dual(X: Any, hinge: bool, tol: float, max_iter: int, seed: int) -> Solver:
    """Make the solver for more features than documents: the time is that of the documents."""
    rows, place = _order_columns(sp.csr_matrix(X))
    column = np.argsort(place)
    places = read_only(rows.indptr.astype(np.int64)), read_only(rows.indices)

    def fit(
        machine: int, is_class: NDArray[np.bool_], costs: Doubles, scale: Doubles | None
    ) -> tuple[Doubles, int]:
        plane = np.zeros(rows.shape[1] + 1)
        sign = read_only(np.where(is_class, 1.0, -1.0))
        data = rows.data
        if scale is not None:
            data = np.empty_like(rows.data)
            stretch(places[1], read_only(rows.data), read_only(scale[column]), data)
        arrays = *places, read_only(data), sign, read_only(costs)
        with log_slow_compilation(separate):
            n_iter = separate(*arrays, hinge, tol, max_iter, seed + machine, plane)
        return _unscale(np.append(plane[place], plane[-1]), scale), int(n_iter)

    return fit


def make_primal(X: Any, tol: float, max_iter: int) -> Solver:
    """Make the solver for more documents than features: LIBLINEAR's, which draws nothing."""

    def fit(
        machine: int, is_class: NDArray[np.bool_], costs: Doubles, scale: Doubles | None
    ) -> tuple[Doubles, int]:
        found = LinearSVC(dual=False, C=1.0, tol=tol, max_iter=max_iter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.fit(X if scale is None else _scale(X, scale), is_class, costs)
        plane = np.append(found.coef_[0], found.intercept_)
        return _unscale(plane, scale), int(np.max(found.n_iter_))

    return fit


def _scale(X: Any, scale: Doubles) -> Any:
    """Multiply columns; entries stay in their order, on which the solver's last bits depend."""
    if isinstance(X, np.ndarray):
        return X * scale
    return type(X)((X.data * scale[X.indices], X.indices, X.indptr), shape=X.shape)


def _unscale(plane: Doubles, scale: Doubles | None) -> Doubles:
    """Give the plane of the columns as they were before they were multiplied."""
    return plane if scale is None else plane * np.append(scale, 1.0)


def _order_columns(X: sp.csr_matrix) -> tuple[sp.csr_matrix, NDArray[np.int32]]:
    """Number columns by how many rows have them, the most frequent first; give the numbers too.

    Coefficients that are used most are then side by side, and stay in the processor's cache.
    """
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    place = np.empty(X.shape[1], np.int32)
    place[np.argsort(-frequency, kind="stable")] = np.arange(X.shape[1])
    # Sorting works in place, and X is the caller's.
    ordered = sp.csr_matrix((X.data.copy(), place[X.indices], X.indptr.copy()), shape=X.shape)
    ordered.sum_duplicates()
    return ordered, place


def with_narrow_indices(X: Any) -> Any:
    """Give sparse `X` the 32-bit indices that liblinear wants."""
    if isinstance(X, np.ndarray) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        raise ValueError(
            f"X has {X.shape[1]} columns and {X.nnz} values, and liblinear takes at most "
            "2**31 - 1 of either"
        )
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, indptr), shape=X.shape)
