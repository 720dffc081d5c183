"""Predictions: labels and class probabilities, of new samples and of training samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.display import html_table, import_pandas

# Between the labels of a sample in tables.
LABEL_SEPARATOR = ";"

# Labels of samples without a decision, in tables.
UNDECIDED = "__undecided__"
UNKNOWN_LABEL = "__unknown__"

SET_SEPARATOR = "|"


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predicted labels and class probabilities.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Predicted labels: those of the highest probability, unless the decision is tuned.
    probabilities : ndarray of shape (n_samples, n_classes)
        Class probabilities, in the order of `classes`.
    classes : ndarray of shape (n_classes,)
        Class labels of the model.
    sets : bool array of shape (n_samples, n_classes) or None, default=None
        Whether each label is in the prediction set of a sample, if a coverage was given.
    is_decided : bool array of shape (n_samples,) or None, default=None
        Whether the probability of the label is high enough, if a minimum was given or chosen.
    is_in_scope : bool array of shape (n_samples,) or None, default=None
        Whether the sample is like the training samples, if out-of-scope samples were detected.

    Examples
    --------
    >>> found = Predictions(
    ...     labels=np.array(["spam", "ham"]),
    ...     probabilities=np.array([[0.25, 0.75], [0.9, 0.1]]),
    ...     classes=np.array(["ham", "spam"]),
    ... )
    >>> found.to_frame()
      label  probability  probability:ham  probability:spam
    0  spam         0.75             0.25              0.75
    1   ham         0.90             0.90              0.10
    """

    labels: NDArray[Any]
    probabilities: NDArray[np.floating[Any]]
    classes: NDArray[Any]
    sets: NDArray[np.bool_] | None = None
    is_decided: NDArray[np.bool_] | None = None
    is_in_scope: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def confidence(self) -> NDArray[np.floating[Any]]:
        """Probability of the predicted label, of shape (n_samples,)."""
        columns = {label: column for column, label in enumerate(self.classes.tolist())}
        chosen = [columns[label] for label in self.labels.tolist()]
        return np.asarray(self.probabilities[np.arange(len(chosen)), chosen])

    def label_sets(self) -> list[tuple[Any, ...]]:
        """Return the labels of each prediction set, the most probable first.

        Returns
        -------
        list of tuple
            One tuple per sample.

        Raises
        ------
        ValueError
            If there are no prediction sets.
        """
        if self.sets is None:
            raise ValueError("there are no prediction sets; set the argument coverage of predict")
        order = np.argsort(-self.probabilities, axis=1, kind="stable")
        labels = self.classes.tolist()
        return [
            tuple(labels[code] for code in codes if members[code])
            for codes, members in zip(order.tolist(), self.sets, strict=True)
        ]

    def decided_labels(self) -> list[Any]:
        """Return the labels, with a placeholder for samples without a decision.

        Returns
        -------
        list
            Labels; "__unknown__" for samples that are not in scope, and "__undecided__" for others
            whose label is not probable enough.
        """
        labels: list[Any] = self.labels.tolist()
        for is_kept, placeholder in (
            (self.is_decided, UNDECIDED),
            (self.is_in_scope, UNKNOWN_LABEL),
        ):
            if is_kept is not None:
                for position in np.flatnonzero(~is_kept).tolist():
                    labels[position] = placeholder
        return labels

    def to_frame(self) -> Any:
        """Convert to a pandas DataFrame with one row per sample.

        Returns
        -------
        DataFrame
            Columns `label` (of `decided_labels`), `probability` (of the most probable label), `set`
            and `is_single` if there are prediction sets, and ``probability:CLASS`` for each class.
        """
        columns: dict[str, Any] = {
            "label": self.decided_labels(),
            "probability": self.confidence,
        }
        if self.sets is not None:
            columns["set"] = [SET_SEPARATOR.join(map(str, each)) for each in self.label_sets()]
            columns["is_single"] = self.sets.sum(axis=1) == 1
        for position, label in enumerate(self.classes.tolist()):
            columns[f"probability:{label}"] = self.probabilities[:, position]
        return import_pandas().DataFrame(columns)

    def _repr_html_(self) -> str:
        shown = zip(self.decided_labels(), self.confidence.tolist(), strict=True)
        rows = [(label, f"{probability:.3f}") for label, probability in shown]
        return html_table(f"{len(self):,} predictions", ("label", "probability"), rows)


@dataclass(frozen=True, kw_only=True)
class MultiLabelPredictions:
    """Predicted labels and probabilities of samples with any number of labels.

    Parameters
    ----------
    indicators : ndarray of shape (n_samples, n_labels)
        Whether each label is predicted, in the order of `classes`.
    probabilities : ndarray of shape (n_samples, n_labels)
        Probability of each label; they do not sum to one.
    classes : ndarray of shape (n_labels,)
        Labels of the model.

    Examples
    --------
    >>> found = MultiLabelPredictions(
    ...     indicators=np.array([[1, 1], [0, 0]]),
    ...     probabilities=np.array([[0.75, 0.5], [0.25, 0.125]]),
    ...     classes=np.array(["gas", "oil"]),
    ... )
    >>> found.labels
    (('gas', 'oil'), ())
    >>> found.to_frame()
        labels  probability:gas  probability:oil
    0  gas;oil             0.75            0.500
    1                      0.25            0.125
    """

    indicators: NDArray[np.int64]
    probabilities: NDArray[np.floating[Any]]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.indicators)

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """Predicted labels of each sample, the most probable first."""
        labels = self.classes.tolist()
        order = np.argsort(-self.probabilities, axis=1, kind="stable")
        return tuple(
            tuple(labels[i] for i in ranked if predicted[i])
            for ranked, predicted in zip(order, self.indicators, strict=True)
        )

    def to_frame(self) -> Any:
        """Convert to a pandas DataFrame with one row per sample.

        Returns
        -------
        DataFrame
            Column `labels`, joined by semicolons, and ``probability:LABEL`` for each label.
        """
        columns: dict[str, Any] = {"labels": [*map(join_labels, self.labels)]}
        for position, label in enumerate(self.classes.tolist()):
            columns[f"probability:{label}"] = self.probabilities[:, position]
        return import_pandas().DataFrame(columns)

    def _repr_html_(self) -> str:
        rows = [(join_labels(labels),) for labels in self.labels]
        return html_table(f"{len(self):,} predictions", ("labels",), rows)


def join_labels(labels: Iterable[Any]) -> str:
    """Join the labels of a sample to one string, for tables.

    Examples
    --------
    >>> join_labels(("gas", "oil"))
    'gas;oil'
    """
    return LABEL_SEPARATOR.join(map(str, labels))
