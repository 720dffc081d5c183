"""Votes of lazy forests: one forest per query, grown on its neighbors along the query's path."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSRArrays, read_only
from cordwood.ensemble._tree_engine.lazy_grow import fingerprint_rows, vote_queries
from cordwood.ensemble._tree_engine.local_index import N_STRATA


class LabelledCSR(NamedTuple):
    """Labelled training samples, as the arrays of a canonical CSR matrix.

    Parameters
    ----------
    indptr : int64 array of shape (n_samples + 1,)
    indices : int32 array of shape (n_entries,)
    data : float32 array of shape (n_entries,)
    y : uint32 array of shape (n_samples,)
        Encoded classes.
    duplicate_id : uint64 array of shape (n_samples,)
        Equal for samples that are duplicates of each other.
    n_features : int
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]
    y: NDArray[np.uint32]
    duplicate_id: NDArray[np.uint64]
    n_features: int


class LazyTreeParams(NamedTuple):
    """Parameters of lazy forests.

    Parameters
    ----------
    n_trees : int
    bootstrap : bool
        Whether each tree is grown on a bootstrap sample of the neighbors.
    random_split : bool
        Whether one random split is scored per feature, as in extra-trees, instead of all splits.
    entropy : bool
        Whether impurity is entropy rather than Gini impurity.
    max_features : int64 array of shape (n_features + 1,)
        Number of features drawn at each node, indexed by the number of features that are nonzero
        in the neighbors or in the query.
    log_factorial : float64 array of shape (n_features + 1,)
    x_log_x : float64 array of shape (n_neighbors + 1,)
        x log2 x of small integers; empty unless `entropy`.
    """

    n_trees: int
    bootstrap: bool
    random_split: bool
    entropy: bool
    max_features: NDArray[np.int64]
    log_factorial: NDArray[np.float64]
    x_log_x: NDArray[np.float64]


class LazyWorkspace(NamedTuple):
    """Working arrays of one thread: the neighbors of a query, and a path through a tree.

    Arrays by local feature (a column that is nonzero in any neighbor):
        `column` of the input, `length` and `start` of its posting list, `is_single_valued`,
        `query_value`; `active` features that are not known to be constant; `candidate` features
        that were drawn and can be split, with `candidate_weight`.
    By entry of the posting lists:
        `sample` (a neighbor) and `value`.
    By column of the input:
        `local_feature`, -1 between queries.
    By neighbor:
        `train_index`, `label`, `weight` in the current node, `packed_weight` (see `lazy_splits`);
        `node_sample` and `node_value` are entries of one list that are in the node.
    By class of the neighbors:
        `class_code` in the training set, `class_start` of its neighbors, `class_weights` of the
        current node, `packed_for`: the class weights that `packed_weight` was computed for,
        `side_weights`; `class_number` is indexed by the class in the training set.
    By stratum:
        `stratum_start`, `n_active` features, `max_length` of the lists.
    """

    column: NDArray[np.uint32]
    length: NDArray[np.uint32]
    start: NDArray[np.uint32]
    is_single_valued: NDArray[np.bool_]
    query_value: NDArray[np.float32]
    active: NDArray[np.uint32]
    candidate: NDArray[np.uint32]
    candidate_weight: NDArray[np.int64]
    sample: NDArray[np.uint16]
    value: NDArray[np.float32]
    node_sample: NDArray[np.uint16]
    node_value: NDArray[np.float32]
    local_feature: NDArray[np.int32]
    train_index: NDArray[np.int64]
    label: NDArray[np.uint32]
    weight: NDArray[np.int64]
    packed_weight: NDArray[np.int64]
    class_code: NDArray[np.int64]
    class_number: NDArray[np.int64]
    class_start: NDArray[np.int64]
    class_weights: NDArray[np.int64]
    packed_for: NDArray[np.int64]
    side_weights: NDArray[np.int64]
    stratum_start: NDArray[np.int64]
    n_active: NDArray[np.int64]
    max_length: NDArray[np.int64]
    best: NDArray[np.float64]


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
    X: CSRArrays,
    neighbors: NDArray[np.int32],
    seed: int,
    votes: NDArray[np.float64],
) -> None:
    """Write the votes of one forest per query, grown on the query's neighbors.

    Parameters
    ----------
    train : LabelledCSR
    params : LazyTreeParams
    workspace : LazyWorkspace
        Allocated for at least as many neighbors.
    X : CSRArrays of shape (n_queries, n_features)
    neighbors : int32 array of shape (n_queries, n_neighbors)
        Indices of training samples; -1 after the last neighbor.
    seed : int
        Together with a query's own values it determines the randomness of the query's forest.
    votes : float64 array of shape (n_queries, n_classes)
        Zeros on entry; receives class frequencies, which sum to one for queries with neighbors.
    """
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
