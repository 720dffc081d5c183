"""Rows that forest after forest is asked about: made ready once, which else takes most of the time.

With few trees to a forest, turning rows into columns takes longer than sending them down the trees.
"""

from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood.ensemble._tree_engine import _kernels_row_blocks as kernels
from cordwood.ensemble._tree_engine._kernels_apply import BLOCK
from cordwood.ensemble._tree_engine.records import Forest, Rows
from cordwood.ensemble._tree_engine.workspace import Block, allocate_block

# Rows that a thread takes at a time, whole blocks of the kernel; few trees are soon done with them.
_ROWS = 32 * BLOCK


class TurnedRows(NamedTuple):
    """Rows by columns, in blocks of 64; about 24 bytes for each column that a block has.

    Parameters
    ----------
    column_start : int64 array of shape (n_blocks + 1,)
        Where the columns of each block begin.
    column : int32 array
    present : uint64 array
        Which rows of the block have a value in the column, from the lowest bit on.
    start : int64 array
        Where these values begin.
    least : float32 array
        The least of them.
    value : float32 array of shape (n_entries,)
    """

    column_start: NDArray[np.int64]
    column: NDArray[np.int32]
    present: NDArray[np.uint64]
    start: NDArray[np.int64]
    least: NDArray[np.float32]
    value: NDArray[np.float32]
    n_rows: int
    n_features: int


def turn_rows(X: sp.csr_matrix) -> TurnedRows:
    """Turn the rows of a CSR matrix of float32."""
    n_rows, n_features = X.shape
    rows = Rows(
        indptr=read_only(X.indptr.astype(np.int64)),
        indices=read_only(X.indices),
        data=read_only(X.data),
    )
    turned = TurnedRows(
        column_start=np.zeros(-(-n_rows // BLOCK) + 1, np.int64),
        column=np.empty(X.nnz, np.int32),
        present=np.empty(X.nnz, np.uint64),
        start=np.empty(X.nnz, np.int64),
        least=np.empty(X.nnz, np.float32),
        value=np.empty(X.nnz, np.float32),
        n_rows=n_rows,
        n_features=n_features,
    )
    n_columns = kernels.turn_all(rows, allocate_block(rows, n_features), turned)
    return turned._replace(
        column_start=read_only(turned.column_start),
        column=read_only(turned.column[:n_columns].copy()),
        present=read_only(turned.present[:n_columns].copy()),
        start=read_only(turned.start[:n_columns].copy()),
        least=read_only(turned.least[:n_columns].copy()),
        value=read_only(turned.value),
    )


def reach_turned(
    forest: Forest,
    turned: TurnedRows,
    *,
    bags: NDArray[np.uint8] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Find the leaf that each row reaches in each tree, as `reach` does.

    Parameters
    ----------
    forest : Forest
    turned : TurnedRows
    bags, n_jobs
        As in `reach`.

    Returns
    -------
    int32 array of shape (n_trees, n_rows)
        Positions in `forest.other`; -1 where the row is in the tree's bag.
    """
    leaves = np.full((forest.n_trees, turned.n_rows), -1, np.int32)
    bags = read_only(np.empty((0, 0), np.uint8) if bags is None else bags)
    firsts = range(0, turned.n_rows, _ROWS)
    n_threads = min(effective_n_jobs(n_jobs), len(firsts))
    idle: SimpleQueue[Block] = SimpleQueue()
    for _ in range(n_threads):
        idle.put(_allocate(turned))

    def reach_some(first: int) -> None:
        block = idle.get()
        try:
            last = min(first + _ROWS, turned.n_rows)
            kernels.reach(forest, turned, first, last, bags, block, leaves)
        finally:
            idle.put(block)

    Parallel(n_jobs=n_threads, require="sharedmem")(delayed(reach_some)(first) for first in firsts)
    return leaves


def _allocate(turned: TurnedRows) -> Block:
    """Allocate what one thread needs; the values themselves are shared."""
    nothing = Rows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    return allocate_block(nothing, turned.n_features)._replace(value=turned.value)
