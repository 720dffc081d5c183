"""What all ensembles of trees share: the trees' parameters, weights of rows, seeds."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from cordwood._base_classifier import BaseVotingClassifier
from cordwood._param_validation import check_choice, check_jobs, check_number, check_state
from cordwood._random import MAX_SEED
from cordwood.ensemble._resolve_params import balance, count_features, count_rows
from cordwood.ensemble._tree_engine.forest import Forest, check_forest
from cordwood.ensemble._tree_engine.grower import TreeParams

_NO_LIMIT = 2**31 - 1

# Trees keep their leaves' weights in single precision.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-30, 1e30


class BaseTreesClassifier(BaseVotingClassifier):
    """A classifier that grows trees; subclasses decide on which rows, and how the trees vote."""

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

    _random_cut: bool
    _class_weight_names: tuple[str | None, ...] = (None, "balanced")

    def _goes_on(self) -> bool:
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "forest_")

    def _draw_seeds(self) -> NDArray[Any]:
        """Draw for each tree a seed of its bag and one of its cuts.

        For trees that are kept, too, so that a forest continued equals one grown in one go.
        """
        state = check_state(self.random_state)
        return np.asarray(state.randint(MAX_SEED, size=(self.n_estimators, 2), dtype=np.int64))

    def _find_seen(self, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Find the rows that have a weight, and check that trees can add these up."""
        seen = weights > 0
        if not seen.any():
            raise ValueError("class_weight is zero for every class that has rows with a weight")
        least, most = weights[seen].min(), weights[seen].max()
        if least < _LEAST_WEIGHT or most > _MOST_WEIGHT:
            raise ValueError(
                f"sample_weight, times class_weight, goes from {least:g} to {most:g}; scale it to "
                f"lie between {_LEAST_WEIGHT:g} and {_MOST_WEIGHT:g}, or set what is less to zero"
            )
        return seen

    def _rules(self, n_docs: int, n_features: int, weights: NDArray[np.float64]) -> TreeParams:
        """Check the parameters and turn them into what the engine goes by."""
        check_choice("criterion", self.criterion, ("gini", "entropy", "log_loss"))
        check_number("n_estimators", self.n_estimators, 1)
        check_jobs(self.n_jobs)
        if self.max_depth is not None:
            check_number("max_depth", self.max_depth, 1)
        share = self.min_weight_fraction_leaf
        if not isinstance(share, Real) or not 0 <= share <= 0.5:
            raise ValueError(f"min_weight_fraction_leaf must be in [0, 0.5]; got {share!r}")
        # Weights up to the number of rows are looked up: with bootstrap counts, all of them are.
        n_logs = int(min(weights.sum(), n_docs)) + 1 if self._uses_entropy() else 0
        logs = np.arange(n_logs, dtype=np.float64)
        logs[1:] *= np.log2(logs[1:])
        return TreeParams(
            entropy=self._uses_entropy(),
            random_split=self._random_cut,
            max_features=self._count_features(n_features),
            max_depth=_NO_LIMIT if self.max_depth is None else int(self.max_depth),
            min_samples_split=count_rows("min_samples_split", self.min_samples_split, n_docs, 2),
            min_samples_leaf=count_rows("min_samples_leaf", self.min_samples_leaf, n_docs, 1),
            min_weight_fraction_leaf=float(self.min_weight_fraction_leaf),
            x_log_x=logs,
        )

    def _uses_entropy(self) -> bool:
        return self.criterion != "gini"

    def _count_features(self, n_features: int) -> int:
        return int(count_features(self.max_features, np.array(n_features)))

    def _class_weights(
        self, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Factors on the weights of each class's rows."""
        wanted, n_classes = self.class_weight, len(self.classes_)
        if isinstance(wanted, Mapping):
            factors = compute_class_weight(
                dict(wanted), classes=self.classes_, y=self.classes_[codes]
            )
            if not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ValueError(f"class_weight must be finite and not negative; got {wanted!r}")
            return np.asarray(factors)
        check_choice("class_weight", wanted, self._class_weight_names)
        return balance(codes, weights, n_classes) if wanted else np.ones(n_classes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "forest_"):
            # A file may come from a stranger, and kernels do not check bounds.
            self.forest_ = check_forest(self.forest_, len(self.classes_), self.n_features_in_)
