"""Rows that are asked about again and again, turned into columns once and for all."""

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import borrow
from cordwood._jit import Int, Record, kernel
from cordwood.ensemble._tree_engine._kernels_apply import BLOCK, clear, note_leaves, turn


@kernel
def turn_all(rows: Record, block: Record, turned: Record) -> Int:
    """Turn all rows, block by block, and keep what there is to know of each; counts the columns.

    `turned` has room for as many columns as the rows have entries.
    """
    rows, block, turned = borrow(rows), borrow(block), borrow(turned)
    n_columns = 0
    for begin in range(0, turned.n_rows, BLOCK):
        end = min(begin + BLOCK, turned.n_rows)
        n_present = turn(rows, begin, end, block)
        before = rows.indptr[begin]
        turned.column_start[begin // BLOCK] = n_columns
        for i in range(n_present):
            column = np.uint64(block.feature[i])
            turned.column[n_columns] = block.feature[i]
            turned.present[n_columns] = block.present[column]
            turned.start[n_columns] = before + block.start[column]
            turned.least[n_columns] = block.least[column]
            n_columns += 1
        for i in range(rows.indptr[end] - before):
            turned.value[before + i] = block.value[i]
        clear(block, n_present)
    turned.column_start[len(turned.column_start) - 1] = n_columns
    return n_columns


@kernel
def reach(
    forest: Record,
    turned: Record,
    first: Int,
    last: Int,
    bags: NDArray[np.uint8],
    block: Record,
    leaves: NDArray[np.int32],
) -> None:
    """Note the leaf that each row reaches in each tree, as `walk.reach` does.

    Rows are those from first to last, whole blocks but for the end; `block.value` holds the values
    of all rows.
    """
    forest, turned, block = borrow(forest), borrow(turned), borrow(block)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        here = turned.column_start[begin // BLOCK]
        beyond = turned.column_start[begin // BLOCK + 1]
        for i in range(here, beyond):
            column = np.uint64(turned.column[i])
            block.present[column] = turned.present[i]
            block.start[column] = turned.start[i]
            block.least[column] = turned.least[i]
        note_leaves(forest, bags, begin, end, block, leaves)
        for i in range(here, beyond):
            block.present[np.uint64(turned.column[i])] = 0
