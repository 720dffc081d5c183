"""Schemas of pipelines, feature unions, scalers and the removal of empty features."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cordwood._base.empty_features import EmptyFeatureRemover
from cordwood.persist._class_schema import Interface, InterfaceOf, Schema, scaler_interface
from cordwood.persist._errors import Rejected
from cordwood.persist._fields import FLOATS, MAX_NUMBER, Array, FeatureNames, Size, number
from cordwood.persist._nested import NamedEstimators


def chain_interface(steps: Sequence[Any], interface_of: InterfaceOf) -> Interface:
    """Return the interface of steps that are applied one after another.

    Raises
    ------
    Rejected
        If a step does not take what the one before it returns.
    """
    estimators = [step for step in steps if step is not None and not isinstance(step, str)]
    if not estimators:
        return Interface()
    interfaces = [interface_of(step) for step in estimators]
    for first, second in zip(interfaces, interfaces[1:], strict=False):
        is_known = first.n_outputs is not None
        if is_known and (second.takes_text or second.n_features not in (None, first.n_outputs)):
            raise Rejected(
                f"has a pipeline in which a step takes {second.n_features or 'texts'} and the one "
                f"before it returns {first.n_outputs} features"
            )
        _check_kinds(first, second)
        if first.classes is not None:
            raise Rejected("has a pipeline in which a classifier is not the last step")
        if {first.is_fitted, second.is_fitted} == {True, False}:
            raise Rejected("has a pipeline in which only some steps are fitted")
    first, last = interfaces[0], interfaces[-1]
    return last._replace(
        n_features=first.n_features,
        takes_text=first.takes_text,
        is_table=first.is_table,
        input_kinds=first.input_kinds,
    )


def _check_kinds(first: Interface, second: Interface) -> None:
    """Raise Rejected unless the columns of the first step are of the kinds of the second."""
    if second.is_table:
        raise Rejected("has a pipeline in which a TableConverter is not the first step")
    if None in (first.is_fitted, second.is_fitted):
        return
    found, wanted = first.output_kinds, second.input_kinds
    if (found is None) != (wanted is None):
        raise Rejected("has a pipeline in which a step takes other kinds of columns")
    if found is not None and wanted is not None:
        pairs = zip(found, wanted, strict=True)
        if not all(kind in (None, each) for each, kind in pairs):
            raise Rejected("has a pipeline in which a step takes other kinds of columns")


def _check_pipeline(model: Any, interface_of: InterfaceOf) -> None:
    if all(step is None or isinstance(step, str) for _, step in model.steps):
        raise Rejected("has a pipeline without estimators")
    chain_interface([step for _, step in model.steps], interface_of)


def _union_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    estimators = [each for _, each in model.transformer_list if not isinstance(each, str)]
    if len(estimators) < len(model.transformer_list):
        return Interface()
    interfaces = [interface_of(each) for each in estimators]
    weights = [
        (model.transformer_weights or {}).get(name, 1.0) for name, _ in model.transformer_list
    ]
    outputs = [each.n_outputs for each in interfaces]
    norms = [each.norm for each in interfaces]
    if len({(each.takes_text, each.n_features, each.is_fitted) for each in interfaces}) > 1:
        raise Rejected("has a FeatureUnion whose transformers take different features")
    if any(each.is_fitted and each.n_outputs is None for each in interfaces):
        raise Rejected("has a FeatureUnion with an estimator that is not a transformer")
    n_outputs = None if None in outputs else sum(n for n in outputs if n is not None)
    norm = None
    if None not in norms:
        pairs = zip(norms, weights, strict=True)
        norm = sqrt(sum((each * weight) ** 2 for each, weight in pairs if each is not None))
    return Interface(
        n_features=interfaces[0].n_features,
        takes_text=interfaces[0].takes_text,
        n_outputs=n_outputs,
        norm=norm,
        is_fitted=interfaces[0].is_fitted,
    )


def _check_union(model: Any, interface_of: InterfaceOf) -> None:
    weights = model.transformer_weights
    if weights is not None:
        names = {name for name, _ in model.transformer_list}
        if not isinstance(weights, dict) or not set(weights) <= names:
            raise Rejected("has a FeatureUnion with weights of unknown transformers")
        if not all(isinstance(each, int | float) and abs(each) < 1e30 for each in weights.values()):
            raise Rejected("has a FeatureUnion with invalid weights")
    if not model.transformer_list:
        raise Rejected("has a FeatureUnion without transformers")
    _union_interface(model, interface_of)


_FEATURES = {
    "n_features_in_": Size("n_features"),
    "feature_names_in_": FeatureNames(),
}

SCHEMAS = (
    Schema(
        cls=Pipeline,
        fitted={},
        nested={"steps": NamedEstimators(is_chain=True)},
        check=_check_pipeline,
        interface=lambda model, interface_of: chain_interface(
            [step for _, step in model.steps], interface_of
        ),
    ),
    Schema(
        cls=FeatureUnion,
        fitted={},
        nested={"transformer_list": NamedEstimators()},
        check=_check_union,
        interface=_union_interface,
        check_params=lambda model, is_trusted: None,
    ),
    Schema(
        cls=StandardScaler,
        fitted={
            **_FEATURES,
            "n_samples_seen_": number(0, MAX_NUMBER),
            "mean_": Array(FLOATS, "n_features", nullable=True),
            "var_": Array(FLOATS, "n_features", low=0, nullable=True),
            "scale_": Array(FLOATS, "n_features", low=1e-100, nullable=True),
        },
        check=lambda model, interface_of: _check_standard_scaler(model),
        interface=scaler_interface,
    ),
    Schema(
        cls=MinMaxScaler,
        fitted={
            **_FEATURES,
            "n_samples_seen_": number(0, MAX_NUMBER),
            "scale_": Array(FLOATS, "n_features"),
            "min_": Array(FLOATS, "n_features"),
            "data_min_": Array(FLOATS, "n_features"),
            "data_max_": Array(FLOATS, "n_features"),
            "data_range_": Array(FLOATS, "n_features"),
        },
        interface=scaler_interface,
    ),
    Schema(
        cls=EmptyFeatureRemover,
        fitted={**_FEATURES, "features_": Array("int32|int64", "n_kept", low=0, high=2**31)},
        check=lambda model, interface_of: _check_features(model),
        check_params=lambda model, is_trusted: None,
        interface=lambda model, interface_of: Interface(
            n_features=int(model.n_features_in_), n_outputs=len(model.features_)
        ),
    ),
)


def _check_features(model: Any) -> None:
    features = model.features_
    is_sorted = len(features) > 0 and bool((np.diff(features) > 0).all())
    if not is_sorted or features[-1] >= model.n_features_in_:
        raise Rejected("has an EmptyFeatureRemover whose features are not sorted indices")


def _check_standard_scaler(model: Any) -> None:
    if (model.with_std and model.scale_ is None) or (model.with_mean and model.mean_ is None):
        raise Rejected("has a StandardScaler without the mean_ or scale_ that it needs")
