"""Grow forests and take their votes, on as many threads as wanted, with the same bits on any."""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Event
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood._jit import announced
from cordwood.ensemble._tree_engine._kernels_apply import reach as reach_rows
from cordwood.ensemble._tree_engine._kernels_apply import vote as vote_rows
from cordwood.ensemble._tree_engine.grow import grow
from cordwood.ensemble._tree_engine.records import NARROW, WIDE, Forest, Rows, Rules, Table
from cordwood.ensemble._tree_engine.workspace import Block, Scratch, allocate, allocate_block

# The greatest level of the kernel's eight-bit weights.
_LEVELS = 255

# Features, nodes of a tree, and codes of its leaves that 16 bits can hold.
_NARROW_LIMIT = 2**15

# Rows that a thread takes at a time, whole blocks of the kernel; few enough to share out, enough to
# pay for the call.
_ROWS = 512


def grow_forest(
    table: Table,
    codes: NDArray[np.uint32],
    n_classes: int,
    rules: Rules,
    seeds: Sequence[int] | NDArray[np.uint64],
    weigh: Callable[[int], NDArray[np.float64]],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    on_tree: Callable[[list[Forest]], bool] | None = None,
) -> Forest:
    """Grow one tree for each seed.

    Parameters
    ----------
    table : Table
        The training data.
    codes : uint32 array of shape (n_docs,)
        The documents' classes, from 0 to n_classes - 1.
    n_classes : int
    rules : Rules
    seeds : sequence of int
        One for each tree; they alone decide on its randomness.
    weigh : callable
        The documents' weights in a tree, float64, given its position in `seeds`; documents of no
        weight are not seen by the tree. Called from several threads.
    n_jobs : int, optional
        Number of threads.
    verbose : int, default=0
        Verbosity of joblib.
    on_tree : callable, optional
        Called after each tree, in the order of `seeds`, with the list of trees so far. If it
        returns True, the remaining trees are not grown.

    Returns
    -------
    Forest
    """
    stopped = Event()
    n_threads = min(effective_n_jobs(n_jobs), max(len(seeds), 1))
    idle: SimpleQueue[Scratch] = SimpleQueue()
    for _ in range(n_threads):
        idle.put(allocate(table, n_classes))

    def grow_tree(tree: int) -> Forest | None:
        if stopped.is_set():
            return None
        scratch = idle.get()
        try:
            weights = weigh(tree)
            made = grow(table, rules, scratch, codes, weights, _unit(weights), int(seeds[tree]))
            return _copy(table, scratch, *made)
        finally:
            idle.put(scratch)

    with announced(grow):
        grown = Parallel(
            n_jobs=n_threads, require="sharedmem", verbose=verbose, return_as="generator"
        )(delayed(grow_tree)(tree) for tree in range(len(seeds)))
        trees: list[Forest] = []
        for tree in grown:
            if not stopped.is_set():
                trees.append(tree)
                if on_tree is not None and on_tree(trees):
                    stopped.set()
    return join(trees)


def join(forests: Sequence[Forest]) -> Forest:
    """Put forests one behind the other.

    The whole is wide if one of them is, and has a census if all have one.
    """
    codes, links = WIDE if any(forest.is_wide for forest in forests) else NARROW
    counted = forests if all(forest.has_census for forest in forests) else []
    return freeze(
        Forest(
            node_start=_chain([forest.node_start for forest in forests]),
            leaf_start=_chain([forest.leaf_start for forest in forests]),
            mixed_first=_chain([forest.mixed_first for forest in forests]),
            split=_concatenate([forest.split for forest in forests], codes),
            threshold=_concatenate([forest.threshold for forest in forests], np.float32),
            other=_concatenate([forest.other for forest in forests], links),
            leaf_weight=_concatenate([forest.leaf_weight for forest in counted], np.float32),
            leaf_size=_concatenate([forest.leaf_size for forest in counted], np.int32),
            mixed_start=_chain([forest.mixed_start for forest in forests]),
            mixed_class=_concatenate([forest.mixed_class for forest in forests], np.int32),
            mixed_weight=_concatenate([forest.mixed_weight for forest in forests], np.float32),
        )
    )


def freeze(forest: Forest) -> Forest:
    """Make the arrays read-only, so that one compiled version serves loaded and grown ones."""
    return Forest._make(read_only(array) for array in forest)


def drop_census(forest: Forest) -> Forest:
    """Give the same trees, without the weights and the numbers of their documents."""
    return freeze(
        forest._replace(leaf_weight=np.empty(0, np.float32), leaf_size=np.empty(0, np.int32))
    )


def vote(
    forest: Forest,
    X: sp.csr_matrix,
    n_classes: int,
    *,
    bags: NDArray[np.uint8] | None = None,
    tree_weights: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum over the trees the class frequencies of the leaves that the rows of X reach.

    Parameters
    ----------
    forest : Forest
    X : CSR matrix of float32 of shape (n_rows, n_features)
    n_classes : int
    bags : uint8 array of shape (n_trees, ceil(n_rows / 8)), optional
        Bit i of a tree's row, counted from the lowest, is set where row i of X must get no vote
        of the tree, because the tree has seen it.
    tree_weights : float64 array of shape (n_trees,), optional
        Factors on the trees' frequencies; all one by default.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    votes : float64 array of shape (n_rows, n_classes)
        Sums, not means.
    n_votes : int64 array of shape (n_rows,)
        How many trees voted.
    """
    votes = np.zeros((X.shape[0], n_classes))
    n_votes = np.zeros(X.shape[0], np.int64)
    factors = read_only(np.ones(forest.n_trees) if tree_weights is None else tree_weights)

    def vote_some(rows: Rows, first: int, last: int, bags: NDArray[np.uint8], block: Block) -> None:
        vote_rows(forest, rows, first, last, bags, factors, block, votes, n_votes)

    _share_out(vote_some, X, bags, n_jobs)
    return votes, n_votes


def reach(
    forest: Forest,
    X: sp.csr_matrix,
    *,
    bags: NDArray[np.uint8] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int32]:
    """Find the leaf that each row of X reaches in each tree, by the node that refers to it.

    Parameters
    ----------
    forest, X, bags, n_jobs
        As in `vote`.

    Returns
    -------
    int32 array of shape (n_trees, n_rows)
        Positions in `forest.other`; -1 where the row is in the tree's bag.
    """
    leaves = np.full((forest.n_trees, X.shape[0]), -1, np.int32)

    def reach_some(
        rows: Rows, first: int, last: int, bags: NDArray[np.uint8], block: Block
    ) -> None:
        reach_rows(forest, rows, first, last, bags, block, leaves)

    _share_out(reach_some, X, bags, n_jobs)
    return leaves


def _share_out(
    ask: Callable[[Rows, int, int, NDArray[np.uint8], Block], None],
    X: sp.csr_matrix,
    bags: NDArray[np.uint8] | None,
    n_jobs: int | None,
) -> None:
    """Ask about all rows, some at a time, on several threads, each with a block of its own."""
    n_rows = X.shape[0]
    rows = Rows(
        indptr=read_only(X.indptr.astype(np.int64)),
        indices=read_only(X.indices),
        data=read_only(X.data),
    )
    bags = read_only(np.empty((0, 0), np.uint8) if bags is None else bags)
    n_threads = min(effective_n_jobs(n_jobs), max(-(-n_rows // _ROWS), 1))
    idle: SimpleQueue[Block] = SimpleQueue()
    for _ in range(n_threads):
        idle.put(allocate_block(rows, X.shape[1]))

    def ask_some(first: int) -> None:
        block = idle.get()
        try:
            ask(rows, first, min(first + _ROWS, n_rows), bags, block)
        finally:
            idle.put(block)

    Parallel(n_jobs=n_threads, require="sharedmem")(
        delayed(ask_some)(first) for first in range(0, n_rows, _ROWS)
    )


def _unit(weights: NDArray[np.float64]) -> float:
    """What one level of weight stands for in the kernel's eight-bit upper bounds."""
    heaviest = float(weights.max(initial=0.0))
    if heaviest <= _LEVELS and np.array_equal(weights, np.rint(weights)):
        return 1.0
    # Half a level more, because the quotient of the two, rounded, may exceed the greatest level.
    return heaviest / (_LEVELS - 0.5)


def _copy(table: Table, scratch: Scratch, n_nodes: int, n_leaves: int, n_mixed: int) -> Forest:
    """Take a grown tree out of the scratch, its features renamed to the input's columns."""
    split, other = scratch.node_split[:n_nodes], scratch.node_other[:n_nodes]
    renamed = np.where(split >= 0, 2 * table.column[split >> 1] + (split & 1), 0)
    is_narrow = max(table.n_features, n_nodes, len(scratch.counts) + n_mixed) <= _NARROW_LIMIT
    codes, links = NARROW if is_narrow else WIDE
    n_entries = int(scratch.mixed_start[n_mixed])
    return Forest(
        node_start=np.array([0, n_nodes]),
        leaf_start=np.array([0, n_leaves]),
        mixed_first=np.array([0, n_mixed]),
        split=renamed.astype(codes),
        threshold=scratch.node_threshold[:n_nodes].copy(),
        other=other.astype(links),
        leaf_weight=scratch.leaf_weight[:n_leaves].copy(),
        leaf_size=scratch.leaf_size[:n_leaves].copy(),
        mixed_start=scratch.mixed_start[: n_mixed + 1].copy(),
        mixed_class=scratch.mixed_class[:n_entries].copy(),
        mixed_weight=scratch.mixed_weight[:n_entries].copy(),
    )


def _chain(starts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join arrays of starts, each of which begins at zero and ends with its length."""
    offsets = np.cumsum([0, *(int(start[-1]) for start in starts)])
    pieces = [start[:-1] + offset for start, offset in zip(starts, offsets[:-1], strict=True)]
    return np.concatenate([*pieces, offsets[-1:]]).astype(np.int64)


def _concatenate(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)
