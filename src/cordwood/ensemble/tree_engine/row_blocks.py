"""Samples transposed into blocks once, to be passed down one forest after another.

With few trees per forest, as in a round of boosting, transposing the samples takes longer than
passing them down the trees.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSRArrays, borrow, read_only
from cordwood._kernels.jit import Int, Record, kernel
from cordwood.ensemble.tree_engine.apply import (
    BLOCK,
    RowBlock,
    allocate_row_block,
    apply_block,
    as_mask,
    clear_block,
    load_block,
)
from cordwood.ensemble.tree_engine.forest import Forest
from cordwood.ensemble.tree_engine.threads import map_threads

# Samples per task of a thread, a multiple of BLOCK: few trees take little time per sample.
_CHUNK = 32 * BLOCK


class RowBlocks(NamedTuple):
    """Samples in transposed blocks of 64; about 24 bytes per nonzero feature of a block."""

    # (n_blocks + 1,): where the nonzero features of each block begin.
    column_start: NDArray[np.int64]
    column: NDArray[np.int32]  # (n_columns,): the nonzero features, block after block
    # (n_columns,): bit i is set if the feature is nonzero in sample i of the block.
    present: NDArray[np.uint64]
    start: NDArray[np.int64]  # (n_columns,): where the values of the feature begin in `value`
    min_value: NDArray[np.float32]  # (n_columns,): the smallest of these values
    value: NDArray[np.float32]  # (n_entries,)
    n_samples: int
    n_features: int


def to_row_blocks(X: CSRArrays) -> RowBlocks:
    """Transpose samples into blocks."""
    n_samples, n_features = X.shape
    nnz = len(X.data)
    blocks = RowBlocks(
        column_start=np.zeros(-(-n_samples // BLOCK) + 1, np.int64),
        column=np.empty(nnz, np.int32),
        present=np.empty(nnz, np.uint64),
        start=np.empty(nnz, np.int64),
        min_value=np.empty(nnz, np.float32),
        value=np.empty(nnz, np.float32),
        n_samples=n_samples,
        n_features=n_features,
    )
    n_columns = transpose_rows(X, allocate_row_block(X), blocks)
    return blocks._replace(
        column_start=read_only(blocks.column_start),
        column=read_only(blocks.column[:n_columns].copy()),
        present=read_only(blocks.present[:n_columns].copy()),
        start=read_only(blocks.start[:n_columns].copy()),
        min_value=read_only(blocks.min_value[:n_columns].copy()),
        value=read_only(blocks.value),
    )


def apply_blocks(
    forest: Forest,
    blocks: RowBlocks,
    *,
    in_bag: NDArray[np.uint8] | None = None,  # (n_trees, ceil(n_samples / 8))
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Return the leaf that each sample reaches in each tree, as `apply` does."""
    leaves = np.full((forest.n_trees, blocks.n_samples), -1, np.int32)
    in_bag = as_mask(in_bag)

    def apply_chunk(block: RowBlock, first: int) -> None:
        last = min(first + _CHUNK, blocks.n_samples)
        apply_block_range(forest, blocks, first, last, in_bag, block, leaves)

    chunks = range(0, blocks.n_samples, _CHUNK)
    map_threads(apply_chunk, chunks, lambda: _allocate(blocks), n_jobs=n_jobs)
    return leaves


def _allocate(blocks: RowBlocks) -> RowBlock:
    """Allocate the workspace of one thread; the values are shared."""
    empty = CSRArrays(
        np.zeros(1, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.float32),
        (0, blocks.n_features),
    )
    return allocate_row_block(empty)._replace(value=blocks.value)


@kernel
def transpose_rows(X: Record, block: Record, blocks: Record) -> Int:
    """Transpose all samples block by block into `blocks`; return the number of columns written.

    `blocks` is allocated for as many columns as X has entries.
    """
    X, block, blocks = borrow(X), borrow(block), borrow(blocks)
    n_columns = 0
    for begin in range(0, blocks.n_samples, BLOCK):
        end = min(begin + BLOCK, blocks.n_samples)
        n_present = load_block(X, begin, end, block)
        before = X.indptr[begin]
        blocks.column_start[begin // BLOCK] = n_columns
        for i in range(n_present):
            column = np.uint64(block.feature[i])
            blocks.column[n_columns] = block.feature[i]
            blocks.present[n_columns] = block.present[column]
            blocks.start[n_columns] = before + block.start[column]
            blocks.min_value[n_columns] = block.min_value[column]
            n_columns += 1
        for i in range(X.indptr[end] - before):
            blocks.value[before + i] = block.value[i]
        clear_block(block, n_present)
    blocks.column_start[len(blocks.column_start) - 1] = n_columns
    return n_columns


@kernel
def apply_block_range(
    forest: Record,
    blocks: Record,
    first: Int,
    last: Int,
    in_bag: NDArray[np.uint8],
    block: Record,
    leaves: NDArray[np.int32],
) -> None:
    """Write the leaf that each sample reaches in each tree, as `apply.apply_range` does."""
    # `first` is a multiple of `BLOCK`, and so is `last`, unless it is the number of samples.
    # `block.value` holds the values of all samples.
    forest, blocks, block = borrow(forest), borrow(blocks), borrow(block)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        column_begin = blocks.column_start[begin // BLOCK]
        column_end = blocks.column_start[begin // BLOCK + 1]
        for i in range(column_begin, column_end):
            column = np.uint64(blocks.column[i])
            block.present[column] = blocks.present[i]
            block.start[column] = blocks.start[i]
            block.min_value[column] = blocks.min_value[i]
        apply_block(forest, in_bag, begin, end, block, leaves)
        for i in range(column_begin, column_end):
            block.present[np.uint64(blocks.column[i])] = 0
