"""From a sparse matrix to the `Table` that trees are grown from, once for each data set."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood.ensemble._tree_engine._kernels_binning import (
    compare_rows,
    hash_rows,
    rank_values,
    spread_dense,
    spread_rows,
)
from cordwood.ensemble._tree_engine.records import Table

# A feature that more than this share of the documents has is looked up document by document: its
# list would be as long as the node, and would have to be made again for every node.
_DENSE_SHARE = 0.25


def encode(X: sp.csc_matrix, *, max_ranks: int | None = None) -> Table:
    """Encode training data.

    Parameters
    ----------
    X : CSC matrix of float32, finite, of shape (n_docs, n_features)
        Without duplicate entries or stored zeros.
    max_ranks : int, optional
        Values of a column that are told apart at most. All are, by default, as long as ranks fit
        into 32 bits beside the document's number: always up to 65,534 documents, 4,095 values
        with a million documents, 255 with 16 million.

    Returns
    -------
    Table
    """
    n_docs, n_features = X.shape
    doc_bits = max(n_docs - 1, 1).bit_length()
    if max_ranks is not None:
        doc_bits = max(doc_bits, 32 - (max_ranks + 1).bit_length() + 1)
    n_entries = np.diff(X.indptr).astype(np.int64)
    column = np.argsort(-n_entries, kind="stable").astype(np.uint32)
    n_entries = n_entries[column]
    n_dense = int(np.count_nonzero(n_entries > _DENSE_SHARE * n_docs))
    entry = np.empty(X.nnz, np.uint32)
    least = np.empty(X.nnz + n_features, np.float32)
    greatest = np.empty(X.nnz + n_features, np.float32)
    value_start = np.empty(n_features + 1, np.int64)
    zero_rank = np.empty(n_features, np.uint32)
    indptr = read_only(X.indptr.astype(np.int64))
    indices, data = read_only(X.indices), read_only(X.data)
    n_values = rank_values(
        indptr,
        indices,
        data,
        column,
        np.uint32(doc_bits),
        entry,
        least,
        greatest,
        value_start,
        zero_rank,
    )
    doc_mask = np.uint32((1 << doc_bits) - 1)
    dense_entry = np.empty((n_dense, n_docs), np.uint32)
    spread_dense(n_entries[:n_dense], entry, zero_rank, np.uint32(doc_bits), doc_mask, dense_entry)
    column_start = np.zeros(n_features + 1, np.uint32)
    np.cumsum(n_entries[n_dense:], out=column_start[n_dense + 1 :], dtype=np.uint32)
    column_entry = entry[n_entries[:n_dense].sum() :].copy()
    row_start = np.empty(n_docs + 1, np.uint32)
    row_feature = np.empty_like(column_entry)
    row_entry = np.empty_like(column_entry)
    spread_rows(column_start, column_entry, doc_mask, row_start, row_feature, row_entry)
    return Table(
        row_start=row_start,
        row_feature=row_feature,
        row_entry=row_entry,
        column_start=column_start,
        column_entry=column_entry,
        dense_entry=dense_entry,
        least=least[:n_values].copy(),
        greatest=greatest[:n_values].copy(),
        value_start=value_start,
        zero_rank=zero_rank,
        twin=_find_twins(row_start, row_feature, row_entry, dense_entry),
        column=column.astype(np.int32),
        log_factorial=np.concatenate(
            [[0.0], np.cumsum(np.log(np.arange(1, n_features + 1, dtype=np.float64)))]
        ),
        doc_bits=np.uint32(doc_bits),
        doc_mask=doc_mask,
        n_dense=n_dense,
        n_used=int(np.count_nonzero(n_entries)),
        n_features=n_features,
    )


def _find_twins(
    row_start: NDArray[np.uint32],
    row_feature: NDArray[np.uint32],
    row_entry: NDArray[np.uint32],
    dense_entry: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """Number the documents: those of equal number have equal rows, and nearly always vice versa.

    Only rows that share a hash by chance with a different one may get numbers of their own.
    """
    rows = row_start, row_feature, row_entry, dense_entry
    hashes = np.empty(len(row_start) - 1, np.uint64)
    hash_rows(*rows, hashes)
    _, first, twin = np.unique(hashes, return_index=True, return_inverse=True)
    twins = np.flatnonzero(first[twin] != np.arange(len(twin)))
    equal = np.empty(len(twins), np.bool_)
    compare_rows(*rows, twins, first[twin[twins]], equal)
    collided = twins[~equal]
    twin[collided] = len(first) + np.arange(len(collided))
    return twin.astype(np.uint32)
