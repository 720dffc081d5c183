"""How often each feature is in each document, as a sparse matrix."""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.text.vocabulary import UNKNOWN

# Features are counted in blocks of about this many, so that memory follows the size of the result
# and not that of the text.
_BLOCK = 1 << 23


def count(
    documents: Iterable[str],
    features: Callable[[str], list[str]],
    column_of: Callable[[str], int],
    n_columns: Callable[[], int],
) -> sp.csr_matrix:
    """Count the features of each document.

    Parameters
    ----------
    documents : iterable of str
        A row each.
    features : callable
        From a document to its features, repeats included.
    column_of : callable
        From a feature to its column, or to `UNKNOWN` if it is not to be counted.
    n_columns : callable
        How many columns there are; asked after the last document.

    Returns
    -------
    CSR matrix of float32, shape (n_documents, n_columns)
        A column may stand several times in a row: `move_columns` and `sum_duplicates` add up.

    Examples
    --------
    >>> columns = {"a": 0, "b": 1, "c": UNKNOWN}
    >>> count(["a b a", "c"], str.split, columns.__getitem__, lambda: 2).toarray()
    array([[2., 1.],
           [0., 0.]], dtype=float32)
    """
    blocks = []
    columns, ends = array("i"), array("q", [0])
    for document in documents:
        columns.extend(map(column_of, features(document)))
        ends.append(len(columns))
        if len(columns) >= _BLOCK:
            blocks.append(_ones(columns, ends, n_columns()))
            blocks[-1].sum_duplicates()
            columns, ends = array("i"), array("q", [0])
    blocks.append(_ones(columns, ends, n_columns()))
    if len(blocks) == 1:
        return blocks[0]
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks], dtype=np.int64)
    return _build(
        np.concatenate([block.data for block in blocks]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate(([0], np.cumsum(lengths))),
        n_columns(),
    )


def move_columns(
    counts: sp.csr_matrix, column: NDArray[np.integer[Any]], n_columns: int
) -> sp.csr_matrix:
    """Give each column of counts a new place.

    Parameters
    ----------
    counts : CSR matrix
        As from `count`.
    column : array of int
        The new column of each old one. Columns that share one are added up; `UNKNOWN` drops one.
    n_columns : int
        How many columns there will be.

    Returns
    -------
    CSR matrix of float32
        With sorted indices.
    """
    moved = _build(counts.data, column[counts.indices], counts.indptr, n_columns)
    moved.sum_duplicates()
    return moved


def document_frequency(counts: sp.csr_matrix) -> NDArray[np.intp]:
    """Return the number of documents that each column counts for."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def _ones(columns: "array[int]", ends: "array[int]", n_columns: int) -> sp.csr_matrix:
    indices = np.frombuffer(columns, dtype=np.intc)
    data = np.ones(len(indices), dtype=np.float32)
    return _build(data, indices, np.frombuffer(ends, dtype=np.int64), n_columns)


def _build(
    data: NDArray[np.float32],
    indices: NDArray[np.integer[Any]],
    indptr: NDArray[np.integer[Any]],
    n_columns: int,
) -> sp.csr_matrix:
    """Make a matrix of all entries but those in `UNKNOWN` columns."""
    known = indices != UNKNOWN
    if not known.all():
        indptr = np.concatenate(([0], np.cumsum(known)))[indptr]
        data, indices = data[known], indices[known]
    return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
