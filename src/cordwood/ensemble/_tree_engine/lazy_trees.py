"""Votes of forests that are grown for one query each, and only along its path."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._intrinsics import read_only
from cordwood._jit import announced
from cordwood.ensemble._tree_engine.lazy_grow import fingerprint_rows
from cordwood.ensemble._tree_engine.lazy_grow import vote as vote_paths
from cordwood.ensemble._tree_engine.local_index import N_STRATA


class Rows(NamedTuple):
    """Labelled rows that forests are grown on, in CSR.

    Parameters
    ----------
    indptr, indices, data : int64, int32 and float32 arrays
    codes : uint32 array of shape (n_rows,)
        The rows' classes.
    twin : uint64 array of shape (n_rows,)
        Equal for rows that are equal.
    n_columns : int
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]
    codes: NDArray[np.uint32]
    twin: NDArray[np.uint64]
    n_columns: int


class PathRules(NamedTuple):
    """How the forests are grown.

    Parameters
    ----------
    n_trees : int
    bootstrap : bool
        Whether each tree sees as many of the neighbours as there are, drawn with replacement.
    random_cut : bool
        One random cut for each word drawn, as in extra-trees, rather than the best one.
    entropy : bool
        Entropy rather than Gini impurity.
    quota : int64 array of shape (n_columns + 1,)
        Words that a node draws, by the number of words of the neighbours and the query.
    log_factorial : float64 array of shape (n_columns + 1,)
    x_log_x : float64 array of shape (n_neighbors + 1,)
        x log2 x for small integers; empty unless `entropy`.
    """

    n_trees: int
    bootstrap: bool
    random_cut: bool
    entropy: bool
    quota: NDArray[np.int64]
    log_factorial: NDArray[np.float64]
    x_log_x: NDArray[np.float64]


class Neighborhood(NamedTuple):
    """Working arrays of one thread: the neighbours of a query, and a path through a tree of them.

    By word of the neighbourhood: `column`, `length`, `start`, `is_even`, `x`, `active`, and of
    those drawn `found`, `found_load`; by entry: `doc`, `value`; by column: `place`; by
    neighbour: `row`, `label`, `live`, `load`, `kept`, `kept_value`; by class: `class_of`, `number`,
    `origin`, `counts`, `laid`, `side`; by stratum: `border`, `alive`, `reach`.
    """

    column: NDArray[np.uint32]
    length: NDArray[np.uint32]
    start: NDArray[np.uint32]
    is_even: NDArray[np.bool_]
    x: NDArray[np.float32]
    active: NDArray[np.uint32]
    found: NDArray[np.uint32]
    found_load: NDArray[np.int64]
    doc: NDArray[np.uint16]
    value: NDArray[np.float32]
    kept: NDArray[np.uint16]
    kept_value: NDArray[np.float32]
    place: NDArray[np.int32]
    row: NDArray[np.int64]
    label: NDArray[np.uint32]
    live: NDArray[np.int64]
    load: NDArray[np.int64]
    class_of: NDArray[np.int64]
    number: NDArray[np.int64]
    origin: NDArray[np.int64]
    counts: NDArray[np.int64]
    laid: NDArray[np.int64]
    side: NDArray[np.int64]
    border: NDArray[np.int64]
    alive: NDArray[np.int64]
    reach: NDArray[np.int64]
    best: NDArray[np.float64]


def collect(X: sp.csr_matrix, codes: NDArray[np.uint32]) -> Rows:
    """Collect labelled rows: canonical CSR of float32, and their classes."""
    indptr, indices, data = (
        read_only(X.indptr.astype(np.int64)),
        read_only(X.indices),
        read_only(X.data),
    )
    twin = np.empty(X.shape[0], np.uint64)
    fingerprint_rows(indptr, indices, data, twin)
    return Rows(indptr, indices, data, read_only(codes), read_only(twin), X.shape[1])


def vote(
    rows: Rows,
    rules: PathRules,
    hood: Neighborhood,
    X: sp.csr_matrix,
    neighbors: NDArray[np.int32],
    seed: int,
    votes: NDArray[np.float64],
) -> None:
    """Let forests on the queries' neighbours vote, one forest for each query.

    Parameters
    ----------
    rows : Rows
    rules : PathRules
    hood : Neighborhood
        Room to work in, for at least as many neighbours.
    X : CSR matrix of float32 of shape (n_queries, n_columns)
    neighbors : int32 array of shape (n_queries, n_neighbors)
        Rows by number; -1 where there are no more.
    seed : int
        With a query's own values it decides on all that is random in its forest.
    votes : float64 array of shape (n_queries, n_classes)
        Zeros; receives rows that sum to one, for queries that have neighbours.
    """
    rules = rules._replace(
        quota=read_only(rules.quota),
        log_factorial=read_only(rules.log_factorial),
        x_log_x=read_only(rules.x_log_x),
    )
    queries = (read_only(X.indptr.astype(np.int64)), read_only(X.indices), read_only(X.data))
    with announced(vote_paths):
        vote_paths(rows, rules, hood, *queries, read_only(neighbors), np.int64(seed), votes)


def allocate(rows: Rows, n_classes: int, n_neighbors: int) -> Neighborhood:
    """Allocate what answering queries with so many neighbours takes."""
    lengths = np.diff(rows.indptr)
    n_entries = int(np.partition(lengths, -n_neighbors)[-n_neighbors:].sum())
    n_words = min(n_entries, rows.n_columns)
    # Lists of two take the room of three; and what is written without a branch, one place more.
    n_room, n_places = n_entries + n_entries // 2, n_words + 1
    return Neighborhood(
        column=np.empty(n_words, np.uint32),
        length=np.empty(n_words, np.uint32),
        start=np.empty(n_words + 1, np.uint32),
        is_even=np.empty(n_words, np.bool_),
        x=np.empty(n_words, np.float32),
        active=np.empty(n_words, np.uint32),
        found=np.empty(n_places, np.uint32),
        found_load=np.empty(n_places, np.int64),
        doc=np.empty(n_room, np.uint16),
        value=np.empty(n_room, np.float32),
        kept=np.empty(n_neighbors + 1, np.uint16),
        kept_value=np.empty(n_neighbors + 1, np.float32),
        place=np.full(rows.n_columns, -1, np.int32),
        row=np.empty(n_neighbors, np.int64),
        label=np.empty(n_neighbors + 1, np.uint32),
        live=np.empty(n_neighbors + 1, np.int64),
        load=np.empty(n_neighbors + 1, np.int64),
        class_of=np.empty(n_classes, np.int64),
        number=np.full(n_classes, -1, np.int64),
        origin=np.empty(n_classes + 1, np.int64),
        counts=np.empty(n_classes, np.int64),
        laid=np.empty(n_classes, np.int64),
        side=np.zeros(n_classes, np.int64),
        border=np.empty(N_STRATA + 1, np.int64),
        alive=np.empty(N_STRATA, np.int64),
        reach=np.empty(N_STRATA, np.int64),
        best=np.empty(4),
    )
