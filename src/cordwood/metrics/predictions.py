"""Predictions: labels and class probabilities of new samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.display import html_table, import_pandas
from cordwood._base.wording import join_labels

# Between the labels of a sample in tables, and between the labels of a prediction set.
SET_SEPARATOR = "|"

# Labels of samples without a decision, in tables.
UNDECIDED, UNKNOWN_LABEL = "__undecided__", "__unknown__"


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predicted labels and class probabilities.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Predicted labels; with several labels per sample, tuples of labels, the most probable first.
    proba : ndarray of shape (n_samples, n_classes)
        Class probabilities, in the order of `classes`; of several labels, they do not sum to one.
    classes : ndarray of shape (n_classes,)
        Class labels of the model.
    indicators : bool array of shape (n_samples, n_classes) or None, default=None
        Whether each label is predicted, if samples have several.
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
    ...     proba=np.array([[0.25, 0.75], [0.9, 0.1]]),
    ...     classes=np.array(["ham", "spam"]),
    ... )
    >>> found.to_frame()
      label  probability  probability:ham  probability:spam
    0  spam         0.75             0.25              0.75
    1   ham         0.90             0.90              0.10
    """

    labels: NDArray[Any]
    proba: NDArray[np.floating[Any]]
    classes: NDArray[Any]
    indicators: NDArray[np.bool_] | None = None
    sets: NDArray[np.bool_] | None = None
    is_decided: NDArray[np.bool_] | None = None
    is_in_scope: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def confidence(self) -> NDArray[Any]:
        """Probability of the predicted label, or tuples of those of several labels."""
        columns = {label: column for column, label in enumerate(self.classes.tolist())}
        if self.indicators is None:
            chosen = [columns[label] for label in self.labels.tolist()]
            return np.asarray(self.proba[np.arange(len(chosen)), chosen])
        return to_object_array(
            tuple(proba[[columns[label] for label in labels]].tolist())
            for labels, proba in zip(self.labels, self.proba, strict=True)
        )

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
            raise ValueError("there are no prediction sets; set the argument coverage of classify")
        return list(rank_labels(self.sets, self.proba, self.classes))

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
            Columns `label` (of `decided_labels`; several labels are joined by semicolons),
            `probability` (of the label), `set` and `is_single` if there are prediction sets, and
            ``probability:CLASS`` for each class.
        """
        columns: dict[str, Any] = {"label": [*map(join_labels, self.decided_labels())]}
        if self.indicators is None:
            columns = {"label": self.decided_labels(), "probability": self.confidence}
        if self.sets is not None:
            columns["set"] = [SET_SEPARATOR.join(map(str, each)) for each in self.label_sets()]
            columns["is_single"] = self.sets.sum(axis=1) == 1
        for position, label in enumerate(self.classes.tolist()):
            columns[f"probability:{label}"] = self.proba[:, position]
        return import_pandas().DataFrame(columns)

    def _repr_html_(self) -> str:
        labels = [*map(join_labels, self.decided_labels())]
        if self.indicators is not None:
            return html_table(
                f"{len(self):,} predictions", ("labels",), [(each,) for each in labels]
            )
        shown = zip(labels, self.confidence.tolist(), strict=True)
        rows = [(label, f"{probability:.3f}") for label, probability in shown]
        return html_table(f"{len(self):,} predictions", ("label", "probability"), rows)


def rank_labels(
    indicators: NDArray[np.bool_], proba: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.object_]:
    """Return the indicated labels of each sample as a tuple, the most probable first."""
    labels = classes.tolist()
    order = np.argsort(-proba, axis=1, kind="stable")
    return to_object_array(
        tuple(labels[i] for i in ranked if chosen[i])
        for ranked, chosen in zip(order.tolist(), indicators, strict=True)
    )


def to_object_array(values: Iterable[Any]) -> NDArray[np.object_]:
    """Return a one-dimensional array of tuples, which numpy would make two-dimensional."""
    listed = list(values)
    array = np.empty(len(listed), dtype=object)
    for i, value in enumerate(listed):
        array[i] = value
    return array
