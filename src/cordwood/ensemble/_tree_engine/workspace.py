"""The memory that one thread works in, allocated once and never handed out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._tree_engine._kernels_apply import BLOCK
from cordwood.ensemble._tree_engine.records import Rows, Table


class Scratch(NamedTuple):
    """Working arrays of the growing kernel, for one thread.

    About 4 bytes for each sparse entry of the data, 20 for each feature, 90 for each document
    and 20 for each class: a table of class counts for every term, which grows with classes times
    terms, is nowhere.
    """

    order: NDArray[np.uint32]
    position: NDArray[np.uint32]
    live: NDArray[np.uint8]
    entry: NDArray[np.uint32]
    span: NDArray[np.uint32]
    active: NDArray[np.uint32]
    mass: NDArray[np.uint64]
    buffer: NDArray[np.uint32]
    spare: NDArray[np.uint32]
    tally: NDArray[np.uint32]
    stack: NDArray[np.uint32]
    counts: NDArray[np.float64]
    sizes: NDArray[np.int32]
    side: NDArray[np.float64]
    best: NDArray[np.float64]
    made: NDArray[np.int64]
    node_split: NDArray[np.int32]
    node_threshold: NDArray[np.float32]
    node_other: NDArray[np.int32]
    leaf_weight: NDArray[np.float32]
    leaf_size: NDArray[np.int32]
    mixed_start: NDArray[np.int64]
    mixed_class: NDArray[np.int32]
    mixed_weight: NDArray[np.float32]


def allocate(table: Table, n_classes: int) -> Scratch:
    """Allocate what growing trees on this data takes."""
    n, d = table.n_docs, table.n_features
    return Scratch(
        order=np.empty(n, np.uint32),
        position=np.empty(n, np.uint32),
        live=np.zeros(n, np.uint8),
        entry=np.empty(len(table.column_entry), np.uint32),
        span=np.zeros(2 * d, np.uint32),
        # Listing a node's words writes one place beyond the last of them.
        active=np.empty(d + 1, np.uint32),
        mass=np.empty(d, np.uint64),
        buffer=np.empty(n + 1, np.uint32),
        spare=np.empty(n, np.uint32),
        tally=np.empty(256, np.uint32),
        stack=np.empty((n + 1, 4), np.uint32),
        counts=np.zeros(n_classes),
        sizes=np.zeros(n_classes, np.int32),
        side=np.zeros(n_classes),
        best=np.zeros(6),
        made=np.zeros(3, np.int64),
        node_split=np.empty(2 * n, np.int32),
        node_threshold=np.empty(2 * n, np.float32),
        node_other=np.empty(2 * n, np.int32),
        leaf_weight=np.empty(n, np.float32),
        leaf_size=np.empty(n, np.int32),
        mixed_start=np.empty(n + 1, np.int64),
        mixed_class=np.empty(n, np.int32),
        mixed_weight=np.empty(n, np.float32),
    )


class Block(NamedTuple):
    """Some rows by columns, as the walking kernel wants them, for one thread.

    20 bytes for each feature, and up to 8 for each entry of 64 rows.
    """

    present: NDArray[np.uint64]
    start: NDArray[np.int64]
    least: NDArray[np.float32]
    feature: NDArray[np.int32]
    value: NDArray[np.float32]
    waiting: NDArray[np.uint64]
    leaf_of: NDArray[np.int64]


def allocate_block(rows: Rows, n_features: int) -> Block:
    """Allocate what asking trees about these rows takes."""
    ends = np.append(rows.indptr[:-1:BLOCK], rows.indptr[-1])
    n_entries = int(np.diff(ends).max(initial=0))
    return Block(
        present=np.zeros(n_features, np.uint64),
        start=np.empty(n_features, np.int64),
        least=np.empty(n_features, np.float32),
        feature=np.empty(min(n_entries, n_features), np.int32),
        value=np.empty(n_entries, np.float32),
        waiting=np.empty((BLOCK, 2), np.uint64),
        leaf_of=np.empty(BLOCK, np.int64),
    )
