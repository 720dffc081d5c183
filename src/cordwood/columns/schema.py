"""Schemas of the transformers of tables: conversion, one-hot codes, numbers, and their union."""

from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes, match_sizes
from cordwood._schema.errors import Rejected
from cordwood._schema.fields import Array, FeatureNames, Size, choice, to_object_array
from cordwood._schema.interface import Interface, InterfaceOf
from cordwood._schema.schema import Schema, check_transformer_weights
from cordwood.columns.converter import TableConverter, list_outputs
from cordwood.columns.numeric import NumericEncoder
from cordwood.columns.roles import ColumnRoles, check_columns

_BYTES_PER_CATEGORY = 200
# Of the lists of columns by transformer and by kind.
_BYTES_PER_COLUMN = 200
_MAX_KNOTS = 10_000
_MAX_OUTPUTS = 1_000_000
_MAX_COLUMNS = 100_000
_TEXT, _CATEGORY, _NUMBER = "text", "categorical", "numeric"


class _Roles(Field):
    """The columns of a table by role."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return value.to_dict()

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return check_columns(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        return None if isinstance(value, ColumnRoles) else "columns by role"


class _Categories(Field):
    """Sorted categories of each column."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        categories = [category for column in value for category in column.tolist()]
        encoder.spend(_BYTES_PER_CATEGORY * len(categories))
        return {
            "strings": encoder.add_strings(categories),
            "sizes": [len(column) for column in value],
        }

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict) or not isinstance(lengths := node.get("sizes"), list):
            raise Rejected("has categories of the wrong structure")
        categories = decoder.get_strings(node.get("strings"))
        decoder.spend(_BYTES_PER_CATEGORY * len(categories))
        if not all(type(n) is int and n > 0 for n in lengths) or sum(lengths) != len(categories):
            raise Rejected("has categories of the wrong structure")
        return np.split(to_object_array(categories), np.cumsum(lengths)[:-1])

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list) or not value:
            return "a list of arrays"
        for column in value:
            if not isinstance(column, np.ndarray) or column.dtype.kind != "O" or not len(column):
                return "a list of arrays of strings"
            names = column.tolist()
            if not all(type(name) is str for name in names):
                return "a list of arrays of strings"
            if not all(a < b for a, b in pairwise(names)):
                return "sorted and without duplicates"
        return match_sizes(("n_features",), (len(value),), sizes)


class _ColumnEstimators(Field):
    """Triples of a name, an estimator or "drop", and the positions of its columns."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        outer_norm, encoder.input_norm = encoder.input_norm, None
        nodes = [
            [name, each if isinstance(each, str) else encoder.encode(each), _to_plain(columns)]
            for name, each, columns in value
        ]
        encoder.input_norm = outer_norm
        return nodes

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, list) or not all(
            isinstance(triple, list) and len(triple) == 3 for triple in node
        ):
            raise Rejected("has a ColumnTransformer of the wrong structure")
        return [
            (name, each if isinstance(each, str) else decoder.decode(each), columns)
            for name, each, columns in node
        ]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        wanted = "a list of names, estimators and positions of columns"
        if not isinstance(value, list) or not value or not all(len(each) == 3 for each in value):
            return wanted
        names = [name for name, _, _ in value]
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            return f"{wanted}, with distinct names"
        for _, each, columns in value:
            is_estimator = hasattr(each, "fit") or (isinstance(each, str) and each == "drop")
            positions = columns if isinstance(columns, list) else [columns]
            if not is_estimator or not positions or not all(map(_is_position, positions)):
                return wanted
        return None


class _OutputSlices(Field):
    """The columns of the output of each transformer."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return {name: [each.start, each.stop] for name, each in value.items()}

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict):
            raise Rejected("has a ColumnTransformer of the wrong structure")
        return {name: slice(*pair) for name, pair in node.items()}

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check the type; the schema compares the slices with the transformers."""
        is_valid = isinstance(value, dict) and all(
            isinstance(each, slice) for each in value.values()
        )
        return None if is_valid else "slices by name"


def _to_plain(columns: Any) -> Any:
    """Return positions as plain integers; anything else is checked later."""
    if isinstance(columns, list | np.ndarray):
        return [_to_plain(each) for each in columns]
    return int(columns) if isinstance(columns, int | np.integer) else columns


def _is_position(value: Any) -> bool:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_integer and bool(0 <= value < _MAX_COLUMNS)


def _check_converter(model: Any, interface_of: InterfaceOf) -> None:
    if model._validate_params() != model.columns_:
        raise Rejected("has a TableConverter whose columns_ contradict its parameters")


def _converter_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    _, positions, _ = list_outputs(model.columns_, join_text=model.join_text)
    kinds = tuple(kind for kind, found in positions.items() for _ in found)
    return Interface(n_outputs=len(kinds), output_kinds=kinds, is_table=True)


def _check_one_hot_params(model: Any, is_trusted: bool) -> None:
    fixed = {
        "categories": "auto",
        "drop": None,
        "handle_unknown": "ignore",
        "min_frequency": None,
        "max_categories": None,
        "feature_name_combiner": "concat",
    }
    for name, value in fixed.items():
        if getattr(model, name) != value:
            raise Rejected(f"has a OneHotEncoder whose {name} is not {value!r}")
    if type(model.sparse_output) is not bool or _to_dtype_name(model.dtype) is None:
        raise Rejected("has a OneHotEncoder with invalid parameters")


def _to_dtype_name(dtype: Any) -> str | None:
    for name in ("float32", "float64"):
        if isinstance(dtype, str | type) and dtype in (name, np.dtype(name).type):
            return name
    return None


def _to_storable_dtype(dtype: Any) -> Any:
    return dtype if dtype is np.float64 else _to_dtype_name(dtype)


def _finish_one_hot(model: Any) -> None:
    """Set what `fit` derives from the categories, without infrequent ones."""
    model.dtype = np.dtype(_to_dtype_name(model.dtype)).type
    model.drop_idx_ = model._drop_idx_after_grouping = None
    model._infrequent_enabled = False
    model._n_features_outs = [len(categories) for categories in model.categories_]


def _one_hot_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    n_features = len(model.categories_)
    return Interface(
        n_features=n_features,
        n_outputs=sum(map(len, model.categories_)),
        norm=sqrt(n_features),
        input_kinds=(_CATEGORY,) * n_features,
    )


def _check_numeric(model: Any, interface_of: InterfaceOf) -> None:
    missing = model.missing_features_
    if model.n_features_in_ * (model.n_knots or 1) > _MAX_OUTPUTS:
        raise Rejected(f"has a NumericEncoder that returns more than {_MAX_OUTPUTS:,} features")
    if (np.diff(model.quantiles_, axis=0) < 0).any():
        raise Rejected("has a NumericEncoder whose quantiles_ are not sorted")
    if (np.diff(missing) <= 0).any() or (len(missing) and missing[-1] >= model.n_features_in_):
        raise Rejected("has a NumericEncoder whose missing_features_ are not sorted features")


def _check_numeric_params(model: Any, is_trusted: bool) -> None:
    model._validate_params()
    if model.n_knots is not None and model.n_knots > _MAX_KNOTS:
        raise Rejected(f"has a NumericEncoder with more than {_MAX_KNOTS:,} knots")


def _numeric_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    n_features = int(model.n_features_in_)
    return Interface(
        n_features=n_features,
        n_outputs=n_features * (model.n_knots or 1) + len(model.missing_features_),
        norm=sqrt(n_features),
        input_kinds=(_NUMBER,) * n_features,
    )


def _check_transformer_params(model: Any, is_trusted: bool) -> None:
    if model.remainder != "drop":
        raise Rejected("has a ColumnTransformer whose remainder is not 'drop'")
    threshold = model.sparse_threshold
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise Rejected("has a ColumnTransformer with an invalid sparse_threshold")
    check_transformer_weights(model, [name for name, _, _ in model.transformers])


def _list_estimators(model: Any) -> list[tuple[str, Any, Any]]:
    return [each for each in model.transformers_ if not isinstance(each[1], str)]


def _check_transformer(model: Any, interface_of: InterfaceOf) -> None:
    if model.n_features_in_ > _MAX_COLUMNS:
        raise Rejected(f"has a ColumnTransformer of more than {_MAX_COLUMNS:,} columns")
    named = {name: columns for name, _, columns in model.transformers}
    fitted = _list_estimators(model)
    if not fitted or [name for name, _, _ in fitted] != list(named):
        raise Rejected("has a ColumnTransformer without one fitted transformer for each name")
    for name, each, columns in fitted:
        positions = columns if isinstance(columns, list) else [columns]
        if not np.array_equal(columns, named[name]) or max(positions) >= model.n_features_in_:
            raise Rejected("has a ColumnTransformer with other columns than its parameters")
        interface = interface_of(each)
        is_text = interface.takes_text and not isinstance(columns, list)
        is_array = interface.n_features == len(positions) and isinstance(columns, list)
        if not interface.is_fitted or interface.n_outputs is None or not (is_text or is_array):
            raise Rejected(f"has a ColumnTransformer whose {name!r} cannot transform its columns")
    _transformer_interface(model, interface_of)
    end, slices = 0, {}
    for name, each, _ in fitted:
        n_outputs = interface_of(each).n_outputs or 0
        slices[name] = slice(end, end + n_outputs)
        end += n_outputs
    found = {**model.output_indices_}
    if found.pop("remainder", slice(0, 0)) != slice(0, 0) or found != slices:
        raise Rejected("has a ColumnTransformer with invalid output_indices_")


def _transformer_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    kinds: list[str | None] = [None] * int(model.n_features_in_)
    n_outputs, squared_norm, has_norm = 0, 0.0, True
    for name, each, columns in _list_estimators(model):
        interface = interface_of(each)
        wanted = (_TEXT,) if interface.takes_text else interface.input_kinds or ()
        for position, kind in zip(np.atleast_1d(columns).tolist(), wanted, strict=True):
            if kinds[position] not in (None, kind):
                raise Rejected("has a ColumnTransformer that uses a column in two ways")
            kinds[position] = kind
        weight = (model.transformer_weights or {}).get(name, 1.0)
        n_outputs += interface.n_outputs or 0
        has_norm &= interface.norm is not None
        squared_norm += ((interface.norm or 0.0) * weight) ** 2
    return Interface(
        n_features=int(model.n_features_in_),
        n_outputs=n_outputs,
        norm=sqrt(squared_norm) if has_norm else None,
        input_kinds=tuple(kinds),
    )


def _finish_transformer(model: Any) -> None:
    """Set what `fit` derives from the transformers."""
    fitted = model.transformers_
    used = {name: np.atleast_1d(columns).tolist() for name, _, columns in fitted}
    in_use = {position for name, _, _ in model.transformers for position in used[name]}
    rest = sorted(set(range(int(model.n_features_in_))) - in_use)
    model._columns = [columns for _, _, columns in model.transformers]
    model._transformer_to_input_indices = {**used, "remainder": rest}
    model._remainder = ("remainder", model.remainder, rest)
    model._name_to_fitted_passthrough = {}


SCHEMAS = (
    Schema(
        cls=TableConverter,
        fitted={"columns_": _Roles()},
        check=_check_converter,
        interface=_converter_interface,
    ),
    Schema(
        cls=OneHotEncoder,
        fitted={"categories_": _Categories(), "n_features_in_": Size("n_features")},
        storable={"dtype": _to_storable_dtype},
        check_params=_check_one_hot_params,
        finish=_finish_one_hot,
        interface=_one_hot_interface,
    ),
    Schema(
        cls=NumericEncoder,
        fitted={
            "quantiles_": Array("float64", 101, "n_features"),
            "missing_features_": Array("int64|int32", "n_missing", low=0, high=_MAX_COLUMNS),
            "n_features_in_": Size("n_features"),
            "feature_names_in_": FeatureNames(),
        },
        check=_check_numeric,
        check_params=_check_numeric_params,
        interface=_numeric_interface,
    ),
    Schema(
        cls=ColumnTransformer,
        fitted={
            "transformers_": _ColumnEstimators(),
            "n_features_in_": Size("n_features", bytes_each=_BYTES_PER_COLUMN),
            "sparse_output_": choice(True, False),
            "output_indices_": _OutputSlices(),
        },
        nested={"transformers": _ColumnEstimators()},
        check=_check_transformer,
        check_params=_check_transformer_params,
        finish=_finish_transformer,
        interface=_transformer_interface,
    ),
)
