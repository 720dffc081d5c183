"""Validation of sparse input, and conversion of it to canonical matrices.

A sparse matrix is three arrays that anyone can change, and scipy checks them only in part when the
matrix is created. Compiled code, scipy's own conversions included, indexes with them without bounds
checks. `check_sparse` validates them once, where a matrix enters an estimator; `to_csr` and
`to_csc` convert what `sklearn.utils.validation.validate_data` returns.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSCArrays, CSRArrays, read_only

# Feature indices are stored in 32 bits.
MAX_FEATURES = 2**31 - 1

# With more features than this, memory and time depend on the features that occur in the samples,
# not on the number of features. Fewer features are not worth the additional pass over the samples.
MAX_DENSE_FEATURES = 2**20

# Maximum number of values (8 GiB) of a dense array with one column per feature.
_MAX_DENSE_VALUES = 2**30

# Rows that are stacked at once.
_FEW_ROWS = 1000

# Stored entries that are processed at once; more than most matrices have columns.
_BLOCK_SIZE = 2**22


def check_sparse(X: Any) -> Any:
    """Validate the index arrays of a sparse matrix; return other input unchanged."""
    # The returned matrix shares the arrays of X, but not its flags `has_sorted_indices` and
    # `has_canonical_format`, which are wrong if the arrays were changed after they were computed.
    if not sp.issparse(X):
        return X
    matrix: Any = X
    if len(matrix.shape) != 2:
        return X  # scikit-learn's validation has an error message for it.
    if matrix.format not in ("csr", "csc", "bsr", "coo"):
        matrix = matrix.tocsr()  # The other formats have no arrays of indices.
    try:
        return _check_coo(matrix) if matrix.format == "coo" else _check_compressed(matrix)
    except _InvalidMatrix as error:
        raise ValueError(
            f"X is not a valid {matrix.format.upper()} matrix: {error}. Create X again from its "
            "values."
        ) from None


class _InvalidMatrix(Exception):
    """Arrays that do not describe a matrix."""


def _check_compressed(X: Any) -> Any:
    """Check a CSR, CSC or BSR matrix."""
    data, indices, indptr = X.data, X.indices, X.indptr
    for name, array, ndim in (
        ("data", data, 3 if X.format == "bsr" else 1),
        ("indices", indices, 1),
        ("indptr", indptr, 1),
    ):
        _check_array(name, array, ndim)
    n_samples, n_features = X.shape
    if X.format == "bsr":
        if not all(data.shape[1:]) or n_samples % data.shape[1] or n_features % data.shape[2]:
            raise _InvalidMatrix("the shape of X must be a multiple of the shape of the blocks")
        n_samples, n_features = n_samples // data.shape[1], n_features // data.shape[2]
    n_major, n_minor = (n_features, n_samples) if X.format == "csc" else (n_samples, n_features)
    if len(indptr) != n_major + 1:
        raise _InvalidMatrix(f"indptr must have {n_major + 1} entries; got {len(indptr)}")
    if indptr[0] != 0:
        raise _InvalidMatrix(f"indptr must start with 0; got {indptr[0]}")
    if (indptr[1:] < indptr[:-1]).any():
        raise _InvalidMatrix("indptr must not decrease")
    if not indptr[-1] <= len(indices) == len(data):
        raise _InvalidMatrix(
            f"indices and data must have the same length, at least indptr[-1], which is "
            f"{indptr[-1]}; got {len(indices)} and {len(data)}"
        )
    _check_range("indices", indices[: indptr[-1]], n_minor)
    return type(X)((data, indices, indptr), shape=X.shape)


def _check_coo(X: Any) -> Any:
    for name, array in (("data", X.data), ("row", X.row), ("col", X.col)):
        _check_array(name, array, 1)
    if not len(X.row) == len(X.col) == len(X.data):
        raise _InvalidMatrix(
            f"row, col and data must have the same length; got {len(X.row)}, {len(X.col)} and "
            f"{len(X.data)}"
        )
    for name, array, n in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
        _check_range(name, array, n)
    return type(X)((X.data, (X.row, X.col)), shape=X.shape)


def _check_array(name: str, array: Any, ndim: int) -> None:
    if not isinstance(array, np.ndarray) or array.ndim != ndim:
        raise _InvalidMatrix(f"{name} must be an array of {ndim} dimension{'s' * (ndim > 1)}")
    if name != "data" and array.dtype.kind not in "iu":
        raise _InvalidMatrix(f"{name} must be an array of integers; got {array.dtype}")


def _check_range(name: str, indices: NDArray[Any], n: int) -> None:
    if not len(indices):
        return
    for extreme in (indices.min(), indices.max()):
        if not 0 <= extreme < n:
            raise _InvalidMatrix(f"{name} must be between 0 and {n - 1}; got {extreme}")


def check_dense_size(n_vectors: int, n_features: int, name: str) -> None:
    """Raise ValueError if dense vectors with a value for each feature would exceed 8 GiB."""
    if n_vectors * n_features > _MAX_DENSE_VALUES:
        raise ValueError(
            f"X has {n_features} features, for which {name} would need "
            f"{8 * n_vectors * n_features / 2**30:.0f} GiB; use at most "
            f"{_MAX_DENSE_VALUES // n_vectors} features, for example by "
            "sklearn.feature_extraction.FeatureHasher."
        )


def largest_magnitude(X: Any) -> float:
    """Return the largest absolute value of a finite matrix, 0 if it is empty."""
    values = X if isinstance(X, np.ndarray) else X.data
    # Without the array of absolute values.
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def count_columns(X: Any) -> NDArray[np.intp]:
    """Return the number of stored entries of each column of a CSR matrix."""
    total = np.zeros(X.shape[1], np.intp)
    # In blocks, because `bincount` converts indices to 64 bits.
    for start in range(0, len(X.indices), _BLOCK_SIZE):
        total += np.bincount(X.indices[start : start + _BLOCK_SIZE], minlength=X.shape[1])
    return total


def to_csc(X: Any) -> sp.csc_matrix:
    """Convert validated input to canonical CSC: int32 indices, sorted, no stored zeros."""
    csc: sp.csc_matrix = _canonicalize(
        _dense_to_csr(X.T).T if isinstance(X, np.ndarray) else sp.csc_matrix(X)
    )
    return csc


def to_csr(X: Any) -> sp.csr_matrix:
    """Convert validated input to canonical CSR: int32 indices, sorted, no stored zeros."""
    csr: sp.csr_matrix = _canonicalize(
        _dense_to_csr(X) if isinstance(X, np.ndarray) else sp.csr_matrix(X)
    )
    return csr


def to_training_matrix(X: Any) -> sp.csc_matrix | sp.csr_matrix:
    """Convert validated input to canonical CSC, or to CSR if it has too many features.

    The CSC format takes memory for every feature, also for those that do not occur; see
    `compact_columns`.
    """
    return to_csc(X) if X.shape[1] <= MAX_DENSE_FEATURES else to_csr(X)


def compact_columns(
    X: sp.csc_matrix | sp.csr_matrix,
) -> tuple[sp.csc_matrix, NDArray[np.int32] | None]:
    """Return the training matrix in CSC, without empty columns if there are too many features."""
    # The second result is the column of X in each column of the matrix; None if these are all.
    if X.shape[1] <= MAX_DENSE_FEATURES:
        return to_csc(X), None
    csr, columns = drop_empty_columns(to_csr(X))
    return to_csc(csr), columns


def drop_empty_columns(X: sp.csr_matrix) -> tuple[sp.csr_matrix, NDArray[np.int32]]:
    """Return the columns of a canonical CSR matrix that are not empty, and which these are.

    The first column is returned if all are empty. The result may share the values of `X`.
    """
    if X.shape[1] > X.nnz:  # memory depends on the entries only
        columns = np.unique(X.indices) if X.nnz else np.zeros(1, np.int32)
        return take_columns(X, columns), columns
    position = np.zeros(X.shape[1], np.int32)
    position[X.indices] = 1
    columns = np.flatnonzero(position).astype(np.int32)
    position[columns] = np.arange(len(columns))
    kept = sp.csr_matrix((X.data, position[X.indices], X.indptr), shape=(X.shape[0], len(columns)))
    kept.has_canonical_format = True
    return kept, columns


def number_columns(X: sp.csr_matrix, columns: NDArray[Any]) -> sp.csr_matrix:
    """Return a canonical CSR matrix whose columns are numbered by their position in `columns`.

    >>> X = sp.csr_matrix(np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 4.0, 5.0]]))
    >>> number_columns(X, np.array([2])).toarray()
    array([[2., 1., 0.],
           [4., 3., 5.]])
    """
    # The other columns of each row are numbered from ``len(columns)`` on, by row: the same number
    # may stand for different columns in different rows.
    position, is_known = locate_columns(X.indices, columns)
    n_unknown = np.concatenate([[0], np.cumsum(~is_known)])  # before each entry
    rank = n_unknown[:-1] - np.repeat(n_unknown[X.indptr[:-1]], np.diff(X.indptr))
    indices = np.where(is_known, position, len(columns) + rank).astype(np.int32)
    n_columns = len(columns) + int(np.diff(n_unknown[X.indptr]).max(initial=0))
    numbered = sp.csr_matrix((X.data.copy(), indices, X.indptr), shape=(X.shape[0], n_columns))
    numbered.sort_indices()
    return numbered


def take_columns(X: sp.csr_matrix, columns: NDArray[Any]) -> sp.csr_matrix:
    """Return some columns of a canonical CSR matrix, in memory that depends on its entries only."""
    position, is_taken = locate_columns(X.indices, columns)
    indptr = np.concatenate([[0], np.cumsum(is_taken)])[X.indptr]
    taken = sp.csr_matrix(
        (X.data[is_taken], position[is_taken].astype(np.int32), indptr),
        shape=(X.shape[0], len(columns)),
    )
    taken.has_canonical_format = True
    return taken


def stack_columns(blocks: list[sp.csr_matrix]) -> sp.csr_matrix:
    """Return CSR matrices side by side, in less time and memory than scipy.

    Examples
    --------
    >>> X = sp.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> stack_columns([X, X]).toarray()
    array([[1., 0., 1., 0.],
           [0., 2., 0., 2.]])
    """
    indptr: NDArray[Any] = np.asarray(sum(block.indptr.astype(np.int64) for block in blocks))
    indices = np.empty(indptr[-1], np.int32)
    data = np.empty(indptr[-1], np.result_type(*(block.dtype for block in blocks)))
    # A few rows at once, because scipy and numpy have temporary arrays of all entries.
    for top in range(0, len(indptr) - 1, _FEW_ROWS):
        first, n_before = indptr[top : top + _FEW_ROWS + 1][:-1].copy(), 0
        for block in blocks:
            bounds = block.indptr[top : top + _FEW_ROWS + 1]
            entries = slice(bounds[0], bounds[-1])
            lengths = np.diff(bounds)
            target = np.arange(entries.start, entries.stop)
            target += np.repeat(first - bounds[:-1], lengths)
            indices[target], data[target] = block.indices[entries] + n_before, block.data[entries]
            first += lengths
            n_before += block.shape[1]
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    n_columns = sum(block.shape[1] for block in blocks)
    return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))


def locate_columns(
    indices: NDArray[Any], columns: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the position of each index in sorted columns, and whether it is one of them."""
    if not len(columns):
        return np.zeros(len(indices), np.intp), np.zeros(len(indices), np.bool_)
    position = np.minimum(np.searchsorted(columns, indices), len(columns) - 1)
    return position, columns[position] == indices


def csr_arrays(X: sp.csr_matrix) -> CSRArrays:
    """Return the arrays of a canonical CSR matrix of float32, read-only, as kernels take them."""
    return CSRArrays(
        read_only(X.indptr.astype(np.int64)), read_only(X.indices), read_only(X.data), X.shape
    )


def csc_arrays(X: sp.csc_matrix) -> CSCArrays:
    """Return the arrays of a canonical CSC matrix of float32, read-only, as kernels take them."""
    return CSCArrays(
        read_only(X.indptr.astype(np.int64)), read_only(X.indices), read_only(X.data), X.shape
    )


def _dense_to_csr(X: NDArray[np.float32]) -> sp.csr_matrix:
    """Convert a dense matrix, in a third of the time of scipy's constructor."""
    X = np.ascontiguousarray(X)
    flat = np.flatnonzero(X)
    rows, columns = np.divmod(flat, X.shape[1])
    indptr = np.searchsorted(rows, np.arange(X.shape[0] + 1))
    return sp.csr_matrix((X.ravel()[flat], columns, indptr), shape=X.shape)


def _canonicalize(X: Any) -> Any:
    if X.shape[1] > MAX_FEATURES:
        raise ValueError(f"X has {X.shape[1]} features; at most {MAX_FEATURES} are supported.")
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()  # The operations below work in place, and X may be the caller's.
        X.sum_duplicates()
        X.eliminate_zeros()
    X.indices = np.ascontiguousarray(X.indices, np.int32)
    X.data = np.ascontiguousarray(X.data)
    return X


def check_labelled_csr(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float32],
    codes: NDArray[np.uint32],
    n_features: int,
    n_classes: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.uint32]]:
    """Validate the arrays of a canonical CSR matrix and the class codes of its rows.

    Compiled kernels index with these arrays without bounds checks, so arrays that come from a
    model file are validated once, when they are loaded.
    """
    arrays = {"indptr": indptr, "indices": indices, "data": data, "codes": codes}
    dtypes = (np.int64, np.int32, np.float32, np.uint32)
    for (name, array), dtype in zip(arrays.items(), dtypes, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise ValueError(
                f"{name} of the stored samples must be a 1-d array of {np.dtype(dtype).name}"
            )
    n_entries, n_samples = len(indices), len(codes)
    is_partition = len(indptr) == n_samples + 1 > 1 and indptr[0] == 0 and indptr[-1] == n_entries
    if not is_partition or (np.diff(indptr) < 0).any() or len(data) != n_entries:
        raise ValueError("indptr of the stored samples does not partition their entries")
    increases = np.diff(indices, append=0) > 0
    increases[indptr[1:][np.diff(indptr) > 0] - 1] = True  # The next entry is in another row.
    if not increases.all() or ((indices < 0) | (indices >= n_features)).any():
        raise ValueError("indices of the stored samples must be sorted and below n_features")
    if not np.isfinite(data).all() or not data.all():
        raise ValueError("data of the stored samples must be finite and non-zero")
    if (codes >= n_classes).any():
        raise ValueError("codes of the stored samples must be below n_classes")
    return indptr.copy(), indices.copy(), data.copy(), codes.copy()


def has_features(X: Any) -> bool:
    """Return whether `X` is two-dimensional, unlike a sequence of texts."""
    return len(getattr(X, "shape", ())) == 2
