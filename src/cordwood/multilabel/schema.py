"""Schemas of multilabel classifiers."""

from typing import Any

import numpy as np

from cordwood._schema.base import FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood._schema.fields import Array, Labels, Size, integer
from cordwood._schema.interface import Interface, InterfaceOf, chain_interface, check_classifier
from cordwood._schema.nested import Estimator, EstimatorList
from cordwood._schema.schema import Schema
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.multilabel.problem_transformation import BinaryRelevance, LabelPowerset
from cordwood.stacking.schema import (
    INDEX_LIST,
    SHARED_STEPS,
    SOURCE_MAPPING,
    STRINGS,
    encode_after,
    merge_kinds,
)


class _Members(EstimatorList):
    """The members, each of which takes the output of its shared steps."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return [
            encode_after(owner._shared_steps[position], member, encoder)
            for member, position in zip(value, owner._step_index, strict=True)
        ]


class _EstimatorsOrNone(EstimatorList):
    """A list of estimators that may be empty."""

    def check(self, value: Any, sizes: Sizes) -> str | None:
        return None if value == [] else super().check(value, sizes)


def _check_binary_relevance(model: Any, interface_of: InterfaceOf) -> None:
    n_labels = len(model.classes_)
    fitted = model.fitted_labels_
    is_constant = ~np.isnan(model.constant_proba_)
    if not np.array_equal(fitted, np.flatnonzero(~is_constant)) or len(fitted) > n_labels:
        raise Rejected("has a BinaryRelevance whose labels contradict each other")
    if len(model.estimators_) != len(fitted):
        raise Rejected("has a BinaryRelevance without one estimator for each label")
    _check_columns(model)
    for estimator in model.estimators_:
        interface = check_classifier(estimator, interface_of, "BinaryRelevance")
        if interface.classes is not None and not np.isin(interface.classes, [0, 1]).all():
            raise Rejected("has a BinaryRelevance with an estimator that is not binary")
        _check_features(model, interface)


def _check_powerset(model: Any, interface_of: InterfaceOf) -> None:
    n_sets = len(model.label_sets_)
    if not n_sets or (model.estimator_ is None) != (n_sets == 1):
        raise Rejected("has a LabelPowerset whose label sets contradict its estimator")
    _check_columns(model)
    if model.estimator_ is None:
        return
    interface = check_classifier(model.estimator_, interface_of, "LabelPowerset")
    if interface.classes is not None and not np.isin(interface.classes, np.arange(n_sets)).all():
        raise Rejected("has a LabelPowerset whose estimator predicts other label sets")
    _check_features(model, interface)


def _check_columns(model: Any) -> None:
    if not np.array_equal(model.classes_, np.arange(len(model.classes_))):
        raise Rejected(f"has a {type(model).__name__} whose classes_ are not column indices")


def _check_features(model: Any, interface: Interface) -> None:
    n_features = getattr(model, "n_features_in_", None)
    if None not in (n_features, interface.n_features) and n_features != interface.n_features:
        raise Rejected(f"has a {type(model).__name__} with an estimator of other features")


def _check_multilabel(model: Any, interface_of: InterfaceOf) -> None:
    n_labels, n_members = len(model.classes_), len(model.estimators_)
    if {n_members, len(model._names), len(model._step_index), len(model.coef_)} != {n_members}:
        raise Rejected("has a MultiLabelClassifier without one name for each member")
    if set(model.oof_source_) != set(model._names):
        raise Rejected("has a MultiLabelClassifier with sources of other members")
    if model.min_labels_ > n_labels:
        raise Rejected("has a MultiLabelClassifier that predicts more labels than it has")
    if not all(0 <= position < len(model._shared_steps) for position in model._step_index):
        raise Rejected("has a MultiLabelClassifier with a member of the wrong structure")
    inputs = set()
    for member, interface in zip(
        model.estimators_, _member_interfaces(model, interface_of), strict=True
    ):
        check_classifier(member, interface_of, "MultiLabelClassifier", is_multilabel=True)
        classes = interface.classes
        if classes is not None and not np.array_equal(classes, np.arange(n_labels)):
            raise Rejected("has a MultiLabelClassifier with a member of other labels")
        inputs.add((interface.n_features, interface.takes_text))
    inputs.discard((None, False))
    if len(inputs) > 1:
        raise Rejected("has a MultiLabelClassifier whose members take different features")
    n_features = getattr(model, "n_features_in_", None)
    # Without a number of features, the samples are texts.
    takes_other = any((n_features is None) != takes_text for _, takes_text in inputs)
    if takes_other or (n_features is not None and inputs - {(n_features, False)}):
        raise Rejected("has a MultiLabelClassifier whose members take other features")


def _member_interfaces(model: Any, interface_of: InterfaceOf) -> list[Interface]:
    return [
        chain_interface(
            [*(step for _, step in model._shared_steps[position]), member], interface_of
        )
        for member, position in zip(model.estimators_, model._step_index, strict=True)
    ]


def _multilabel_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    members = _member_interfaces(model, interface_of)
    return Interface(
        n_features=getattr(model, "n_features_in_", None),
        takes_text=any(each.takes_text for each in members),
        takes_counts=any(each.takes_counts for each in members),
        classes=model.classes_,
        is_multilabel=True,
        input_kinds=merge_kinds(members),
    )


def _transformation_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    estimators = model.estimators_ if isinstance(model, BinaryRelevance) else [model.estimator_]
    return Interface(
        n_features=getattr(model, "n_features_in_", None),
        takes_counts=any(interface_of(each).takes_counts for each in estimators),
        classes=model.classes_,
        is_multilabel=True,
    )


SCHEMAS = (
    Schema(
        cls=MultiLabelClassifier,
        fitted={
            "classes_": Labels(),
            "n_features_in_": Size("n_features", optional=True),
            "_names": STRINGS,
            "oof_source_": SOURCE_MAPPING,
            "_shared_steps": SHARED_STEPS,
            "_step_index": INDEX_LIST,
            "estimators_": _Members(),
            "coef_": Array("float64", "n_members", "n_classes", low=-1e30, high=1e30),
            "intercept_": Array("float64", "n_classes", low=-1e30, high=1e30),
            "thresholds_": Array("float64", "n_classes", low=0, high=1),
            "min_labels_": integer(0, 2**31),
        },
        nested={"estimator": Estimator()},
        storable={"classes": lambda classes: None if classes is None else [*classes]},
        check=_check_multilabel,
        interface=_multilabel_interface,
    ),
    Schema(
        cls=BinaryRelevance,
        fitted={
            "classes_": Labels(),
            "n_features_in_": Size("n_features", optional=True),
            "constant_proba_": Array("float64", "n_classes", low=0, high=1, allow_nan=True),
            "fitted_labels_": Array("int64", "n_fitted", low=0, high=2**31),
            "estimators_": _EstimatorsOrNone(),
        },
        nested={"estimator": Estimator()},
        check=_check_binary_relevance,
        interface=_transformation_interface,
    ),
    Schema(
        cls=LabelPowerset,
        fitted={
            "classes_": Labels(),
            "n_features_in_": Size("n_features", optional=True),
            "label_sets_": Array("bool", "n_label_sets", "n_classes"),
            "estimator_": Estimator(nullable=True),
        },
        nested={"estimator": Estimator()},
        check=_check_powerset,
        interface=_transformation_interface,
    ),
)
