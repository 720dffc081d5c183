"""Decisions about predictions: prediction sets, undecided samples and unknown samples."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cordwood.confidence.conformal import ConformalCalibration, calibrate_sets, check_coverage
from cordwood.confidence.out_of_scope import get_scope, scope_p_values
from cordwood.confidence.selective import ConfidenceThreshold, choose_confidence
from cordwood.exceptions import DataError
from cordwood.metrics.predictions import Predictions


@dataclass(frozen=True, kw_only=True)
class DecisionRule:
    """Which labels are possible, and which samples are left undecided or unknown.

    Made by `make_decision_rule`.

    Parameters
    ----------
    coverage : float or None, default=None
        Probability that a prediction set contains the true label.
    calibration : ConformalCalibration or None, default=None
        Determines the prediction sets.
    min_confidence : float or None, default=None
        Lowest probability of a label at which a sample is decided.
    threshold : ConfidenceThreshold or None, default=None
        How `min_confidence` was chosen, if it was chosen by an error rate.
    unknown : float or None, default=None
        Share of the samples like the training samples that may be lost as unknown.
    """

    coverage: float | None = None
    calibration: ConformalCalibration | None = None
    min_confidence: float | None = None
    threshold: ConfidenceThreshold | None = None
    unknown: float | None = None

    def apply(self, model: Any, X: Any, predictions: Predictions) -> Predictions:
        """Add the decisions to predictions.

        Parameters
        ----------
        model : fitted classifier
            The model for which the rule was made.
        X : sequence of str, array or sparse matrix of length n_samples
            Samples.
        predictions : Predictions
            Their predictions by the model.

        Returns
        -------
        Predictions
            With `sets`, `is_decided` and `is_in_scope`, as far as the rule defines them.
        """
        found: dict[str, Any] = {}
        proba = np.asarray(predictions.probabilities, np.float64)
        if self.calibration is not None and self.coverage is not None:
            found["sets"] = self.calibration.predict_set(proba, self.coverage)
        if self.min_confidence is not None:
            found["is_decided"] = predictions.confidence >= self.min_confidence
        if self.unknown is not None:
            found["is_in_scope"] = scope_p_values(model, X, proba) > self.unknown
        return replace(predictions, **found)


def make_decision_rule(
    model: Any,
    *,
    coverage: float | None = None,
    class_conditional: bool = False,
    min_confidence: float | None = None,
    max_error: float | None = None,
    unknown: float | None = None,
) -> DecisionRule:
    """Make a rule for the predictions of a model from its out-of-fold predictions.

    Parameters
    ----------
    model : fitted classifier
        Model with the attributes `oof_` and `scope_`, which `cordwood.train` sets.
    coverage : float, optional
        Probability that the prediction set of a sample contains its label; see `calibrate_sets`.
    class_conditional : bool, default=False
        Whether the coverage holds for each class instead of all samples.
    min_confidence : float, optional
        Lowest probability of a label at which a sample is decided.
    max_error : float, optional
        Largest error rate of the decided samples, from which `min_confidence` is chosen; see
        `choose_confidence`.
    unknown : float, optional
        Share of the samples like the training samples that may be lost as unknown, such as 0.02;
        see `scope_p_values`.

    Returns
    -------
    DecisionRule

    Raises
    ------
    ValueError
        If an argument is not valid.
    DataError
        If the model has no out-of-fold predictions, or no confidence has an error rate of
        `max_error`.

    See Also
    --------
    cordwood.predict : Accepts the same arguments.
    """
    if min_confidence is not None and max_error is not None:
        raise ValueError("min_confidence and max_error are alternatives; omit one of them")
    if class_conditional and coverage is None:
        raise ValueError("class_conditional requires coverage; set coverage, such as 0.95")
    for name, value in (("min_confidence", min_confidence), ("unknown", unknown)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} must be between 0 and 1; got {value!r}")
    calibration = threshold = None
    if coverage is not None:
        check_coverage(coverage)
        oof = _get_oof(model, "coverage")
        calibration = calibrate_sets(oof.proba, oof.y, class_conditional=class_conditional)
    if max_error is not None:
        oof = _get_oof(model, "max_error")
        threshold = choose_confidence(oof.proba, oof.y, max_error)
        min_confidence = threshold.confidence
    if unknown is not None:
        get_scope(model)
    return DecisionRule(
        coverage=coverage,
        calibration=calibration,
        min_confidence=min_confidence,
        threshold=threshold,
        unknown=unknown,
    )


def _get_oof(model: Any, option: str) -> Any:
    oof = getattr(model, "oof_", None)
    if oof is None:
        raise DataError(
            f"{option} requires out-of-fold predictions, which the model does not contain; train "
            "it with oof=True, on the command line without --no-scores"
        )
    return oof
