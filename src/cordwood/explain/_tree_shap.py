"""Exact Shapley values of forests, relative to a sample of zeros.

Interventional TreeSHAP with a single reference sample: a feature that is not in the coalition has
the value zero, which for texts means that the word is absent. Features that are zero in the sample
have no contribution, so only the words of a text do, and only nodes that some coalition reaches are
visited [1]_, [2]_.

References
----------
.. [1] Lundberg et al. (2020). From local explanations to global understanding with explainable AI
   for trees. doi:10.1038/s42256-019-0138-9.
.. [2] Chen, Lundberg, Lee (2022). Explaining a series of models by propagating Shapley values.
   Nature Communications 13.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._kernels.intrinsics import CSRArrays, borrow, read_only
from cordwood._kernels.jit import Float, Float64Array, Int, Record, helper, kernel
from cordwood.ensemble.tree_engine.forest import Forest

_U1 = np.uint64(1)
_NEITHER, _IN_SAMPLE, _IN_REFERENCE = np.int8(0), np.int8(1), np.int8(2)


def tree_shap(
    forest: Forest,
    X: CSRArrays,
    tree_weights: NDArray[np.float64],
    n_classes: int,
    *,
    normalize: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Shapley values of the nonzero features of one sample, and the votes of zeros.

    The votes are weighted sums of the class weights in the leaves, of which those of impure leaves
    are divided by their sum if `normalize`.
    """
    n_nonzero = len(X.indices)
    position = np.full(X.shape[1], -1, np.int32)
    position[X.indices] = np.arange(n_nonzero, dtype=np.int32)
    values, reference = np.zeros((n_nonzero, n_classes)), np.zeros(n_classes)
    add_shapley_values(
        forest,
        read_only(position),
        X.data,
        read_only(tree_weights),
        normalize,
        read_only(np.cumsum(np.log(np.maximum(np.arange(n_nonzero + 1), 1)))),
        np.zeros(n_nonzero, np.int8),
        np.empty(n_nonzero + 1, np.int32),
        np.empty((n_nonzero + 1, 2), np.int64),
        values,
        reference,
    )
    return values, reference


@helper
def shapley_weight(log_factorial: Float64Array, a: Int, b: Int) -> Float:
    """Return (a - 1)! b! / (a + b)!, or zero if a is zero."""
    # A leaf that is reached if all of a features are in the coalition and none of b others is
    # contributes this weight times its value to each of the a features.
    if a == 0:
        return 0.0
    return np.exp(log_factorial[a - 1] + log_factorial[b] - log_factorial[a + b])


@helper
def add_leaf(
    classes: NDArray[np.int32],
    weights: NDArray[np.float32],
    first: Int,
    last: Int,
    factor: np.float64,
    normalize: bool,
    row: Float64Array,
) -> None:
    """Add the class weights of an impure leaf, times a factor, to a row."""
    total = 1.0
    if normalize:
        total = 0.0
        for i in range(first, last):
            total += np.float64(weights[i])
    for i in range(first, last):
        row[classes[i]] += factor * (np.float64(weights[i]) / total)


@kernel
def add_shapley_values(
    forest: Record,
    position: NDArray[np.int32],
    data: NDArray[np.float32],
    tree_weights: Float64Array,
    normalize: bool,
    log_factorial: Float64Array,
    side: NDArray[np.int8],
    path: NDArray[np.int32],
    stack: NDArray[np.int64],
    values: Float64Array,
    reference: Float64Array,
) -> None:
    """Add the Shapley values of one sample, tree by tree, and the prediction for zeros."""
    # position is the row of a feature in data and values, -1 for a feature that is zero. Along a
    # path, side states of each feature whether the path requires it to be in the coalition, or not
    # to be; path lists the features that have a side. A path branches where the sample and the
    # zeros take different children; stack has the node and the length of path for the branch of
    # the zeros.
    forest = borrow(forest)
    n_classes = len(reference)
    start, classes, weights = forest.impure_entry_start, forest.impure_class, forest.impure_weight
    for tree in range(len(forest.node_start) - 1):
        root = forest.node_start[tree]
        first_impure = forest.impure_leaf_start[tree] - n_classes
        tree_weight = tree_weights[tree]
        node = np.uint64(root)
        length, n_stacked, n_in = 0, 0, 0
        while True:
            code = np.uint64(forest.feature_and_side[node])
            limit = forest.threshold[node]
            next_is_above = np.int64(code & _U1) == 1
            zero_is_above = np.float32(0.0) > limit
            is_above = zero_is_above
            here = position[code >> _U1]
            if here >= 0 and side[here] != _IN_REFERENCE:
                is_above = data[here] > limit
                if side[here] == _NEITHER and is_above != zero_is_above:
                    stack[n_stacked, 0] = np.int64(node)
                    stack[n_stacked, 1] = length
                    n_stacked += 1
                    side[here] = _IN_SAMPLE
                    path[length] = here
                    length += 1
                    n_in += 1
            if is_above == next_is_above:
                node += _U1
                continue
            child = np.int64(forest.far_child[node])
            if child >= 0:
                node = np.uint64(root + child)
                continue
            leaf = ~child
            n_out = length - n_in
            gain = tree_weight * shapley_weight(log_factorial, n_in, n_out)
            loss = -tree_weight * shapley_weight(log_factorial, n_out, n_in)
            for i in range(length + (n_in == 0)):
                if i == length:  # the coalition without any feature reaches this leaf
                    row, factor = reference, tree_weight
                else:
                    row = values[path[i]]
                    factor = gain if side[path[i]] == _IN_SAMPLE else loss
                if leaf < n_classes:
                    row[leaf] += factor
                else:
                    impure = first_impure + leaf
                    first, last = start[impure], start[impure + 1]
                    add_leaf(classes, weights, first, last, factor, normalize, row)
            # Continue at the last branch, on the side of the zeros.
            if n_stacked == 0:
                for i in range(length):
                    side[path[i]] = _NEITHER
                break
            n_stacked -= 1
            node, kept = np.uint64(stack[n_stacked, 0]), stack[n_stacked, 1]
            for i in range(kept, length):
                n_in -= side[path[i]] == _IN_SAMPLE
                side[path[i]] = _NEITHER
            length = kept + 1
            side[path[kept]] = _IN_REFERENCE
