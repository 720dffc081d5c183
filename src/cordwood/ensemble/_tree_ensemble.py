"""Base class of all tree ensembles: tree parameters, class weights, seeds and fit callbacks."""

from __future__ import annotations  # `help` shows the short names

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight

from cordwood._base.class_weight import balanced_class_weights
from cordwood._base.csr import MAX_DENSE_FEATURES, csr_arrays, take_columns
from cordwood._base.param_validation import (
    N_JOBS,
    RANDOM_STATE,
    Constraint,
    check_state,
    class_weights,
    fraction,
    integer,
    options,
    real,
)
from cordwood._base.sklearn_private import NO_TASK, CallbackSupportMixin, FitTask, with_callbacks
from cordwood._base.voting_classifier import BaseVotingClassifier
from cordwood._kernels.intrinsics import CSRArrays
from cordwood._kernels.random import MAX_SEED
from cordwood.ensemble.tree_engine.forest import Forest, freeze, number_features
from cordwood.ensemble.tree_engine.grower import TreeParams

_NO_LIMIT = 2**31 - 1

# Leaf weights are stored in single precision.
_MIN_WEIGHT, _MAX_WEIGHT = 1e-30, 1e30

# Constraints of the parameters that every tree ensemble has; lazy forests use some of them.
CRITERION = options("gini", "entropy", "log_loss")
MAX_FEATURES = options("sqrt", "log2", None) | integer(1) | fraction()


class BaseTreeEnsemble(CallbackSupportMixin, BaseVotingClassifier):
    """Base of classifiers that fit trees.

    Subclasses implement `_fit`, which decides on which samples the trees are grown, and
    `_predict_proba`, which combines their votes.
    """

    forest_: Forest

    n_estimators: int
    criterion: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: int | float | str | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    class_weight: Mapping[Any, float] | str | None

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_estimators": integer(1),
        "criterion": CRITERION,
        "max_depth": options(None) | integer(1),
        "min_samples_split": integer(2) | fraction(),
        "min_samples_leaf": integer(1) | fraction(),
        "min_weight_fraction_leaf": real("[]", 0, 0.5),
        "max_features": MAX_FEATURES,
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
        "class_weight": class_weights("balanced"),
    }

    # Whether trees draw one random threshold per feature, as in extra-trees.
    _random_splits: bool

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble to the training set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. Values are converted to float32.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A sample of weight zero is ignored. If None, all weights are one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        data = self._validate_training_set(X, y, sample_weight)
        task = FitTask.start(self, X, y, sample_weight, self._count_subtasks())
        self._fit(*data, task)
        task.end()
        return self

    @abstractmethod
    def _fit(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        y: NDArray[np.uint32],
        weights: NDArray[np.float64],
        task: FitTask = NO_TASK,
    ) -> None:
        """Fit to validated data; every tree or boosting round is a subtask of `task`."""

    def _count_subtasks(self) -> int:
        """Return the maximum number of subtasks of `fit` that callbacks will see."""
        return int(self.n_estimators)

    def _is_warm_start(self) -> bool:
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "forest_")

    def _draw_seeds(self) -> NDArray[Any]:
        """Draw two seeds per estimator: for its bootstrap sample and for its splits.

        Estimators that warm_start keeps are included, so that a continued fit has the same seeds
        as a single one.
        """
        state = check_state(self.random_state)
        return np.asarray(state.randint(MAX_SEED, size=(self.n_estimators, 2), dtype=np.int64))

    def _find_weighted(self, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the mask of samples of positive weight; validate the range of the weights."""
        is_weighted = weights > 0
        if not is_weighted.any():
            raise ValueError("class_weight is zero for every class with samples of positive weight")
        least, most = weights[is_weighted].min(), weights[is_weighted].max()
        if least < _MIN_WEIGHT or most > _MAX_WEIGHT:
            raise ValueError(
                f"sample_weight times class_weight ranges from {least:g} to {most:g}; scale it to "
                f"lie between {_MIN_WEIGHT:g} and {_MAX_WEIGHT:g}, or set smaller weights to zero"
            )
        return is_weighted

    def _tree_params(
        self, n_samples: int, n_features: int, weights: NDArray[np.float64]
    ) -> TreeParams:
        """Resolve the constructor parameters for a training set of this size."""
        # Weights up to n_samples are looked up: bootstrap counts never exceed it.
        n_logs = int(min(weights.sum(), n_samples)) + 1 if self._uses_entropy() else 0
        return TreeParams(
            entropy=self._uses_entropy(),
            random_split=self._random_splits,
            max_features=self._resolve_max_features(n_features),
            max_depth=_NO_LIMIT if self.max_depth is None else int(self.max_depth),
            min_samples_split=resolve_count(self.min_samples_split, n_samples, least=2),
            min_samples_leaf=resolve_count(self.min_samples_leaf, n_samples, least=1),
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            x_log_x=tabulate_x_log_x(n_logs),
        )

    def _uses_entropy(self) -> bool:
        return self.criterion != "gini"

    def _resolve_max_features(self, n_features: int) -> int:
        return int(resolve_max_features(self.max_features, np.array(n_features)))

    def _compute_class_weights(
        self, y: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the factor on the sample weights of each class."""
        n_classes = len(self.classes_)
        if isinstance(self.class_weight, Mapping):
            return np.asarray(
                compute_class_weight(
                    dict(self.class_weight), classes=self.classes_, y=self.classes_[y]
                )
            )
        if self.class_weight is None:
            return np.ones(n_classes)
        return balanced_class_weights(y, weights, n_classes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "forest_"):
            self.forest_ = freeze(self.forest_)  # copies of arrays can be written


def select_features(forest: Forest, X: sp.csr_matrix) -> tuple[Forest, CSRArrays]:
    """Return a forest and samples as kernels take them, which allocate memory for every feature.

    With too many features, only those that the trees split on are selected, and numbered from 0.
    """
    if X.shape[1] <= MAX_DENSE_FEATURES:
        return forest, csr_arrays(X)
    small, features = number_features(forest)
    return small, csr_arrays(take_columns(X, features))


def resolve_max_features(max_features: Any, n_features: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of features that `max_features` means, for each number of features."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        resolved: NDArray[Any] = np.sqrt(n_features)
    elif max_features == "log2":
        resolved = np.log2(np.maximum(n_features, 1))
    elif isinstance(max_features, Integral):
        resolved = np.minimum(int(max_features), n_features)
    else:
        resolved = float(max_features) * n_features
    return np.maximum(1, np.asarray(resolved).astype(np.int64))


def resolve_count(value: int | float, n_samples: int, *, least: int) -> int:
    """Return a number of samples that is given as a count or as a fraction of all samples."""
    if isinstance(value, Integral):
        return int(value)
    return max(least, int(np.ceil(value * n_samples)))


def tabulate_x_log_x(n: int) -> NDArray[np.float64]:
    """Return x * log2(x) for the integers below `n`, zero at x = 0."""
    table = np.arange(n, dtype=np.float64)
    table[1:] *= np.log2(table[1:])
    return table
