"""The only door to scikit-learn's private names."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import _check_sample_weight

BaseComposition = _BaseComposition
"""Gives an ensemble the parameters of its named members: ``name__parameter``."""


def take_rows(X: Any, places: NDArray[np.intp]) -> Any:
    """Take some rows of whatever rows come in: arrays, matrices, data frames, lists of texts."""
    return _safe_indexing(X, places)


def check_sample_weight(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64]:
    """Check weights of rows: one for each, finite, none negative; ones where there are none."""
    return np.asarray(
        _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    )


def make_tree(
    n_features: int,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    feature: NDArray[np.int64],
    threshold: NDArray[np.float32],
    impurity: NDArray[np.float64],
    sizes: NDArray[np.int64],
    counts: NDArray[np.float64],
    max_depth: int,
) -> Tree:
    """Build a scikit-learn tree from arrays over its nodes, the root first."""
    tree = Tree(n_features, np.array([counts.shape[1]], np.intp), 1)
    state = tree.__getstate__()
    nodes = np.zeros(len(left), dtype=state["nodes"].dtype)
    leaf = left < 0
    nodes["left_child"] = left
    nodes["right_child"] = right
    nodes["feature"] = np.where(leaf, -2, feature)
    nodes["threshold"] = np.where(leaf, -2.0, threshold)
    nodes["impurity"] = impurity
    nodes["n_node_samples"] = sizes
    weight = counts.sum(axis=1)
    nodes["weighted_n_node_samples"] = weight
    state["max_depth"] = max_depth
    state["node_count"] = len(left)
    state["nodes"] = nodes
    state["values"] = np.ascontiguousarray((counts / weight[:, None])[:, None, :])
    tree.__setstate__(state)
    return tree


try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin, which is missing before version 1.9."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


try:
    from sklearn.utils._repr_html.estimator import _VisualBlock
except ImportError:  # scikit-learn < 1.7
    from sklearn.utils._estimator_html_repr import _VisualBlock

VisualBlock = _VisualBlock
"""Part of the HTML representation of an estimator."""
