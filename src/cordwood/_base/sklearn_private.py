"""Access to scikit-learn names that are private or not present in every supported version."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import _check_sample_weight, _num_samples

try:
    from sklearn import callback
except ImportError:  # scikit-learn < 1.9
    callback = None

Method = TypeVar("Method", bound=Callable[..., Any])

BaseComposition = _BaseComposition
"""Base class that exposes the parameters of named estimators as ``name__parameter``."""

VisualBlock = _VisualBlock
"""Part of the HTML representation of an estimator."""


class NoCallbackContext:
    """Stand-in for a callback context where scikit-learn has no callbacks (before 1.9)."""

    def subcontext(self, **kwargs: Any) -> Self:
        """Return the context of a subtask."""
        return self

    def call_on_fit_task_begin(self, **kwargs: Any) -> Self:
        """Do nothing."""
        return self

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        """Return that the fit is not to be stopped."""
        return False


class NoCallbackSupport:
    """Stand-in for `CallbackSupportMixin` where scikit-learn has no callbacks (before 1.9)."""

    def _init_callback_context(self, **kwargs: Any) -> NoCallbackContext:
        return NoCallbackContext()


def _undecorated(method: Method) -> Method:
    return method


CallbackSupportMixin: Any = callback.CallbackSupportMixin if callback else NoCallbackSupport
"""Mixin of estimators that call scikit-learn's callbacks during `fit`."""

with_callbacks: Callable[[Method], Method] = callback.with_callbacks if callback else _undecorated
"""Decorator of `fit` that tears callbacks down, even if `fit` raises an exception."""


class FitTask:
    """A task of a fit (the whole fit, a tree, a boosting round), reported to the callbacks.

    It begins when it is created, and ends with `end`, or with a ``with`` statement if the estimator
    is not fitted yet. Without callbacks, nothing happens.
    """

    def __init__(self, estimator: Any, context: Any, data: dict[str, Any]) -> None:
        self._estimator = estimator
        self._context = context
        self._data = data  # that hooks may request: X, y and metadata
        context.call_on_fit_task_begin(estimator=estimator, **data)

    @classmethod
    def start(cls, estimator: Any, X: Any, y: Any, sample_weight: Any, max_subtasks: int) -> Self:
        """Begin the root task of a fit, with the maximum number of direct subtasks."""
        context = estimator._init_callback_context(max_subtasks=max_subtasks)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        return cls(estimator, context, {"X": X, "y": y, "metadata": metadata})

    @property
    def has_callbacks(self) -> bool:
        """Whether anything is called; if not, subtasks need not be reported."""
        return bool(getattr(self._estimator, "_skl_callbacks", None))

    def subtask(
        self,
        name: str,
        max_subtasks: int = 0,
        *,
        is_sequential: bool = True,
        number: int | None = None,
    ) -> "FitTask":
        """Begin the next subtask, or the one of a number if this task is not sequential."""
        context = self._context.subcontext(
            task_name=name,
            task_id=number,
            max_subtasks=max_subtasks,
            sequential_subtasks=is_sequential,
        )
        return FitTask(self._estimator, context, self._data)

    def end(self, fitted_attributes: Callable[[], dict[str, Any]] | None = dict) -> bool:
        """End the task; return whether a callback wants no further task of this level.

        `fitted_attributes` returns the attributes of the model at this point, beyond those that are
        set already; it is None if there is no model yet.
        """
        stop = self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=fitted_attributes, **self._data
        )
        return bool(stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *details: object) -> None:
        if error is None:  # `with_callbacks` tears down after an exception
            self.end(None)


NO_TASK = FitTask(None, NoCallbackContext(), {})
"""A task without callbacks."""


def num_samples(X: Any) -> int:
    """Return the number of rows of an array, sparse matrix, data frame or list."""
    return int(_num_samples(X))


def take_rows(X: Any, indices: NDArray[np.intp]) -> Any:
    """Return rows of an array, sparse matrix, data frame or list."""
    return _safe_indexing(X, indices)


def check_sample_weight(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64]:
    """Validate sample weights: one per sample, finite, non-negative, not all 0; ones if None."""
    weights = np.asarray(
        _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    )
    if not weights.any():  # accepted by scikit-learn < 1.9
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def make_tree(
    n_features: int,
    left: NDArray[np.int64],  # (n_nodes,)
    right: NDArray[np.int64],  # (n_nodes,)
    feature: NDArray[np.int64],  # (n_nodes,)
    threshold: NDArray[np.float32],  # (n_nodes,)
    impurity: NDArray[np.float64],  # (n_nodes,)
    n_node_samples: NDArray[np.int64],  # (n_nodes,)
    class_weights: NDArray[np.float64],  # (n_nodes, n_classes)
    max_depth: int,
) -> Tree:
    """Build a scikit-learn tree from arrays over its nodes, the root first; -1 is no child."""
    tree = Tree(n_features, np.array([class_weights.shape[1]], np.intp), 1)
    state = tree.__getstate__()
    nodes = np.zeros(len(left), dtype=state["nodes"].dtype)
    leaf = left < 0
    nodes["left_child"] = left
    nodes["right_child"] = right
    nodes["feature"] = np.where(leaf, -2, feature)
    nodes["threshold"] = np.where(leaf, -2.0, threshold)
    nodes["impurity"] = impurity
    nodes["n_node_samples"] = n_node_samples
    weight = class_weights.sum(axis=1)
    nodes["weighted_n_node_samples"] = weight
    state["max_depth"] = max_depth
    state["node_count"] = len(left)
    state["nodes"] = nodes
    state["values"] = np.ascontiguousarray((class_weights / weight[:, None])[:, None, :])
    tree.__setstate__(state)
    return tree
