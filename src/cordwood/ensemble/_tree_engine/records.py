"""The records of the tree engine: what goes into growing, and what comes out for good."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Table(NamedTuple):
    """Training data by rows and by columns, encoded for growing and shared by all threads.

    Features are numbered from the most to the least frequent, so that the columns that are read
    most lie together; the first `n_dense` are stored as whole columns, the others as lists of
    entries. An entry holds the rank of a value above `doc_bits` bits of the document's number.

    Parameters
    ----------
    row_start, row_feature, row_entry : uint32 arrays
        Each document's sparse features, and their entries without the document's number.
    column_start, column_entry : uint32 arrays
        Each sparse feature's entries, sorted by value.
    dense_entry : uint32 array of shape (n_dense, n_docs)
        Entries of the dense features, without the document's number.
    least, greatest : float32 arrays
        The range of values that share a rank, a feature's from `value_start[feature]` on.
    value_start : int64 array of shape (n_features + 1,)
    zero_rank : uint32 array of shape (n_features,)
        The rank of zero in each feature.
    twin : uint32 array of shape (n_docs,)
        Equal for documents whose rows are equal.
    column : int32 array of shape (n_features,)
        The column of the input that a feature comes from.
    log_factorial : float64 array of shape (n_features + 1,)
    doc_bits, doc_mask : uint32
    n_dense, n_used, n_features : int
        Features stored densely, features with any entry at all, and columns of the input.
    """

    row_start: NDArray[np.uint32]
    row_feature: NDArray[np.uint32]
    row_entry: NDArray[np.uint32]
    column_start: NDArray[np.uint32]
    column_entry: NDArray[np.uint32]
    dense_entry: NDArray[np.uint32]
    least: NDArray[np.float32]
    greatest: NDArray[np.float32]
    value_start: NDArray[np.int64]
    zero_rank: NDArray[np.uint32]
    twin: NDArray[np.uint32]
    column: NDArray[np.int32]
    log_factorial: NDArray[np.float64]
    doc_bits: np.uint32
    doc_mask: np.uint32
    n_dense: int
    n_used: int
    n_features: int

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.twin)


class Rows(NamedTuple):
    """Rows that are asked about: the arrays of a CSR matrix, read-only.

    Parameters
    ----------
    indptr : int64 array of shape (n_rows + 1,)
    indices : int32 array
    data : float32 array
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]


class Rules(NamedTuple):
    """How trees are grown; names and meanings are those of scikit-learn's forests.

    Parameters
    ----------
    entropy : bool
        Entropy rather than Gini impurity.
    random_cut : bool
        One random cut for each feature drawn, as in extra-trees, rather than the best one.
    max_features, max_depth, min_samples_split, min_samples_leaf : int
    min_weight_share : float
        Share of the tree's weight that a leaf must have.
    x_log_x : float64 array
        x log2 x for small integers; empty unless `entropy`.
    """

    entropy: bool
    random_cut: bool
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_share: float
    x_log_x: NDArray[np.float64]


# Types of a forest's `split` and `other`.
NARROW: tuple[type, type] = (np.uint16, np.int16)
WIDE: tuple[type, type] = (np.uint32, np.int32)


class Forest(NamedTuple):
    """Grown trees, one behind the other in flat arrays that never change.

    A node is eight bytes, or twelve in a wide forest: see `split`. Its larger child stands right
    behind it; the other one is found through `other`. A leaf is known by the one node that refers
    to it in `other`, and one that is not the larger child needs no node of its own.

    Parameters
    ----------
    node_start, leaf_start, mixed_first : int64 arrays of shape (n_trees + 1,)
        Where each tree's nodes, leaves and mixed leaves begin. Leaves are in the order of the nodes
        that refer to them.
    split : uint16 or uint32 array of shape (n_nodes,)
        Twice the feature, plus one where the next node is for values above the threshold. In
        16 bits, and `other` too, if that is enough for all trees; else the forest is wide.
    threshold : float32 array of shape (n_nodes,)
        Minus infinity at a node that is a leaf: no value is left for a next node.
    other : int16 or int32 array of shape (n_nodes,)
        The child that is not next, counted from the tree's first node; or the complement of a
        leaf's code. This is its only class; or, from n_classes on, the number of a mixed leaf,
        counted from the tree's first.
    leaf_weight : float32 array, leaf_size : int32 array, of shape (n_leaves,)
        The census: weight and number of the training documents in a leaf. Both are empty in a
        forest that goes without.
    mixed_start : int64 array of shape (n_mixed + 1,)
    mixed_class, mixed_weight : int32 and float32 arrays
        The classes of each mixed leaf and their weights.
    """

    node_start: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    mixed_first: NDArray[np.int64]
    split: NDArray[np.uint16] | NDArray[np.uint32]
    threshold: NDArray[np.float32]
    other: NDArray[np.int16] | NDArray[np.int32]
    leaf_weight: NDArray[np.float32]
    leaf_size: NDArray[np.int32]
    mixed_start: NDArray[np.int64]
    mixed_class: NDArray[np.int32]
    mixed_weight: NDArray[np.float32]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.node_start) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaf_start[-1])

    @property
    def is_wide(self) -> bool:
        """Whether 32 bits are taken where 16 are not enough."""
        return self.split.dtype == WIDE[0]

    @property
    def has_census(self) -> bool:
        """Whether weights and numbers of documents are known."""
        return len(self.leaf_size) == self.n_leaves
