"""Scores as functions of sums over samples, so that resampling them is one matrix product.

Accuracy, F1, log loss and calibration error depend on the samples only through sums: the number of
correct predictions, the confusion counts of each class, the difference of correctness and
confidence in each bin. The sums of all bootstrap resamples are the product of a sparse matrix, with
one row per sum and one column per sample, and the matrix of resampling weights.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

N_BINS = 15

# Lower bound of the probability of the true class in the log loss; smaller ones are not stored in
# model files.
MIN_PROBA = 1e-7

# Resamples that are computed at once, and weights in them, to limit the memory.
_BLOCK, _MAX_WEIGHTS = 64, 2**23


class ScoreSums(NamedTuple):
    """Sums over samples, and the scores that they determine."""

    matrix: Any  # sparse, of shape (n_sums, n_samples)
    # From sums of shape (n_sums, n_resamples) to arrays of shape (n_resamples,) by score; and
    # "class_f1", "class_precision" and "class_recall" of shape (n_classes, n_resamples).
    to_scores: Callable[[Floats], dict[str, Floats]]

    def compute(self) -> dict[str, Floats]:
        """Return the scores of all samples, as arrays with one resample."""
        return self.to_scores(self.matrix @ np.ones((self.matrix.shape[1], 1)))

    def resample(
        self, groups: Codes | None, n_resamples: int, rng: np.random.Generator
    ) -> dict[str, Floats]:
        """Return the scores of bootstrap resamples of the samples, or of whole groups.

        All resamples score the same classes: one that a resample lacks has the F1 of all samples.
        """
        n_samples = self.matrix.shape[1]
        n_units = n_samples if groups is None else int(groups.max()) + 1
        block = max(1, min(_BLOCK, _MAX_WEIGHTS // n_samples))
        sums = []
        for start in range(0, n_resamples, block):
            n_drawn = min(block, n_resamples - start)
            drawn = rng.integers(0, n_units, size=(n_drawn, n_units), dtype=np.int64)
            drawn += n_units * np.arange(n_drawn)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=n_drawn * n_units)
            weights = counts.reshape(n_drawn, n_units).T.astype(np.float64)
            sums.append(self.matrix @ (weights if groups is None else weights[groups]))
        return self.to_scores(np.hstack(sums))


def sum_one_label(
    proba: Floats, y: Codes, predicted: Codes | None = None, weights: Floats | None = None
) -> ScoreSums:
    """Return the sums of predictions of one label per sample; by default the most probable one.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> scores = sum_one_label(proba, np.array([0, 0, 1, 1])).compute()
    >>> scores["accuracy"], scores["class_f1"].round(2)
    (array([0.75]), array([[0.8 ],
           [0.67]]))
    """
    n_samples, n_classes = proba.shape
    samples, ones = np.arange(n_samples), np.ones(n_samples)
    predicted = proba.argmax(axis=1) if predicted is None else predicted
    is_correct = predicted == y
    confidence = proba[samples, predicted]
    hits = samples[is_correct]
    matrix = _to_matrix(
        [
            (np.zeros(n_samples), samples, ones),
            (np.full(n_samples, 1), samples, is_correct),
            (np.full(n_samples, 2), samples, _log_losses(proba[samples, y])),
            (3 + y[hits], hits, np.ones(len(hits))),
            (3 + n_classes + predicted, samples, ones),
            (3 + 2 * n_classes + y, samples, ones),
            (3 + 3 * n_classes + _bin(confidence), samples, is_correct - confidence),
        ],
        (3 + 3 * n_classes + N_BINS, n_samples),
        weights,
    )
    point = _class_scores(matrix @ np.ones((n_samples, 1)), 3, n_classes)["class_f1"]

    def to_scores(sums: Floats) -> dict[str, Floats]:
        total, n_correct, log_loss = sums[:3]
        by_class = _class_scores(sums, 3, n_classes, point)
        return {
            "accuracy": n_correct / total,
            "macro_f1": _macro_f1(by_class["class_f1"]),
            "log_loss": log_loss / total,
            "calibration_error": np.abs(sums[3 + 3 * n_classes :]).sum(axis=0) / total,
            **by_class,
        }

    return ScoreSums(matrix, to_scores)


def sum_several_labels(
    proba: Floats, Y: NDArray[Any], predicted: NDArray[Any], weights: Floats | None = None
) -> ScoreSums:
    """Return the sums of predictions of any number of labels per sample, as indicators."""
    true, found = np.asarray(Y, bool), np.asarray(predicted, bool)
    n_samples, n_labels = true.shape
    samples = np.arange(n_samples)
    both = (true & found).sum(axis=1)
    sizes = true.sum(axis=1) + found.sum(axis=1)
    pairs = np.where(true, proba, 1 - proba)
    by_sample = [
        np.ones(n_samples),
        (true == found).all(axis=1),
        both,
        sizes,
        np.where(sizes > 0, 2 * both / np.maximum(sizes, 1), 1.0),
        _ranking_precision(proba, true),
        _log_losses(pairs).mean(axis=1) if n_labels else np.zeros(n_samples),
    ]
    first = len(by_sample)
    bins, errors = _bin(proba.ravel()), (true - proba).ravel()
    indicators = [np.nonzero(each) for each in (true & found, found, true)]
    matrix = _to_matrix(
        [
            *((np.full(n_samples, i), samples, each) for i, each in enumerate(by_sample)),
            *(
                (first + i * n_labels + labels, rows, np.ones(len(rows)))
                for i, (rows, labels) in enumerate(indicators)
            ),
            (first + 3 * n_labels + bins, np.repeat(samples, n_labels), errors),
        ],
        (first + 3 * n_labels + N_BINS, n_samples),
        weights,
    )
    point = _class_scores(matrix @ np.ones((n_samples, 1)), first, n_labels)["class_f1"]

    def to_scores(sums: Floats) -> dict[str, Floats]:
        total, exact, n_both, n_labels_of_both, samples_f1, ranking, log_loss = sums[:first]
        by_class = _class_scores(sums, first, n_labels, point)
        errors = np.abs(sums[first + 3 * n_labels :]).sum(axis=0)
        micro_f1 = np.ones(len(total))  # without any label, nothing is wrong
        np.divide(2 * n_both, n_labels_of_both, out=micro_f1, where=n_labels_of_both > 0)
        return {
            "accuracy": exact / total,
            "micro_f1": micro_f1,
            "macro_f1": _macro_f1(by_class["class_f1"]),
            "samples_f1": samples_f1 / total,
            "ranking_precision": ranking / total,
            "log_loss": log_loss / total,
            "calibration_error": errors / (total * max(n_labels, 1)),
            **by_class,
        }

    return ScoreSums(matrix, to_scores)


def _to_matrix(
    parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]],
    shape: tuple[int, int],
    weights: Floats | None,
) -> Any:
    """Return a sparse matrix of (row, sample, value) parts, with weighted samples."""
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    if weights is not None:
        values = values * weights[columns]
    return sp.csr_array((values, (rows.astype(np.intp), columns)), shape=shape)


def _bin(values: Floats) -> Codes:
    """Return bins of equally many values."""
    if not len(values):
        return np.zeros(0, np.intp)
    edges = np.quantile(values, np.arange(1, N_BINS) / N_BINS)
    return np.searchsorted(edges, values, side="right")


def _log_losses(proba_of_truth: Floats) -> Floats:
    return -np.log(np.clip(proba_of_truth, MIN_PROBA, 1.0))


def _class_scores(
    sums: Floats, first: int, n_classes: int, point: Floats | None = None
) -> dict[str, Floats]:
    """Return the scores of classes from their hits, predictions and true samples."""
    hits, predicted, true = sums[first : first + 3 * n_classes].reshape(3, n_classes, -1)
    relevant = predicted + true
    f1 = np.divide(2 * hits, relevant, out=np.full_like(hits, np.nan), where=relevant > 0)
    if point is not None:
        f1 = np.where(np.isnan(f1), point, f1)
    return {
        "class_f1": f1,
        "class_precision": np.divide(hits, predicted, out=np.zeros_like(hits), where=predicted > 0),
        "class_recall": np.divide(hits, true, out=np.zeros_like(hits), where=true > 0),
    }


def _macro_f1(class_f1: Floats) -> Floats:
    """Return the mean F1 of the classes that occur among the true or the predicted ones."""
    occurs = ~np.isnan(class_f1[:, 0])
    if not occurs.any():
        return np.ones(class_f1.shape[1])
    # Along contiguous memory, numpy sums in pairs: the same bits as the mean of one column.
    return np.asarray(np.ascontiguousarray(class_f1[occurs].T).mean(axis=1))


def _ranking_precision(proba: Floats, true: NDArray[np.bool_]) -> Floats:
    """Return the label ranking average precision of each sample, as scikit-learn defines it."""
    found = np.ones(len(true))
    for i in np.flatnonzero(true.any(axis=1) & ~true.all(axis=1)):
        scores = -proba[i]
        among_all = rankdata(scores, "max")[true[i]]
        among_true = rankdata(scores[true[i]], "max")
        found[i] = (among_true / among_all).mean()
    return found
