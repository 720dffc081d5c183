"""Probabilities of any classifier, with one column per class of the training set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax


def find_stack_method(estimator: Any) -> str:
    """Return the name of the prediction method that `predict_proba` calls."""
    methods = ("predict_proba", "decision_function")
    return next((method for method in methods if hasattr(estimator, method)), "predict")


def predict_proba(estimator: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities with one column per entry of `classes`.

    Decision values are mapped through the logistic function, or the softmax function if there are
    more than two classes; predicted labels are one-hot encoded.
    """
    method = find_stack_method(estimator)
    predictions = np.asarray(getattr(estimator, method)(X))
    if method == "predict":
        predictions = predictions[:, None] == estimator.classes_
    elif method == "decision_function":
        predictions = (
            softmax(predictions, axis=1)
            if predictions.ndim == 2
            else np.column_stack([expit(-predictions), expit(predictions)])
        )
    return align_columns(predictions, estimator.classes_, classes)


def align_columns(
    proba: NDArray[Any], estimator_classes: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Reorder columns to `classes`; classes unknown to the estimator get probability 0.

    Examples
    --------
    >>> align_columns(np.array([[0.25, 0.75]]), np.array(["b", "c"]), np.array(["a", "b", "c"]))
    array([[0.  , 0.25, 0.75]])
    """
    aligned = np.zeros((len(proba), len(classes)))
    aligned[:, np.searchsorted(classes, estimator_classes)] = proba
    return aligned


def impute_prior(
    proba: NDArray[np.float64], prior: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Replace NaN rows by the class prior; return a copy and the number of replaced rows."""
    # A copy, because the probabilities may be shared through a cache.
    missing = np.asarray(np.isnan(proba).any(axis=1))
    return np.where(missing[:, None], prior, proba), int(missing.sum())
