"""Schemas of pipelines, feature unions, scalers and the removal of empty features."""

from math import sqrt
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cordwood._base.empty_features import EmptyFeatureRemover
from cordwood._schema.errors import Rejected
from cordwood._schema.fields import FLOATS, MAX_NUMBER, Array, FeatureNames, Size, number
from cordwood._schema.interface import Interface, InterfaceOf, chain_interface
from cordwood._schema.nested import NamedEstimators
from cordwood._schema.schema import Schema, check_transformer_weights


def _check_pipeline(model: Any, interface_of: InterfaceOf) -> None:
    if all(step is None or isinstance(step, str) for _, step in model.steps):
        raise Rejected("has a pipeline without estimators")
    chain_interface([step for _, step in model.steps], interface_of)


def _union_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    used = [(name, each) for name, each in model.transformer_list if not isinstance(each, str)]
    if not used:
        raise Rejected("has a FeatureUnion without transformers")
    interfaces = [interface_of(each) for _, each in used]
    weights = [(model.transformer_weights or {}).get(name, 1.0) for name, _ in used]
    outputs = [each.n_outputs for each in interfaces]
    norms = [each.norm for each in interfaces]
    if len({(each.takes_text, each.n_features, each.is_fitted) for each in interfaces}) > 1:
        raise Rejected("has a FeatureUnion whose transformers take different features")
    if any(each.is_fitted and each.n_outputs is None for each in interfaces):
        raise Rejected("has a FeatureUnion with an estimator that is not a transformer")
    passed = [each for _, each in model.transformer_list if each == "passthrough"]
    if passed and interfaces[0].takes_text:
        raise Rejected("has a FeatureUnion that passes texts through")
    outputs += [interfaces[0].n_features for _ in passed]
    n_outputs = None if None in outputs else sum(n for n in outputs if n is not None)
    norm = None
    if None not in norms and not passed:
        pairs = zip(norms, weights, strict=True)
        norm = sqrt(sum((each * weight) ** 2 for each, weight in pairs if each is not None))
    return Interface(
        n_features=interfaces[0].n_features,
        takes_text=interfaces[0].takes_text,
        n_outputs=n_outputs,
        norm=norm,
        takes_counts=any(each.takes_counts for each in interfaces),
        returns_counts=all(each.returns_counts for each in interfaces)
        and not passed
        and set(weights) == {1.0},
        is_fitted=interfaces[0].is_fitted,
    )


def _check_union(model: Any, interface_of: InterfaceOf) -> None:
    check_transformer_weights(model, [name for name, _ in model.transformer_list])
    _union_interface(model, interface_of)


def _check_features(model: Any, interface_of: InterfaceOf) -> None:
    features = model.features_
    is_sorted = len(features) > 0 and bool((np.diff(features) > 0).all())
    if not is_sorted or features[-1] >= model.n_features_in_:
        raise Rejected("has an EmptyFeatureRemover whose features are not sorted indices")


def _check_standard_scaler(model: Any, interface_of: InterfaceOf) -> None:
    if (model.with_std and model.scale_ is None) or (model.with_mean and model.mean_ is None):
        raise Rejected("has a StandardScaler without the mean_ or scale_ that it needs")


def _scaler_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    return Interface(n_features=int(model.n_features_in_), n_outputs=int(model.n_features_in_))


_FEATURES = {
    "n_features_in_": Size("n_features"),
    "feature_names_in_": FeatureNames(),
}

SCHEMAS = (
    Schema(
        cls=Pipeline,
        fitted={},
        nested={"steps": NamedEstimators(is_chain=True, keywords=("passthrough", None))},
        check=_check_pipeline,
        interface=lambda model, interface_of: chain_interface(
            [step for _, step in model.steps], interface_of
        ),
    ),
    Schema(
        cls=FeatureUnion,
        fitted={},
        nested={"transformer_list": NamedEstimators(keywords=("drop", "passthrough"))},
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
        check=_check_standard_scaler,
        interface=_scaler_interface,
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
        interface=_scaler_interface,
    ),
    Schema(
        cls=EmptyFeatureRemover,
        fitted={**_FEATURES, "features_": Array("int32|int64", "n_kept", low=0, high=2**31)},
        check=_check_features,
        check_params=lambda model, is_trusted: None,
        interface=lambda model, interface_of: Interface(
            n_features=int(model.n_features_in_),
            n_outputs=len(model.features_),
            returns_counts=None,
        ),
    ),
)
