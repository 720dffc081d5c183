"""Schemas of linear classifiers."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer

from cordwood._schema.errors import Rejected
from cordwood._schema.fields import (
    FLOATS,
    MAX_NUMBER,
    Array,
    FeatureNames,
    Labels,
    Size,
    choice,
    classifier_fields,
    integer,
    number,
)
from cordwood._schema.interface import Interface, InterfaceOf, check_classifier
from cordwood._schema.matrices import Coefficients
from cordwood._schema.nested import Estimator, EstimatorList
from cordwood._schema.schema import Schema, check_label_indices
from cordwood.linear_model.embedding_classifier import EmbeddingClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier

# Rounding coefficients to multiples of a step changes a margin by a sum of independent errors, with
# a standard deviation of at most norm * step / sqrt(12), and a probability by at most a quarter of
# the change of the margin, divided by the temperature. This step limits five standard deviations
# of the difference of two margins to 0.0005.
_RELATIVE_STEP = 4 * 0.0005 / (5 * np.sqrt(2 / 12))


def _check_rows(model: Any, interface_of: InterfaceOf) -> None:
    n_classes = len(model.classes_)
    if getattr(model, "multilabel_", False):
        check_label_indices(model)
        n_problems, n_min = n_classes, 1
    else:
        n_problems, n_min = (1 if n_classes == 2 else n_classes), 2
    if n_classes < n_min or len(model.coef_) != n_problems:
        raise Rejected(f"has a {type(model).__name__} whose coef_ does not match its classes_")


def _check_one_vs_rest(model: Any, interface_of: InterfaceOf) -> None:
    binarizer = model.label_binarizer_
    if type(binarizer) is not LabelBinarizer or "y_type_" not in vars(binarizer):
        raise Rejected("has a OneVsRestClassifier without a LabelBinarizer")
    classes = binarizer.classes_
    if not np.array_equal(classes, model.classes_):
        raise Rejected("has a OneVsRestClassifier with two different lists of classes")
    is_binary = len(classes) == 2 and not model.multilabel_
    if (binarizer.y_type_ == "binary") != is_binary:
        raise Rejected("has a OneVsRestClassifier with another number of classes")
    if model.multilabel_:
        check_label_indices(model)
    if len(model.estimators_) != (1 if is_binary else len(classes)):
        raise Rejected("has a OneVsRestClassifier without one estimator for each class")
    for estimator in model.estimators_:
        interface = check_classifier(estimator, interface_of, "OneVsRestClassifier")
        if interface.n_features not in (None, model.n_features_in_):
            raise Rejected("has a OneVsRestClassifier with estimators of other features")
        if interface.classes is not None and interface.classes.tolist() != [0, 1]:
            raise Rejected("has a OneVsRestClassifier with estimators that are not binary")


_LOGISTIC = {
    **classifier_fields(),
    "coef_": Coefficients(
        "n_problems", "n_features", find_step=lambda model, norm: _RELATIVE_STEP / norm
    ),
    "intercept_": Array(FLOATS, "n_problems"),
    "n_iter_": Array("int32", "n_fits", low=0),
}

SCHEMAS = (
    Schema(
        cls=LinearSVMClassifier,
        fitted={
            **classifier_fields(),
            "multilabel_": choice(True, False),
            "temperature_": number(1e-100, MAX_NUMBER),
            "coef_": Coefficients(
                "n_problems",
                "n_features",
                find_step=lambda model, norm: _RELATIVE_STEP * float(model.temperature_) / norm,
            ),
            "intercept_": Array("float64", "n_problems"),
            "n_iter_": integer(0, 2**31),
        },
        check=_check_rows,
    ),
    Schema(cls=LogisticRegression, fitted=_LOGISTIC, check=_check_rows),
    Schema(
        cls=EmbeddingClassifier,
        fitted=_LOGISTIC,
        # Only training needs them.
        storable={"class_vectors": lambda class_vectors: None},
        check=_check_rows,
    ),
    Schema(
        cls=LabelBinarizer,
        fitted={
            "classes_": Labels(),
            "y_type_": choice("binary", "multiclass", "multilabel-indicator"),
            "sparse_input_": choice(True, False),
        },
        interface=lambda model, interface_of: Interface(),
    ),
    Schema(
        cls=OneVsRestClassifier,
        fitted={
            "estimators_": EstimatorList(),
            "label_binarizer_": Estimator(),
            "classes_": Labels(),
            "n_features_in_": Size("n_features", optional=True),
            "feature_names_in_": FeatureNames(),
        },
        nested={"estimator": Estimator()},
        check=_check_one_vs_rest,
    ),
)
