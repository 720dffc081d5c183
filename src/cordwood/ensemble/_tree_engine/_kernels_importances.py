"""What the training documents of each node were, added up from its leaves."""

import numpy as np
from numpy.typing import NDArray

from cordwood._intrinsics import borrow
from cordwood._jit import Float, Floats, Int, Record, kernel, piece


@kernel
def total_nodes(forest: Record, tree: Int, counts: Floats, sizes: NDArray[np.int64]) -> None:
    """Sum class weights and numbers of documents for one tree's nodes, children before parents.

    The inputs are zeros, with a row for each node and behind them one for each leaf.
    """
    forest = borrow(forest)
    n_classes = counts.shape[1]
    first, leaf = forest.node_start[tree], forest.leaf_start[tree + 1]
    n_nodes = forest.node_start[tree + 1] - first
    row_of_leaf = n_nodes - forest.leaf_start[tree]
    for node in range(n_nodes - 1, -1, -1):
        row = np.int64(forest.other[first + node])
        if row < 0:
            code = ~row
            leaf -= 1
            row = row_of_leaf + leaf
            sizes[row] = forest.leaf_size[leaf]
            if code < n_classes:
                counts[row, code] = forest.leaf_weight[leaf]
            else:
                mixed = forest.mixed_first[tree] + code - n_classes
                for i in range(forest.mixed_start[mixed], forest.mixed_start[mixed + 1]):
                    counts[row, forest.mixed_class[i]] = forest.mixed_weight[i]
        counts[node] += counts[row]
        sizes[node] += sizes[row]
        if forest.threshold[first + node] > -np.inf:
            counts[node] += counts[node + 1]
            sizes[node] += sizes[node + 1]


@kernel
def add_gains(forest: Record, tree: Int, n_classes: Int, entropy: bool, gains: Floats) -> None:
    """Add to each feature by how much the nodes of one tree that ask for it decrease impurity.

    A node takes over the class weights of the next one, and adds those of the other child to them:
    mostly of a single class.
    """
    forest = borrow(forest)
    first, last = forest.node_start[tree], forest.node_start[tree + 1]
    leaf = forest.leaf_start[tree + 1]
    start, classes, weights = forest.mixed_start, forest.mixed_class, forest.mixed_weight
    n_ends = 0
    for node in range(first, last):
        n_ends += forest.threshold[node] == -np.inf
    counts = np.zeros((n_ends, n_classes))
    row_of = np.empty(last - first, np.int64)
    row = -1
    # Of the node: its weight, the sum of its classes' terms, and what remains of the two.
    total, terms, impurity = 0.0, 0.0, 0.0
    for node in range(last - 1, first - 1, -1):
        is_end = forest.threshold[node] == -np.inf
        if is_end:
            row += 1
            total, terms, impurity = 0.0, 0.0, 0.0
        row_of[node - first] = row
        own = counts[row]
        before = impurity
        aside_total, aside_terms = 0.0, 0.0
        other = np.int64(forest.other[node])
        leaf -= other < 0
        if other < 0 and ~other < n_classes:
            aside_total = np.float64(forest.leaf_weight[leaf])
            aside_terms = term(entropy, aside_total)
            terms += move(entropy, own, ~other, aside_total)
        elif other < 0:
            mixed = forest.mixed_first[tree] + ~other - n_classes
            for i in range(start[mixed], start[mixed + 1]):
                weight = np.float64(weights[i])
                aside_total += weight
                aside_terms += term(entropy, weight)
                terms += move(entropy, own, classes[i], weight)
        else:
            for label in range(n_classes):
                weight = counts[row_of[other], label]
                aside_total += weight
                aside_terms += term(entropy, weight)
                terms += move(entropy, own, label, weight)
        total += aside_total
        impurity = weigh_impurity(entropy, total, terms)
        if not is_end:
            aside = weigh_impurity(entropy, aside_total, aside_terms)
            gains[forest.split[node] >> 1] += impurity - before - aside


@piece
def term(entropy: bool, weight: Float) -> Float:
    """Give what a class of a weight adds to what impurity is made of."""
    if entropy:
        return weight * np.log2(weight) if weight > 0.0 else 0.0
    return weight * weight


@piece
def move(entropy: bool, counts: Floats, label: Int, weight: Float) -> Float:
    """Add a weight to a class; returns what this adds to the sum of terms."""
    if weight == 0.0:
        return 0.0
    before = term(entropy, counts[label])
    counts[label] += weight
    return term(entropy, counts[label]) - before


@piece
def weigh_impurity(entropy: bool, total: Float, terms: Float) -> Float:
    """Give the impurity of documents of a total weight, times this weight."""
    return term(entropy, total) - terms if entropy else total - terms / total
