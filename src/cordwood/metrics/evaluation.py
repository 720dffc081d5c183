"""Scores of a model estimated from its training data, with confidence intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.sklearn_private import num_samples
from cordwood.metrics.baselines import MAJORITY, predict_linear, predict_majority
from cordwood.metrics.oof_evaluation import ClassEvaluation, OOFEvaluation, ScoreInterval, Scores
from cordwood.metrics.resampled_scores import (
    ResampledScores,
    compute_scores,
    resample_scores,
)
from cordwood.oof.records import OOFPredictions

__all__ = ["ClassEvaluation", "OOFEvaluation", "ScoreInterval", "Scores", "oof_evaluation"]


def oof_evaluation(
    model: Any,
    X: Any = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> OOFEvaluation:
    """Estimate the scores of a model on new samples from its training data.

    Parameters
    ----------
    model : Pipeline or OOFPredictions
        Model that was trained by `cordwood.train` and has out-of-fold predictions `oof_`, or the
        result of `compute_oof`.
    X : sequence of str, array or sparse matrix of length n_samples, default=None
        The training samples, for two baselines: the majority class, and scikit-learn's `LinearSVC`
        on TF-IDF in a 5-fold cross-validation. By default there are no baselines.
    confidence_level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=1000
        Number of bootstrap resamples.
    random_state : int, default=0
        Seed of the resamples, and of the folds of the baseline.

    Returns
    -------
    OOFEvaluation

    See Also
    --------
    compute_oof : Out-of-fold predictions of any classifier.
    cordwood.evaluate : Scores on other samples.

    Notes
    -----
    The intervals are percentiles of bootstrap resamples of the samples, or of the groups if there
    are any [1]_. They cover the score on an infinitely large test set; the score on a small test
    set varies more. If all predictions are correct, or all of a class wrong, all resamples are
    equal, and the limit is that of Clopper and Pearson.

    The expected calibration error is the mean absolute difference of accuracy and confidence in 15
    bins [2]_ of equally many samples [3]_. The error of resamples is larger than that of the
    samples, because of their noise; the interval is shifted by the mean difference.

    References
    ----------
    .. [1] Efron, Tibshirani (1993). An introduction to the bootstrap. Chapman & Hall.
    .. [2] Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.
    .. [3] Nguyen, O'Connor (2015). Posterior calibration and exploratory analysis for natural
       language processing models. EMNLP.

    Examples
    --------
    >>> from cordwood.oof import compute_oof
    >>> from cordwood import RandomForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> oof = compute_oof(RandomForestClassifier(random_state=0), X, y)
    >>> evaluation = oof_evaluation(oof)
    >>> print(evaluation.scores.accuracy)
    0.953 (0.913 to 0.987)
    """
    oof = model if isinstance(model, OOFPredictions) else getattr(model, "oof_", None)
    if oof is None:
        raise ValueError(
            "The model has no out-of-fold predictions; train it by cordwood.train(..., oof=True), "
            "or pass the result of cordwood.oof.compute_oof."
        )
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must be between 0 and 1; got {confidence_level!r}.")
    baselines: dict[str, NDArray[np.float64]] = {}
    if X is not None:
        if (n_given := num_samples(X)) != len(oof):
            raise ValueError(
                f"X has {n_given} samples, but the model was trained on {len(oof)}; pass the "
                "training samples in the same order."
            )
        baselines = {**predict_linear(X, oof, random_state), MAJORITY: predict_majority(oof)}

    n_groups = None if oof.groups is None else len(np.unique(oof.groups))

    def evaluate(proba: NDArray[np.float64]) -> tuple[Scores, list[ScoreInterval]]:
        rng = np.random.default_rng(random_state)
        resampled = resample_scores(proba, oof.y, oof.groups, n_resamples, rng)
        return _find_intervals(
            compute_scores(proba, oof.y), resampled, oof.y, n_groups, 1 - confidence_level
        )

    scores, class_f1 = evaluate(oof.proba)
    supports = np.bincount(oof.y, minlength=len(oof.classes)).tolist()
    classes = [
        ClassEvaluation(label=label, f1=f1, support=support)
        for label, f1, support in zip(oof.classes.tolist(), class_f1, supports, strict=True)
    ]
    return OOFEvaluation(
        scores=scores,
        classes=tuple(sorted(classes, key=lambda each: each.f1.value)),
        baselines={name: evaluate(proba)[0] for name, proba in baselines.items()},
        sources=dict(oof.sources),
        n_samples=len(oof),
        n_groups=n_groups,
        confidence_level=confidence_level,
    )


def _find_intervals(
    point: ResampledScores,
    resampled: ResampledScores,
    y: NDArray[np.intp],
    n_groups: int | None,
    alpha: float,
) -> tuple[Scores, list[ScoreInterval]]:
    """Return the intervals of the scores, and of the F1 of each class."""
    quantiles = (alpha / 2, 1 - alpha / 2)

    def interval(name: str) -> ScoreInterval:
        value = float(getattr(point, name)[0])
        low, high = np.quantile(getattr(resampled, name), quantiles).tolist()
        return ScoreInterval(value, low, high)

    # F1 of 0 or 1 has no variance in the bootstrap: use the limits of Clopper and Pearson.
    support = np.bincount(y, minlength=len(point.class_f1))
    if n_groups is not None:
        support = np.minimum(support, n_groups)
    class_f1 = []
    for value, low, high, limit in zip(
        point.class_f1[:, 0].tolist(),
        *np.nanquantile(resampled.class_f1, quantiles, axis=1).tolist(),
        _perfect_limit(support, alpha).tolist(),
        strict=True,
    ):
        if value == 1:
            low = min(low, limit)
        if value == 0:
            high = max(high, 1 - limit)
        class_f1.append(ScoreInterval(value, low, high))
    accuracy, macro_f1 = interval("accuracy"), interval("macro_f1")
    if accuracy.value == 1:
        n_units = len(y) if n_groups is None else n_groups
        accuracy = ScoreInterval(1.0, float(_perfect_limit(n_units, alpha)), 1.0)
        macro_f1 = ScoreInterval(1.0, float(np.mean([each.low for each in class_f1])), 1.0)
    calibration_error = interval("calibration_error")
    bias = float(resampled.calibration_error.mean()) - calibration_error.value
    return Scores(
        accuracy=accuracy,
        macro_f1=macro_f1,
        log_loss=interval("log_loss"),
        calibration_error=ScoreInterval(
            calibration_error.value,
            max(calibration_error.low - bias, 0.0),
            max(calibration_error.high - bias, 0.0),
        ),
    ), class_f1


def _perfect_limit(n: Any, alpha: float) -> Any:
    """Return the lower limit of a share of which all of `n` observations are hits."""
    return (alpha / 2) ** (1 / np.maximum(n, 1))
