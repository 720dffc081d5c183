"""Sparse matrices of token counts."""

from array import array
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.text.vocabulary import UNKNOWN

# Tokens are aggregated in blocks of about this size, so that peak memory depends on the size of
# the result and not on the length of the texts.
_BLOCK_SIZE = 1 << 23

# Texts whose columns are moved at once.
_BLOCK_ROWS = 4096


def count_tokens(
    texts: Iterable[str],
    tokenize: Callable[[str], list[str]],
    to_column: Callable[[str], int],
    n_columns: Callable[[], int],
) -> sp.csr_matrix:
    """Count the tokens of each text."""
    # The matrix may contain duplicate entries, which `remap_columns` and `sum_duplicates` add up.
    # `n_columns` is called after the tokens of a block have been looked up, because `to_column` may
    # add columns.
    blocks = []
    columns, ends = array("i"), array("q", [0])
    for text in texts:
        columns.extend(map(to_column, tokenize(text)))
        ends.append(len(columns))
        if len(columns) >= _BLOCK_SIZE:
            blocks.append(_count_block(columns, ends, n_columns()))
            blocks[-1].sum_duplicates()
            columns, ends = array("i"), array("q", [0])
    blocks.append(_count_block(columns, ends, n_columns()))
    if len(blocks) == 1:
        return blocks[0]
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks], dtype=np.int64)
    return _build_csr(
        np.concatenate([block.data for block in blocks]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate(([0], np.cumsum(lengths))),
        n_columns(),
    )


def remap_columns(
    counts: sp.csr_matrix, new_column: NDArray[np.integer[Any]], n_columns: int
) -> sp.csr_matrix:
    """Move, merge and drop the columns of a count matrix, whose arrays are used for the result."""
    # Columns with the same new column are added up; a column with `UNKNOWN` is dropped.
    data, indices, indptr = counts.data, counts.indices, counts.indptr
    n_kept = 0
    # One block after the other, because arrays of all entries beside the matrix would triple the
    # memory.
    bounds = np.append(np.arange(0, counts.shape[0], _BLOCK_ROWS), counts.shape[0])
    new_indptr = np.zeros_like(indptr)
    for top, bottom in pairwise(bounds.tolist()):
        entries = slice(indptr[top], indptr[bottom])
        columns = new_column[indices[entries]]
        known = columns != UNKNOWN
        end = n_kept + int(np.count_nonzero(known))
        indices[n_kept:end], data[n_kept:end] = columns[known], data[entries][known]
        ends = np.concatenate(([0], np.cumsum(known)))
        new_indptr[top : bottom + 1] = n_kept + ends[indptr[top : bottom + 1] - indptr[top]]
        n_kept = end
    arrays = (data[:n_kept], indices[:n_kept], new_indptr)
    if n_kept < len(data) // 2:
        arrays = (data[:n_kept].copy(), indices[:n_kept].copy(), new_indptr)
    remapped = sp.csr_matrix(arrays, shape=(counts.shape[0], n_columns))
    remapped.sum_duplicates()
    return remapped


def _count_block(columns: "array[int]", ends: "array[int]", n_columns: int) -> sp.csr_matrix:
    indices = np.frombuffer(columns, dtype=np.intc)
    data = np.ones(len(indices), dtype=np.float32)
    # scipy converts indices of 64 bits after searching for the largest, and a block has few tokens.
    indptr = np.frombuffer(ends, dtype=np.int64).astype(np.int32)
    return _build_csr(data, indices, indptr, n_columns)


def _build_csr(
    data: NDArray[np.float32],
    indices: NDArray[np.integer[Any]],
    indptr: NDArray[np.integer[Any]],
    n_columns: int,
) -> sp.csr_matrix:
    """Build a matrix of all entries except those whose column is `UNKNOWN`."""
    known = indices != UNKNOWN
    if not known.all():
        position = np.zeros(len(known) + 1, indptr.dtype)
        np.cumsum(known, out=position[1:])
        indptr = position[indptr]
        data, indices = data[known], indices[known]
    return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
