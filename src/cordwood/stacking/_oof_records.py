"""Attributes of a fitted stack that are computed from the training set of its final estimator."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cordwood.stacking._final_predictions import FinalTrainingSet, cross_fit
from cordwood.stacking._member_scores import measure_ablation
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool


class OOFRecordsMixin:
    """Out-of-fold probabilities of a stack, and the contributions of its base estimators.

    They are computed when they are first read, from what `_set_final_training_set` keeps. A model
    file does not contain the training set, so that a loaded stack has only those that were computed
    before.
    """

    passthrough: bool
    classes_: NDArray[Any]
    final_estimator_: Any
    oof_source_: dict[str, str]
    _names: list[str]
    _oof_proba: NDArray[np.float64] | None
    _ablation: dict[str, dict[str, float]] | None
    _final_training_set: FinalTrainingSet | None  # None with `passthrough`
    _get_final_estimator: Callable[[Sequence[str]], Any]

    @property
    def estimator_weights_(self) -> dict[str, float]:
        """Mean weight over the classes of each base estimator, 0.0 for pruned ones."""
        check_is_fitted(self)
        if not isinstance(self.final_estimator_, LogarithmicPool) or self.passthrough:
            raise AttributeError(
                "estimator_weights_ is defined only if the final estimator is a LogarithmicPool."
            )
        means = self.final_estimator_.coef_.mean(axis=1).tolist()
        weights = dict(zip(self._names, means, strict=True))
        return {name: weights.get(name, 0.0) for name in self.oof_source_}

    @property
    def oof_proba_(self) -> NDArray[np.float64]:
        """Out-of-fold probabilities of the whole stack."""
        check_is_fitted(self)
        if not hasattr(self, "_final_training_set"):
            raise AttributeError(
                "oof_proba_ is not available in a stack that was loaded from a model file."
            )
        return self._cross_fit_final()

    @property
    def ablation_(self) -> dict[str, dict[str, float]]:
        """Change of the scores of the stack if a base estimator is removed."""
        check_is_fitted(self)
        if self.passthrough:
            return {}
        if self._ablation is None:
            data = getattr(self, "_final_training_set", None)
            if data is None:
                raise AttributeError("ablation_ was not computed before the stack was saved.")
            self._ablation = measure_ablation(
                self._get_final_estimator, data, self._names, self.classes_
            )
        return self._ablation

    def _set_final_training_set(self, data: FinalTrainingSet) -> None:
        """Keep the training set of the final estimator, which is fitted already."""
        self._oof_proba = self._ablation = None
        self._final_training_set = data
        if self.passthrough:
            self._cross_fit_final()
            self._final_training_set = None  # in order not to keep the features

    def _cross_fit_final(self) -> NDArray[np.float64]:
        """Compute `oof_proba_`, unless it is known already."""
        if self._oof_proba is None:
            assert self._final_training_set is not None
            self._oof_proba = cross_fit(
                self.final_estimator_, self._final_training_set, self.classes_
            )
        return self._oof_proba
