"""Scores of predicted labels: F1, scores by class and the confusion matrix."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import (
    label_ranking_average_precision_score,
    precision_recall_fscore_support,
)

from cordwood._base.display import html_table, import_pandas
from cordwood.exceptions import DataError
from cordwood.metrics.predictions import MultiLabelPredictions

_COLUMNS = ("precision", "recall", "F1", "samples")


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of one class.

    Parameters
    ----------
    label : object
        Class label.
    precision : float
        Share of the samples predicted as this class that belong to it; 0 if there are none.
    recall : float
        Share of the samples of this class that are predicted as it; 0 if there are none.
    f1 : float
        Harmonic mean of precision and recall; 0 if both are 0.
    support : int
        Number of samples of this class.
    """

    label: Any
    precision: float
    recall: float
    f1: float
    support: int


class _ClassTable:
    """Tables of the scores of classes, for evaluations."""

    classes: tuple[ClassScores, ...]
    _noun: ClassVar[str] = "class"

    def to_frame(self) -> Any:
        """Convert the scores of the classes to a pandas DataFrame.

        Returns
        -------
        DataFrame
            Columns `precision`, `recall`, `f1` and `support`, indexed by label.
        """
        records = [vars(scores) for scores in self.classes]
        return import_pandas().DataFrame(records).set_index("label")

    def __str__(self) -> str:
        return "\n".join([self._summary(), *_format_table(self._noun, self.classes)])

    def _repr_html_(self) -> str:
        header = (self._noun, *_COLUMNS)
        return html_table(self._summary(), header, [*map(_format_scores, self.classes)])

    def _summary(self) -> str:
        """Return one line with the scores of all classes."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Evaluation(_ClassTable):
    """Scores of a model on labelled samples.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    micro_f1 : float
        Micro-averaged F1. With one label per sample it equals the accuracy.
    macro_f1 : float
        Unweighted mean of the F1 of `classes`.
    classes : tuple of ClassScores
        Scores of the classes that occur among the true or the predicted labels, sorted by label.
    confusion : ndarray of shape (n_classes, n_classes)
        Confusion matrix: rows are true classes, columns predicted classes, in the order of
        `classes`.
    unseen_labels : dict
        True labels that were not in the training set, with their number of samples. These samples
        count as errors.
    """

    n_samples: int
    micro_f1: float
    macro_f1: float
    classes: tuple[ClassScores, ...]
    confusion: NDArray[np.int64]
    unseen_labels: dict[Any, int]

    @property
    def labels(self) -> tuple[Any, ...]:
        """Class labels of the rows and columns of `confusion`."""
        return tuple(scores.label for scores in self.classes)

    def confused_pairs(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """List the most frequent errors.

        Parameters
        ----------
        n : int, default=10
            Maximum number of pairs.

        Returns
        -------
        list of (true label, predicted label, number of samples)
            Most frequent first.

        Examples
        --------
        >>> score(["a", "a", "b"], ["b", "b", "b"], ["a", "b"]).confused_pairs()
        [('a', 'b', 2)]
        """
        errors = self.confusion.copy()
        np.fill_diagonal(errors, 0)
        order = np.argsort(-errors, axis=None, kind="stable")[:n]
        pairs = zip(*np.unravel_index(order, errors.shape), strict=True)
        labels = self.labels
        return [(labels[i], labels[j], int(errors[i, j])) for i, j in pairs if errors[i, j]]

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per field; `classes` is a list of dicts, `confusion` a list of lists.
        """
        return {
            "n_samples": self.n_samples,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            "classes": [vars(scores).copy() for scores in self.classes],
            "confusion": self.confusion.tolist(),
            "unseen_labels": dict(self.unseen_labels),
        }

    def _summary(self) -> str:
        return (
            f"micro F1 {self.micro_f1:.3f}, macro F1 {self.macro_f1:.3f} on "
            f"{self.n_samples:,} samples"
        )


def score(
    y_true: Sequence[Any],
    y_pred: Sequence[Any],
    classes: Iterable[Any],
    sample_weight: ArrayLike | None = None,
) -> Evaluation:
    """Score predicted labels.

    Parameters
    ----------
    y_true : sequence of length n_samples
        True labels.
    y_pred : sequence of length n_samples
        Predicted labels.
    classes : iterable
        Labels that the model was trained on.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights of precision, recall and F1. The confusion matrix and the support of classes
        count samples.

    Returns
    -------
    Evaluation
        F1 scores, scores by class, and the confusion matrix.

    Examples
    --------
    >>> score(["a", "a", "b"], ["a", "b", "b"], classes=["a", "b"]).micro_f1
    0.6666666666666666
    """
    try:
        labels = sorted({*y_true, *y_pred})
    except TypeError as error:
        raise DataError(
            f"the true labels (such as {y_true[0]!r}) and the labels of the model (such as "
            f"{y_pred[0]!r}) have different types; convert the true labels"
        ) from error
    codes = {label: position for position, label in enumerate(labels)}
    pairs = np.array([[codes[label] for label in y_true], [codes[label] for label in y_pred]])
    weights = _check_weights(sample_weight, len(y_true))
    precision, recall, f1, _ = precision_recall_fscore_support(
        *pairs, labels=range(len(labels)), sample_weight=weights, zero_division=0.0
    )
    support = np.bincount(pairs[0], minlength=len(labels))
    # sklearn.metrics.confusion_matrix warns if there is only one class.
    confusion = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(confusion, tuple(pairs), 1)
    known = set(classes)
    return Evaluation(
        n_samples=len(y_true),
        micro_f1=float(np.average(pairs[0] == pairs[1], weights=weights)),
        macro_f1=float(np.mean(f1)),
        classes=tuple(
            ClassScores(label, float(precision[i]), float(recall[i]), float(f1[i]), int(support[i]))
            for label, i in codes.items()
        ),
        confusion=confusion,
        unseen_labels={
            label: n for label, n in Counter(y_true).most_common() if label not in known
        },
    )


@dataclass(frozen=True, kw_only=True)
class MultiLabelEvaluation(_ClassTable):
    """Scores of a model on samples with any number of labels.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    micro_f1 : float
        F1 of all pairs of a sample and a label.
    macro_f1 : float
        Unweighted mean of the F1 of the labels that occur among the true or the predicted ones.
    samples_f1 : float
        Mean F1 of the samples, as a set of predicted and a set of true labels; 1 if both are empty.
    subset_accuracy : float
        Share of the samples whose predicted labels are exactly the true ones.
    ranking_precision : float
        Label ranking average precision of the probabilities.
    classes : tuple of ClassScores
        Scores of the labels that occur among the true or the predicted ones, sorted.
    unseen_labels : dict
        True labels that were not in the training set, with their number of samples. They count as
        labels that are not predicted.
    """

    _noun: ClassVar[str] = "label"

    n_samples: int
    micro_f1: float
    macro_f1: float
    samples_f1: float
    subset_accuracy: float
    ranking_precision: float
    classes: tuple[ClassScores, ...]
    unseen_labels: dict[Any, int]

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per field; `classes` is a list of dicts.
        """
        return {
            **vars(self),
            "classes": [vars(scores).copy() for scores in self.classes],
            "unseen_labels": dict(self.unseen_labels),
        }

    def _summary(self) -> str:
        return (
            f"micro F1 {self.micro_f1:.3f}, macro F1 {self.macro_f1:.3f}, sample F1 "
            f"{self.samples_f1:.3f}, subset accuracy {self.subset_accuracy:.3f} on "
            f"{self.n_samples:,} samples"
        )


def score_multilabel(
    y_true: Sequence[Sequence[Any]],
    predictions: MultiLabelPredictions,
    sample_weight: ArrayLike | None = None,
) -> MultiLabelEvaluation:
    """Score predictions of samples with any number of labels.

    Parameters
    ----------
    y_true : sequence of length n_samples of sequences
        True labels of each sample.
    predictions : MultiLabelPredictions
        Predictions of the samples.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights of the scores. The support of labels counts samples.

    Returns
    -------
    MultiLabelEvaluation

    Examples
    --------
    >>> predictions = MultiLabelPredictions(
    ...     indicators=np.array([[1, 1], [0, 1]]),
    ...     probabilities=np.array([[0.75, 0.5], [0.25, 0.75]]),
    ...     classes=np.array(["gas", "oil"]),
    ... )
    >>> print(score_multilabel([["gas", "oil"], ["gas"]], predictions))
    micro F1 0.667, macro F1 0.667, sample F1 0.500, subset accuracy 0.500 on 2 samples
    label  precision  recall     F1  samples
    gas        1.000   0.500  0.667        2
    oil        0.500   1.000  0.667        1
    """
    known = predictions.classes.tolist()
    unseen = Counter(label for labels in y_true for label in set(labels) - set(known))
    labels = known + sorted(unseen)
    position = {label: i for i, label in enumerate(labels)}
    true = np.zeros((len(y_true), len(labels)), np.int64)
    for i, each in enumerate(y_true):
        true[i, [position[label] for label in each]] = 1
    padding = ((0, 0), (0, len(unseen)))
    predicted = np.pad(predictions.indicators, padding)
    probabilities = np.pad(predictions.probabilities, padding)
    occurs = true.any(axis=0) | predicted.any(axis=0)
    weights = _check_weights(sample_weight, len(y_true))
    precision, recall, f1, _ = precision_recall_fscore_support(
        true, predicted, sample_weight=weights, zero_division=0.0
    )
    support = true.sum(axis=0)
    both = (true & predicted).sum(axis=1)
    sizes = true.sum(axis=1) + predicted.sum(axis=1)
    n_pairs = weights @ sizes
    samples_f1 = np.where(sizes > 0, 2 * both / np.maximum(sizes, 1), 1.0)
    return MultiLabelEvaluation(
        n_samples=len(y_true),
        micro_f1=float(2 * (weights @ both) / n_pairs) if n_pairs else 1.0,
        macro_f1=float(f1[occurs].mean()) if occurs.any() else 1.0,
        samples_f1=float(np.average(samples_f1, weights=weights)),
        subset_accuracy=float(np.average((true == predicted).all(axis=1), weights=weights)),
        ranking_precision=float(
            label_ranking_average_precision_score(true, probabilities, sample_weight=weights)
        ),
        classes=tuple(
            ClassScores(
                labels[i], float(precision[i]), float(recall[i]), float(f1[i]), int(support[i])
            )
            for i in sorted(np.flatnonzero(occurs).tolist(), key=labels.__getitem__)
        ),
        unseen_labels=dict(unseen.most_common()),
    )


def _check_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Return the sample weights as an array; ones if there are none."""
    weights = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, float)
    if not weights.sum() > 0:
        raise DataError("all sample weights are 0; at least one must be positive")
    return weights


def _format_table(name: str, classes: Sequence[ClassScores]) -> list[str]:
    """Return the lines of a table of the scores of classes."""
    header = (name, *_COLUMNS)
    lines = [header, *map(_format_scores, classes)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return [
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        )
        for line in lines
    ]


def _format_scores(scores: ClassScores) -> tuple[str, ...]:
    shares = (scores.precision, scores.recall, scores.f1)
    return str(scores.label), *(f"{share:.3f}" for share in shares), f"{scores.support:,}"
