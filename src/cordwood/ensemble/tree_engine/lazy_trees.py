"""Votes of lazy forests: one forest per query, grown on its neighbors along the query's path."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSRArrays, read_only
from cordwood.ensemble.tree_engine.lazy_grow import fingerprint_rows, vote_queries
from cordwood.ensemble.tree_engine.local_index import N_STRATA


class LabelledCSR(NamedTuple):
    """Labelled training samples, as the arrays of a canonical CSR matrix."""

    indptr: NDArray[np.int64]  # (n_samples + 1,)
    indices: NDArray[np.int32]  # (n_entries,)
    data: NDArray[np.float32]  # (n_entries,)
    y: NDArray[np.uint32]  # (n_samples,): encoded classes
    # (n_samples,): equal for samples that are duplicates of each other.
    duplicate_id: NDArray[np.uint64]
    n_features: int


class LazyTreeParams(NamedTuple):
    """Parameters of lazy forests."""

    n_trees: int
    bootstrap: bool  # whether each tree is grown on a bootstrap sample of the neighbors
    # Whether one random split is scored per feature, as in extra-trees, instead of all splits.
    random_split: bool
    entropy: bool  # whether impurity is entropy rather than Gini impurity
    # (n_features + 1,): number of features drawn at each node, indexed by the number of features
    # that are nonzero in the neighbors or in the query.
    max_features: NDArray[np.int64]
    log_factorial: NDArray[np.float64]  # (n_features + 1,)
    # (n_neighbors + 1,): x log2 x of small integers; empty unless `entropy`.
    x_log_x: NDArray[np.float64]


class LazyWorkspace(NamedTuple):
    """Working arrays of one thread: the neighbors of a query, and a path through a tree."""

    # By local feature, a column that is nonzero in any neighbor.
    column: NDArray[np.uint32]  # of the input
    length: NDArray[np.uint32]  # of the posting list
    start: NDArray[np.uint32]
    is_single_valued: NDArray[np.bool_]
    query_value: NDArray[np.float32]
    active: NDArray[np.uint32]  # features that are not known to be constant
    candidate: NDArray[np.uint32]  # features that were drawn and can be split
    candidate_weight: NDArray[np.int64]
    # By entry of the posting lists.
    sample: NDArray[np.uint16]  # a neighbor
    value: NDArray[np.float32]
    # By neighbor: the entries of one list that are in the node.
    node_sample: NDArray[np.uint16]
    node_value: NDArray[np.float32]
    # By column of the input.
    local_feature: NDArray[np.int32]  # -1 between queries
    # By neighbor.
    train_index: NDArray[np.int64]
    label: NDArray[np.uint32]
    weight: NDArray[np.int64]  # in the current node
    packed_weight: NDArray[np.int64]  # see `lazy_splits`
    # By class of the neighbors, but `class_number` by class of the training set.
    class_code: NDArray[np.int64]  # in the training set
    class_number: NDArray[np.int64]
    class_start: NDArray[np.int64]  # of its neighbors
    class_weights: NDArray[np.int64]  # of the current node
    packed_for: NDArray[np.int64]  # the class weights that `packed_weight` was computed for
    side_weights: NDArray[np.int64]
    # By stratum.
    stratum_start: NDArray[np.int64]
    n_active: NDArray[np.int64]
    max_length: NDArray[np.int64]  # of the lists
    best: NDArray[np.float64]  # the best split so far


def label_rows(X: CSRArrays, y: NDArray[np.uint32]) -> LabelledCSR:
    """Combine training samples with their classes and ids of duplicates."""
    duplicate_id = np.empty(X.shape[0], np.uint64)
    fingerprint_rows(X.indptr, X.indices, X.data, duplicate_id)
    return LabelledCSR(
        X.indptr, X.indices, X.data, read_only(y), read_only(duplicate_id), X.shape[1]
    )


def lazy_vote(
    train: LabelledCSR,
    params: LazyTreeParams,
    workspace: LazyWorkspace,
    X: CSRArrays,  # (n_queries, n_features)
    neighbors: NDArray[np.int32],  # (n_queries, n_neighbors)
    seed: int,
    votes: NDArray[np.float64],  # (n_queries, n_classes)
) -> None:
    """Write the class frequencies of one forest per query, grown on its neighbors, to `votes`."""
    # Neighbors are -1 after the last. The seed and a query's own values determine its forest. Votes
    # are zero on entry, and stay zero for queries without neighbors.
    params = params._replace(
        max_features=read_only(params.max_features),
        log_factorial=read_only(params.log_factorial),
        x_log_x=read_only(params.x_log_x),
    )
    vote_queries(
        train,
        params,
        workspace,
        X.indptr,
        X.indices,
        X.data,
        read_only(neighbors),
        np.int64(seed),
        votes,
    )


def allocate_lazy_workspace(train: LabelledCSR, n_classes: int, n_neighbors: int) -> LazyWorkspace:
    """Allocate the workspace of one thread for queries with up to `n_neighbors` neighbors."""
    lengths = np.diff(train.indptr)
    n_entries = int(np.partition(lengths, -n_neighbors)[-n_neighbors:].sum())
    n_features = min(n_entries, train.n_features)
    # Lists of two are padded to three; branchless loops write one entry beyond the last.
    n_padded, n_candidates = n_entries + n_entries // 2, n_features + 1
    return LazyWorkspace(
        column=np.empty(n_features, np.uint32),
        length=np.empty(n_features, np.uint32),
        start=np.empty(n_features + 1, np.uint32),
        is_single_valued=np.empty(n_features, np.bool_),
        query_value=np.empty(n_features, np.float32),
        active=np.empty(n_features, np.uint32),
        candidate=np.empty(n_candidates, np.uint32),
        candidate_weight=np.empty(n_candidates, np.int64),
        sample=np.empty(n_padded, np.uint16),
        value=np.empty(n_padded, np.float32),
        node_sample=np.empty(n_neighbors + 1, np.uint16),
        node_value=np.empty(n_neighbors + 1, np.float32),
        local_feature=np.full(train.n_features, -1, np.int32),
        train_index=np.empty(n_neighbors, np.int64),
        label=np.empty(n_neighbors + 1, np.uint32),
        weight=np.empty(n_neighbors + 1, np.int64),
        packed_weight=np.empty(n_neighbors + 1, np.int64),
        class_code=np.empty(n_classes, np.int64),
        class_number=np.full(n_classes, -1, np.int64),
        class_start=np.empty(n_classes + 1, np.int64),
        class_weights=np.empty(n_classes, np.int64),
        packed_for=np.empty(n_classes, np.int64),
        side_weights=np.zeros(n_classes, np.int64),
        stratum_start=np.empty(N_STRATA + 1, np.int64),
        n_active=np.empty(N_STRATA, np.int64),
        max_length=np.empty(N_STRATA, np.int64),
        best=np.empty(4),
    )
