"""Schemas of naive Bayes classifiers.

Multinomial and complement naive Bayes are stored as counts, from which the log probabilities are
computed again: most counts are zero, no log probability is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB

from cordwood._schema.errors import Rejected
from cordwood._schema.fields import MAX_NUMBER, Array, classifier_fields, number
from cordwood._schema.interface import InterfaceOf
from cordwood._schema.matrices import Coefficients
from cordwood._schema.nested import Estimator
from cordwood._schema.schema import Schema
from cordwood.naive_bayes.classifier import NaiveBayesClassifier

_VARIANTS = {"multinomial": MultinomialNB, "complement": ComplementNB, "gaussian": GaussianNB}

_COUNTS = {
    **classifier_fields(),
    # Log probabilities, and copies in the other layout.
    "feature_count_": Coefficients("n_classes", "n_features", low=0, n_derived=3),
    "class_count_": Array("float64", "n_classes", low=0),
    "class_log_prior_": Array("float64", "n_classes", low=-np.inf, high=0),
}


def _check_counts(model: Any, interface_of: InterfaceOf) -> None:
    if not isinstance(model.alpha, int | float):
        raise Rejected(f"has a {type(model).__name__} whose alpha is not a number")
    if not np.isfinite(model.class_log_prior_).any():
        raise Rejected(f"has a {type(model).__name__} without any class of positive prior")


def _compute_multinomial(model: Any) -> None:
    # In place, because the matrix may be large.
    logs = np.ascontiguousarray(model.feature_count_) + model.alpha
    totals = logs.sum(axis=1)
    with np.errstate(divide="ignore"):
        np.log(logs, out=logs)
        logs -= np.log(totals.reshape(-1, 1))
    model.feature_log_prob_ = _order_as(model.feature_count_, logs)


def _compute_complement(model: Any) -> None:
    counts = np.ascontiguousarray(model.feature_count_)
    model.feature_all_ = counts.sum(axis=0)
    logs = model.feature_all_ + model.alpha - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        logs /= logs.sum(axis=1, keepdims=True)
        np.log(logs, out=logs)
    if model.norm:
        logs /= logs.sum(axis=1, keepdims=True)
    else:
        np.negative(logs, out=logs)
    model.feature_log_prob_ = _order_as(model.feature_count_, logs)


def _order_as(counts: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log probabilities in the memory layout of the counts, as after `fit`."""
    return np.asarray(logs, order="C" if counts.flags.c_contiguous else "F")


def _check_variant(model: Any, interface_of: InterfaceOf) -> None:
    if type(model.model_) is not _VARIANTS[model.variant]:
        raise Rejected("has a NaiveBayesClassifier whose variant does not match its model_")
    inner = model.model_
    if inner.n_features_in_ != model.n_features_in_ or not np.array_equal(
        inner.classes_, model.classes_
    ):
        raise Rejected("has a NaiveBayesClassifier whose model_ has other features or classes")


SCHEMAS = (
    Schema(cls=MultinomialNB, fitted=_COUNTS, check=_check_counts, finish=_compute_multinomial),
    Schema(cls=ComplementNB, fitted=_COUNTS, check=_check_counts, finish=_compute_complement),
    Schema(
        cls=GaussianNB,
        fitted={
            **classifier_fields(),
            "theta_": Array("float64", "n_classes", "n_features"),
            "var_": Array("float64", "n_classes", "n_features", low=1e-200),
            "class_count_": Array("float64", "n_classes", low=0),
            "class_prior_": Array("float64", "n_classes", low=1e-300, high=1),
            "epsilon_": number(0, MAX_NUMBER),
        },
    ),
    Schema(
        cls=NaiveBayesClassifier,
        fitted={**classifier_fields(), "model_": Estimator()},
        check=_check_variant,
    ),
)
