"""Evaluation of predictions: scores with intervals."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from cordwood.exceptions import DataError
from cordwood.metrics._sums import ScoreSums, sum_one_label, sum_several_labels
from cordwood.metrics.predictions import Predictions
from cordwood.metrics.scores import ClassScores, Evaluation, Score
from cordwood.oof.records import OOFPredictions

N_RESAMPLES = 1000
CONFIDENCE_LEVEL = 0.95

# Accuracy and F1 are shares; of others, all hits are not a limit.
_SHARES = ("accuracy", "micro_f1", "macro_f1", "samples_f1", "ranking_precision")


def evaluate_oof(oof: OOFPredictions, predicted: NDArray[Any] | None = None) -> Evaluation:
    """Return the scores that a model is expected to have on new samples.

    `predicted` are codes of the predicted classes, or indicators; by default the most probable
    class.
    """
    sums, support = _sum(oof.proba, oof.y, predicted, None), _count(oof.y, len(oof.classes))
    scores, classes = _find_scores(
        sums, support, oof.classes.tolist(), oof.groups, effective_share=_effective_share(len(oof))
    )
    codes = oof.proba.argmax(axis=1) if predicted is None else predicted
    return Evaluation(
        scores=scores,
        classes=classes,
        n_samples=len(oof),
        confusion=None if oof.is_multilabel else _confusion(oof.y, codes, oof.classes, classes),
        sources=dict(oof.sources),
        n_groups=None if oof.groups is None else len(np.unique(oof.groups)),
        confidence_level=CONFIDENCE_LEVEL,
    )


def evaluate_predictions(
    y_true: Sequence[Any],
    predictions: Predictions,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_resamples: int = N_RESAMPLES,
) -> Evaluation:
    """Return the scores of predictions of other samples than the training samples.

    `y_true` are labels, or sequences of labels if samples have several. Weights count in all scores
    but not in the support and the confusion matrix. Without resamples there are no intervals.
    """
    known = predictions.classes.tolist()
    is_multilabel = predictions.indicators is not None
    given = [label for labels in y_true for label in set(labels)] if is_multilabel else y_true
    unseen = Counter(label for label in given if label not in set(known))
    try:
        labels = sorted({*known, *unseen})
    except TypeError as error:
        raise DataError(
            f"the true labels (such as {next(iter(unseen))!r}) and the labels of the model (such "
            f"as {known[0]!r}) have different types; convert the true labels"
        ) from error
    position = {label: i for i, label in enumerate(labels)}
    columns = [position[label] for label in known]
    proba = np.zeros((len(y_true), len(labels)))
    proba[:, columns] = predictions.proba
    predicted: NDArray[Any]
    if predictions.indicators is not None:
        y = np.zeros(proba.shape, bool)
        for i, each in enumerate(y_true):
            y[i, [position[label] for label in each]] = True
        predicted = np.zeros(proba.shape, bool)
        predicted[:, columns] = predictions.indicators
    else:
        y = np.array([position[label] for label in y_true], np.intp)
        predicted = np.array([position[label] for label in predictions.labels.tolist()], np.intp)
    weights = None if sample_weight is None else check_weights(sample_weight)
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    sums, support = _sum(proba, y, predicted, weights), _count(y, len(labels))
    scores, classes = _find_scores(
        sums, support, labels, codes, n_resamples, is_weighted=weights is not None
    )
    return Evaluation(
        scores=scores,
        classes=classes,
        n_samples=len(y_true),
        confusion=None if is_multilabel else _confusion(y, predicted, labels, classes),
        unseen_labels=dict(unseen.most_common()),
        n_groups=None if codes is None else int(codes.max()) + 1,
        confidence_level=CONFIDENCE_LEVEL,
    )


def check_weights(sample_weight: ArrayLike) -> NDArray[np.float64]:
    """Return the sample weights as an array; raise if all are zero."""
    weights = np.asarray(sample_weight, np.float64)
    if not weights.sum() > 0:
        raise DataError("all sample weights are 0; at least one must be non-zero")
    return weights


def score_proba(oof: OOFPredictions, proba: NDArray[np.float64]) -> dict[str, Score]:
    """Return the scores that other probabilities have on the samples of `oof`."""
    support = _count(oof.y, len(oof.classes))
    return _find_scores(
        sum_one_label(proba, oof.y),
        support,
        oof.classes.tolist(),
        oof.groups,
        effective_share=_effective_share(len(oof)),
    )[0]


def _effective_share(n_samples: int) -> float:
    """Return the share of the samples whose predictions, if they were new, vary as much.

    The models of the folds depend on the samples, too, so that out-of-fold predictions vary more:
    few as if they were 0.7 times as many, but not thousands. See docs/few-labels.md.
    """
    return (n_samples + 0.7 * 500) / (n_samples + 500)


def _sum(
    proba: NDArray[np.float64],
    y: NDArray[Any],
    predicted: NDArray[Any] | None,
    weights: NDArray[np.float64] | None,
) -> ScoreSums:
    if y.ndim == 1:
        return sum_one_label(proba, y, predicted, weights)
    assert predicted is not None
    return sum_several_labels(proba, y, predicted, weights)


def _count(y: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    """Return the number of samples of each class."""
    return np.bincount(y, minlength=n_classes) if y.ndim == 1 else y.sum(axis=0, dtype=np.intp)


def _confusion(
    y: NDArray[np.intp],
    predicted: NDArray[np.intp],
    labels: Sequence[Any] | NDArray[Any],
    classes: tuple[ClassScores, ...],
) -> NDArray[np.int64]:
    """Count samples by true and predicted class, for the classes that occur."""
    confusion = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(confusion, (y, predicted), 1)
    shown = {each.label for each in classes}
    kept = [i for i, label in enumerate(np.asarray(labels).tolist()) if label in shown]
    return confusion[np.ix_(kept, kept)]


def _find_scores(
    sums: ScoreSums,
    support: NDArray[np.intp],
    labels: Sequence[Any],
    groups: NDArray[np.intp] | None,
    n_resamples: int = N_RESAMPLES,
    *,
    is_weighted: bool = False,
    effective_share: float = 1.0,
) -> tuple[dict[str, Score], tuple[ClassScores, ...]]:
    """Return scores with intervals, and those of the classes that occur.

    The intervals are those of a share of the samples.
    """
    point = {name: values[..., 0] for name, values in sums.compute().items()}
    names = [name for name in point if not name.startswith("class_")]
    n_units = int(sums.matrix.shape[1]) if groups is None else int(groups.max()) + 1
    n_effective = effective_share * n_units
    limits: dict[str, Any] = {}
    if n_resamples:
        resampled = sums.resample(groups, n_resamples, np.random.default_rng(0))
        tail, spread = (1 - CONFIDENCE_LEVEL) / 2, effective_share**-0.5
        limits = {
            name: point[name]
            + spread * (np.quantile(values, (tail, 1 - tail), axis=-1) - point[name])
            for name, values in resampled.items()
        }
        # The error of resamples is larger than that of the samples, because of their noise.
        bias = resampled["calibration_error"].mean() - point["calibration_error"]
        limits["calibration_error"] = np.maximum(limits["calibration_error"] - bias, 0.0)
        if groups is None and not is_weighted:
            # Few resamples of few samples are different from each other.
            limits["accuracy"] = np.array(_wilson_limits(float(point["accuracy"]), n_effective))
    scores = {}
    for name in names:
        scores[name] = _make_score(name, float(point[name]), limits.get(name))
        # If all predictions are correct, all resamples are equal: the limit of Clopper and Pearson.
        if limits and name in _SHARES[1:] and point[name] == 1:
            scores[name] = Score(1.0, _perfect_limit(n_effective), 1.0)
    classes = []
    for i in np.flatnonzero(~np.isnan(point["class_f1"])).tolist():
        value = float(point["class_f1"][i])
        f1 = Score(value)
        if limits:
            low, high = limits["class_f1"][:, i].tolist()
            # F1 of 0 or 1 has no variance in the bootstrap either.
            perfect = _perfect_limit(min(effective_share * int(support[i]), n_effective))
            low = min(low, perfect) if value == 1 else low
            high = max(high, 1 - perfect) if value == 0 else high
            f1 = _make_score("macro_f1", value, np.array([low, high]))
        classes.append(
            ClassScores(
                label=labels[i],
                precision=float(point["class_precision"][i]),
                recall=float(point["class_recall"][i]),
                f1=f1,
                support=int(support[i]),
            )
        )
    if limits and point["macro_f1"] == 1 and classes:
        scores["macro_f1"] = Score(1.0, float(np.mean([each.f1.low for each in classes])), 1.0)
    return scores, tuple(classes)


def _make_score(name: str, value: float, limits: NDArray[np.float64] | None) -> Score:
    if limits is None:
        return Score(value)
    low, high = np.clip(limits, 0.0, 1.0 if name in _SHARES else None).tolist()
    # Percentiles of few distinct resamples may exclude the estimate itself.
    return Score(value, min(low, value), max(high, value))


def _perfect_limit(n: float) -> float:
    """Return the lower limit of a share of which all of `n` observations are hits."""
    return float(((1 - CONFIDENCE_LEVEL) / 2) ** (1 / max(n, 1.0)))


def _wilson_limits(share: float, n: float) -> tuple[float, float]:
    """Return the limits of a share of `n` observations, by the method of Wilson (1927).

    Examples
    --------
    >>> low, high = _wilson_limits(0.9, 100)
    >>> round(low, 3), round(high, 3)
    (0.826, 0.945)
    """
    z = norm.ppf((1 + CONFIDENCE_LEVEL) / 2)
    center = share + z**2 / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float((center - half) / (1 + z**2 / n)), float((center + half) / (1 + z**2 / n))
