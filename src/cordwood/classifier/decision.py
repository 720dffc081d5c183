"""Decisions: records that map probabilities to labels, tuned on out-of-fold predictions."""

from __future__ import annotations  # `help` shows the short names

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cordwood.exceptions import CordwoodError
from cordwood.metrics.thresholds import (
    apply_label_thresholds,
    choose_label_thresholds,
    find_class_weights,
    find_f1_threshold,
    find_precision_threshold,
)
from cordwood.oof.records import OOFPredictions

Floats = NDArray[np.float64]

OBJECTIVES = ("f1", "macro_f1", "precision", "cost")


@dataclass(frozen=True)
class Decision:
    """How a model decides for labels, given their probabilities.

    Without it, the most probable class is predicted, and of several labels per sample those that
    reach thresholds of highest F1.

    Parameters
    ----------
    optimize : {"f1", "macro_f1", "precision", "cost"} or None, default=None
        What the decision optimizes on out-of-fold predictions of the training samples:

        - "f1": F1 of the positive class, by a threshold; requires two classes. With several labels
          per sample, the F1 of each label; rare labels are smoothed by labels of similar frequency.
        - "macro_f1": mean F1 of all classes, by weights of the classes. With several labels the
          same as "f1".
        - "precision": recall of the positive class with a precision of at least `precision`;
          requires two classes.
        - "cost": the expected cost of `cost_matrix`, which needs no tuning.
        - None: nothing; the labels follow from `threshold`.
    precision : float, default=None
        Precision of the positive class that "precision" requires, between 0 and 1. It is estimated
        with two more predicted samples of the frequency of the class, so that a threshold that only
        a few samples reach is not chosen.
    cost_matrix : array-like of shape (n_classes, n_classes), default=None
        Cost of each predicted class (columns) by true class (rows), in sorted order of the classes.
    pos_label : object, default=None
        The positive class; by default the one with fewer samples.
    threshold : float, default=None
        Fixed probability from which on the positive class, or each of several labels, is predicted.
    min_labels : int or None, default=None
        Number of labels that are predicted at least, if samples have several: if fewer reach their
        threshold, the most probable ones. None is 1 if every training sample has a label, else 0.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : Thresholds of binary classifiers.

    Examples
    --------
    >>> from cordwood import Decision, TextClassifier
    >>> texts = ["cheap pills", "cheap offer", "lunch at noon", "a cheap lunch"] * 10
    >>> labels = ["spam", "spam", "ham", "ham"] * 10
    >>> model = TextClassifier("nb", decision=Decision("precision", precision=0.9))
    >>> model.fit(texts, labels).decision_.describe()
    'spam from a probability of 0.502 on; out-of-fold recall 1.000'
    """

    optimize: str | None = None
    precision: float | None = None
    cost_matrix: ArrayLike | None = None
    pos_label: Any = None
    threshold: float | None = None
    min_labels: int | None = None

    def __post_init__(self) -> None:
        if self.optimize not in (None, *OBJECTIVES):
            raise CordwoodError(
                f"optimize must be one of {', '.join(OBJECTIVES)}; got {self.optimize!r}"
            )
        if (self.optimize == "precision") != (self.precision is not None):
            raise CordwoodError("optimize='precision' and precision require each other")
        if (self.optimize == "cost") != (self.cost_matrix is not None):
            raise CordwoodError("optimize='cost' and cost_matrix require each other")
        if self.threshold is not None and self.optimize is not None:
            raise CordwoodError("threshold and optimize are alternatives; omit one of them")
        for name in ("precision", "threshold"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and 0 < float(value) < 1):
                raise CordwoodError(f"{name} must be between 0 and 1; got {value!r}")
        least = self.min_labels
        if least is not None and not (isinstance(least, Integral) and least >= 0):
            raise CordwoodError(f"min_labels must be an integer of at least 0; got {least!r}")
        if self.cost_matrix is not None:
            # A copy in tuples, so that decisions do not change and can be compared.
            rows = np.asarray(self.cost_matrix, np.float64).tolist()
            costs = tuple(tuple(row) if isinstance(row, list) else row for row in rows)
            object.__setattr__(self, "cost_matrix", costs)


@dataclass(frozen=True)
class TunedDecision:
    """A decision with its thresholds, class weights or costs: from probabilities to labels.

    The most probable class is predicted if neither a matrix nor thresholds are set.

    Parameters
    ----------
    optimize : str or None, default=None
        What was optimized.
    matrix : ndarray of shape (n_classes, n_classes) or None, default=None
        The class with the largest entry of ``proba @ matrix`` is predicted.
    thresholds : ndarray of shape (n_classes,) or None, default=None
        Probability from which on each of several labels is predicted.
    min_labels : int, default=0
        Number of labels that are predicted at least.
    positive : object, default=None
        The positive class, if there is one.
    threshold : float or None, default=None
        Probability above which the positive class is predicted.
    score : float or None, default=None
        Optimized score of the out-of-fold predictions: F1, macro F1, recall, or the mean cost.

    Examples
    --------
    >>> import numpy as np
    >>> from cordwood.classifier import TunedDecision
    >>> costs = TunedDecision(optimize="cost", matrix=-np.array([[0, 1], [10, 0]]))
    >>> costs.apply([[0.95, 0.05], [0.8, 0.2]]).tolist()
    [0, 1]
    """

    optimize: str | None = None
    matrix: Floats | None = None
    thresholds: Floats | None = None
    min_labels: int = 0
    positive: Any = None
    threshold: float | None = None
    score: float | None = None

    def apply(self, proba: ArrayLike) -> NDArray[Any]:
        """Return the decision for each sample.

        Parameters
        ----------
        proba : array-like of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positions of the predicted classes; with several labels per sample, indicators.
        """
        proba = np.asarray(proba, np.float64)
        if self.thresholds is None:
            scores = proba if self.matrix is None else proba @ self.matrix
            return np.asarray(scores.argmax(axis=1))
        return apply_label_thresholds(proba, self.thresholds, self.min_labels)

    def describe(self) -> str:
        """Return the decision and its score as a phrase.

        Returns
        -------
        str
        """
        if self.thresholds is not None:
            low, high = self.thresholds.min(), self.thresholds.max()
            at_least = f"; at least {self.min_labels} of them" if self.min_labels else ""
            return f"labels from probabilities of {low:.3f} to {high:.3f} on{at_least}"
        if self.matrix is None:
            return "the most probable class"
        if self.optimize == "cost":
            return f"least expected cost; out-of-fold mean cost {self.score:.3f}"
        if self.optimize == "macro_f1":
            return f"class weights for macro F1; out-of-fold macro F1 {self.score:.3f}"
        found = f"{self.positive} from a probability of {self.threshold:.3f} on"
        if self.score is None:
            return found
        name = "F1" if self.optimize == "f1" else "recall"
        return f"{found}; out-of-fold {name} {self.score:.3f}"


def check_decision(decision: Any) -> Decision | None:
    """Return the decision that a parameter stands for; a name is that of an objective."""
    if decision is None or isinstance(decision, Decision):
        return decision
    if decision in ("f1", "macro_f1"):
        return Decision(decision)
    raise CordwoodError(
        f"decision must be 'f1', 'macro_f1', a cordwood.Decision or None; got {decision!r}"
    )


def check_classes(decision: Decision | None, classes: NDArray[Any], *, is_multilabel: bool) -> None:
    """Raise, before anything is fitted, if a decision does not apply to the classes."""
    if decision is None:
        return
    objective = "threshold" if decision.optimize is None else f"optimize={decision.optimize!r}"
    if is_multilabel:
        if decision.optimize in ("precision", "cost") or decision.pos_label is not None:
            name = objective if decision.pos_label is None else "pos_label"
            raise CordwoodError(f"{name} requires one label per sample; omit it")
        return
    if decision.min_labels is not None:
        raise CordwoodError("min_labels requires several labels per sample; omit it")
    is_threshold = decision.optimize in ("f1", "precision") or decision.threshold is not None
    if is_threshold and len(classes) > 2:
        raise CordwoodError(
            f"{objective} requires two classes; got {len(classes)}, so use 'macro_f1' or 'cost'"
        )
    if decision.pos_label is not None:
        if not is_threshold and decision.optimize is None:
            raise CordwoodError("pos_label requires optimize or threshold; omit it")
        if is_threshold and decision.pos_label not in classes.tolist():
            known = ", ".join(map(repr, classes.tolist()))
            raise CordwoodError(
                f"pos_label {decision.pos_label!r} is not a class; classes: {known}"
            )
    if decision.optimize == "cost":
        _check_costs(decision, len(classes))


def tune_decision(
    decision: Decision | None, oof: OOFPredictions, sample_weight: Floats | None
) -> TunedDecision:
    """Tune a decision on out-of-fold predictions."""
    decision = decision or Decision()
    weights = np.ones(len(oof)) if sample_weight is None else sample_weight
    if oof.is_multilabel:
        return _tune_labels(decision, oof, weights)
    if decision.optimize is None and decision.threshold is None:
        return TunedDecision()
    if decision.optimize == "cost":
        costs = _check_costs(decision, len(oof.classes))
        predicted = (oof.proba @ -costs).argmax(axis=1)
        score = float(np.average(costs[oof.y, predicted], weights=weights))
        return TunedDecision("cost", -costs, score=score)
    if decision.optimize == "macro_f1":
        class_weights, score = find_class_weights(oof.proba, oof.y, weights)
        return TunedDecision("macro_f1", np.diag(class_weights), score=score)
    return _tune_threshold(decision, oof, weights)


def _tune_threshold(decision: Decision, oof: OOFPredictions, weights: Floats) -> TunedDecision:
    """Choose the threshold of the positive class of two."""
    classes = oof.classes.tolist()
    if decision.pos_label is None:
        counts = np.bincount(oof.y, minlength=2)
        positive = int(len(counts) - 1 - counts[::-1].argmin())  # of equal classes, the second
    else:
        positive = classes.index(decision.pos_label)
    proba, is_positive = oof.proba[:, positive], oof.y == positive
    score: float | None = None
    if decision.threshold is not None:
        threshold = float(decision.threshold)
    elif decision.optimize == "f1":
        threshold, score = find_f1_threshold(proba, is_positive, weights)
    else:
        assert decision.precision is not None
        threshold, score = find_precision_threshold(
            proba, is_positive, weights, float(decision.precision)
        )
    # p (1 - t) > (1 - p) t if and only if p > t.
    class_weights = np.full(2, threshold)
    class_weights[positive] = 1 - threshold
    return TunedDecision(
        decision.optimize,
        np.diag(class_weights),
        positive=classes[positive],
        threshold=threshold,
        score=score,
    )


def _tune_labels(decision: Decision, oof: OOFPredictions, weights: Floats) -> TunedDecision:
    """Choose the thresholds of several labels per sample."""
    Y = np.asarray(oof.y, bool)
    n_labels = Y.shape[1]
    if decision.threshold is None:
        thresholds = choose_label_thresholds(oof.proba, Y, weights)
    else:
        thresholds = np.full(n_labels, float(decision.threshold))
    min_labels = decision.min_labels
    if min_labels is None:
        min_labels = int(Y.any(axis=1).all())
    objective = "f1" if decision.threshold is None else None
    return TunedDecision(
        objective, thresholds=thresholds, min_labels=min(int(min_labels), n_labels)
    )


def _check_costs(decision: Decision, n_classes: int) -> Floats:
    costs = np.asarray(decision.cost_matrix, np.float64)
    if costs.shape != (n_classes, n_classes) or not np.isfinite(costs).all():
        raise CordwoodError(
            f"cost_matrix must be a matrix of {n_classes} x {n_classes} finite numbers, one row "
            f"and one column for each class; got an array of shape {costs.shape}"
        )
    return costs
