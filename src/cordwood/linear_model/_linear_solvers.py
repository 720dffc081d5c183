"""Primal and dual solvers of one binary linear SVM, behind one signature."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from cordwood._base.csr import count_columns, largest_magnitude
from cordwood._kernels.intrinsics import read_only
from cordwood.linear_model._dual_solver import solve_dual

Float64Array = NDArray[np.float64]

# LIBLINEAR's primal solver does not end for costs of 1e100 or values of 1e100. It does for costs of
# 1e40 and values of 1e20.
_MAX_SCALE = 1e30

# The coefficients of more features are not in the processor's cache. If rows are sorted, they are
# read in order, which saves at least the time of the sort: 0 to 25 % of the fit of 20ng.
_MAX_CACHED_FEATURES = 2**18

# Stored entries that are renumbered at once, so that temporary arrays are small.
_BLOCK_SIZE = 2**22


class BinaryCoefficients(NamedTuple):
    """Coefficients of the unscaled features of one binary classifier."""

    coef: Float64Array
    intercept: float
    n_iter: int


# (class index, positive samples, cost of each sample, scale of each feature or None) -> fitted
Solver = Callable[[int, NDArray[np.bool_], Float64Array, Float64Array | None], BinaryCoefficients]


class LinearCoefficients(NamedTuple):
    """Coefficients of the one-vs-rest classifiers; of the second class only if there are two."""

    coef: Float64Array
    intercept: Float64Array
    n_iter: int


def make_dual_solver(X: Any, hinge: bool, tol: float, max_iter: int, seed: int) -> Solver:
    """Return the solver for more features than samples: dual coordinate descent."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    samples, position = _order_columns(sp.csr_matrix(X)[order])
    column = np.argsort(position)
    indptr, indices = read_only(samples.indptr.astype(np.int64)), read_only(samples.indices)
    data = read_only(_to_float32_if_exact(samples.data))

    def solve(
        class_index: int,
        is_positive: NDArray[np.bool_],
        costs: Float64Array,
        scale: Float64Array | None,
    ) -> BinaryCoefficients:
        coef = np.zeros(samples.shape[1] + 1)
        sign = read_only(np.where(is_positive[order], 1.0, -1.0))
        squared_scale = np.empty(0) if scale is None else np.square(scale[column])
        arrays = indptr, indices, data, sign, read_only(costs[order]), read_only(squared_scale)
        options = hinge, tol, max_iter, seed + class_index
        n_iter = solve_dual(*arrays, *options, coef)
        return BinaryCoefficients(coef[position], float(coef[-1]), int(n_iter))

    return solve


def make_primal_solver(X: Any, tol: float, max_iter: int) -> Solver:
    """Return the solver for more samples than features: LIBLINEAR's, which is deterministic."""

    def solve(
        class_index: int,
        is_positive: NDArray[np.bool_],
        costs: Float64Array,
        scale: Float64Array | None,
    ) -> BinaryCoefficients:
        svm = LinearSVC(dual=False, C=1.0, tol=tol, max_iter=max_iter)
        with warnings.catch_warnings():
            # LinearSVMClassifier warns once for all classes.
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm.fit(X if scale is None else _scale(X, scale), is_positive, costs)
        coef = svm.coef_[0] if scale is None else svm.coef_[0] * scale
        return BinaryCoefficients(coef, float(svm.intercept_[0]), int(np.max(svm.n_iter_)))

    return solve


def is_well_scaled(X: Any, costs: Float64Array, class_weight: Float64Array) -> bool:
    """Return whether LIBLINEAR's primal solver ends.

    If the Hessian is numerically infinite or singular, its line search does not.
    """
    largest = max(largest_magnitude(X), 1.0)
    # The factor of the rest is one in one-vs-rest problems.
    factors = np.append(class_weight[class_weight > 0], 1.0)
    least, most = costs.min() * factors.min(), costs.max() * factors.max()
    return bool(most * largest**2 <= _MAX_SCALE and least >= 1.0 / _MAX_SCALE)


def _scale(X: Any, scale: Float64Array) -> Any:
    """Multiply the columns of `X`; keep the order of stored values, which rounding depends on."""
    if isinstance(X, np.ndarray):
        return X * scale
    return type(X)((X.data * scale[X.indices], X.indices, X.indptr), shape=X.shape)


def _to_float32_if_exact(data: NDArray[Any]) -> NDArray[Any]:
    """Return the same values in half the memory if they fit, such as those of vectorizers."""
    if data.dtype == np.float32:
        return data
    with np.errstate(over="ignore"):
        single = data.astype(np.float32)
    return single if np.array_equal(single, data) else data


def _order_columns(X: sp.csr_matrix) -> tuple[sp.csr_matrix, NDArray[np.int32]]:
    """Sort columns by decreasing document frequency; return the matrix and the new positions.

    Coefficients of frequent features are then contiguous and stay in the processor's cache. The
    arrays of `X` are modified.
    """
    frequency = count_columns(X)
    position = np.empty(X.shape[1], np.int32)
    position[np.argsort(-frequency, kind="stable")] = np.arange(X.shape[1])
    is_canonical = X.has_canonical_format
    indices = X.indices.astype(np.int32, copy=False)
    for start in range(0, len(indices), _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        indices[block] = position[indices[block]]
    ordered = sp.csr_matrix((X.data, indices, X.indptr), shape=X.shape)
    if X.shape[1] > _MAX_CACHED_FEATURES or not is_canonical:
        ordered.sum_duplicates()  # sorts rows
    return ordered, position


def to_int32_indices(X: Any) -> Any:
    """Return `X` with 32-bit indices if it is sparse, as LIBLINEAR requires."""
    if isinstance(X, np.ndarray) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if X.nnz > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.nnz} stored values; LIBLINEAR supports at most 2**31 - 1.")
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, indptr), shape=X.shape)
