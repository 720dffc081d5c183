"""Rules for predictions: prediction sets, undecided samples and unknown samples."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._view import ModelView
from cordwood.confidence.conformal import ConformalCalibration, calibrate_sets, check_coverage
from cordwood.confidence.scope import ScopeReference, scope_p_values
from cordwood.confidence.selective import ConfidenceThreshold, choose_confidence
from cordwood.exceptions import DataError
from cordwood.metrics.predictions import Predictions
from cordwood.oof.records import OOFPredictions

_NO_OOF = (
    "requires out-of-fold predictions of the training samples, which the model does not contain; "
    "train it with oof=True on labelled samples, on the command line without --no-scores"
)


@dataclass(frozen=True, kw_only=True)
class ConfidenceRule:
    """Which labels are possible, and which samples are left undecided or unknown."""

    coverage: float | None = None
    calibration: ConformalCalibration | None = None
    min_confidence: float | None = None
    threshold: ConfidenceThreshold | None = None  # how min_confidence was chosen by an error rate
    unknown: float | None = None
    scope: ScopeReference | None = None

    def apply(self, view: ModelView, X: Any, predictions: Predictions) -> Predictions:
        """Add `sets`, `is_decided` and `is_in_scope` to predictions, as far as they are wanted."""
        found: dict[str, Any] = {}
        proba = np.asarray(predictions.proba, np.float64)
        if self.calibration is not None and self.coverage is not None:
            found["sets"] = self.calibration.predict_set(proba, self.coverage)
        if self.min_confidence is not None:
            found["is_decided"] = predictions.confidence >= self.min_confidence
        if self.scope is not None and self.unknown is not None:
            found["is_in_scope"] = scope_p_values(self.scope, view, X, proba) > self.unknown
        return replace(predictions, **found)


def make_rule(
    oof: OOFPredictions | None,
    predicted: NDArray[np.intp] | None,
    scope: ScopeReference | None,
    *,
    is_multilabel: bool,
    coverage: float | None = None,
    class_conditional: bool = False,
    min_confidence: float | None = None,
    max_error: float | None = None,
    unknown: float | None = None,
) -> ConfidenceRule:
    """Make the rule of a model from its out-of-fold predictions.

    `predicted` are the classes that the model decides for these; they need not be the most
    probable ones.
    """
    if min_confidence is not None and max_error is not None:
        raise ValueError("min_confidence and max_error are alternatives; omit one of them")
    if class_conditional and coverage is None:
        raise ValueError("class_conditional requires coverage; set coverage, such as 0.95")
    for name, value in (("min_confidence", min_confidence), ("unknown", unknown)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} must be between 0 and 1; got {value!r}")
    given = {"coverage": coverage, "min_confidence": min_confidence, "max_error": max_error}
    for name, value in given.items() if is_multilabel else ():
        if value is not None:
            raise DataError(
                f"{name} requires one label per sample; of several labels, each has a threshold of "
                "its own"
            )
    calibration = threshold = None
    if coverage is not None:
        check_coverage(coverage)
        if oof is None:
            raise DataError(f"coverage {_NO_OOF}")
        calibration = calibrate_sets(oof.proba, oof.y, class_conditional=class_conditional)
    if max_error is not None:
        if oof is None:
            raise DataError(f"max_error {_NO_OOF}")
        threshold = choose_confidence(oof.proba, oof.y, max_error, predicted=predicted)
        min_confidence = threshold.confidence
    if unknown is not None and scope is None:
        raise DataError(f"unknown {_NO_OOF}")
    return ConfidenceRule(
        coverage=coverage,
        calibration=calibration,
        min_confidence=min_confidence,
        threshold=threshold,
        unknown=unknown,
        scope=scope,
    )
