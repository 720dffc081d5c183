"""Record of out-of-fold predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class OOFPredictions:
    """Out-of-fold class probabilities of the training samples.

    Each sample is predicted without having been trained on. The samples are in the order of the
    training set.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Probabilities, with classes in the order of `classes`.
    y : ndarray of shape (n_samples,) or (n_samples, n_classes)
        True classes, as positions in `classes`; with several labels per sample, label indicators.
    classes : ndarray of shape (n_classes,)
        Sorted class labels.
    sources : mapping of str to {"oob", "loo", "cv", "prefit"}
        How the predictions of each base estimator of a stack were computed: out-of-bag,
        leave-one-out, by cross-validation, or by an estimator that was fitted on other samples. A
        classifier that is not a stack has one entry.
    groups : ndarray of shape (n_samples,) or None, default=None
        Groups of related samples, as positions in the sorted list of groups. No sample was
        predicted by a model that was trained on samples of its group.

    Examples
    --------
    >>> oof = OOFPredictions(
    ...     proba=np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]]),
    ...     y=np.array([0, 1, 1]),
    ...     classes=np.array(["ham", "spam"]),
    ...     sources={"classifier": "cv"},
    ... )
    >>> oof.y_true.tolist(), oof.y_pred.tolist()
    (['ham', 'spam', 'spam'], ['ham', 'spam', 'ham'])
    """

    proba: NDArray[np.float64]
    y: NDArray[np.intp]
    classes: NDArray[Any]
    sources: Mapping[str, str]
    groups: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_multilabel(self) -> bool:
        """Whether samples have several labels."""
        return self.y.ndim == 2

    @property
    def y_true(self) -> NDArray[Any]:
        """True labels, of shape (n_samples,); indicators with several labels per sample."""
        return self.y if self.is_multilabel else np.asarray(self.classes[self.y])

    @property
    def y_pred(self) -> NDArray[Any]:
        """The most probable label of each sample, of shape (n_samples,)."""
        return np.asarray(self.classes[self.proba.argmax(axis=1)])
