"""What the training documents of each node were, added up from its leaves."""

import numpy as np
from numpy.typing import NDArray

from cordwood.kernels.jit import kernel
from cordwood.kernels.types import Floats, Int, Record


@kernel
def total_nodes(forest: Record, tree: Int, counts: Floats, sizes: NDArray[np.int64]) -> None:
    """Sum class weights and numbers of documents for one tree's nodes, children before parents.

    The inputs are zeros, with a row for each node and behind them one for each leaf.
    """
    first, n_nodes = forest.node_start[tree], len(counts)
    first_leaf = forest.leaf_start[tree]
    n_leaves = forest.leaf_start[tree + 1] - first_leaf
    n_nodes -= n_leaves
    for leaf in range(n_leaves):
        label = forest.leaf_class[first_leaf + leaf]
        sizes[n_nodes + leaf] = forest.leaf_size[first_leaf + leaf]
        if label >= 0:
            counts[n_nodes + leaf, label] = forest.leaf_weight[first_leaf + leaf]
        else:
            for i in range(forest.mixed_start[~label], forest.mixed_start[~label + 1]):
                counts[n_nodes + leaf, forest.mixed_class[i]] = forest.mixed_weight[i]
    for node in range(n_nodes - 1, -1, -1):
        other = forest.other[first + node]
        row = other if other >= 0 else n_nodes + ~other
        counts[node] += counts[row]
        sizes[node] += sizes[row]
        if forest.split[first + node] >= 0:
            counts[node] += counts[node + 1]
            sizes[node] += sizes[node + 1]
