"""Estimators as JSON: by the schema of their class, or as plain values if the caller trusts it."""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from cordwood._schema.budget import OBJECT_COST
from cordwood._schema.errors import Rejected, shorten
from cordwood._schema.schema import Schema
from cordwood.exceptions import ModelFileError
from cordwood.persist._arrays import ArrayReader, ArrayWriter
from cordwood.persist._plain_values import ValueDecoder, ValueEncoder
from cordwood.persist.registry import BY_CLASS, BY_NAME, Interfaces

Trusted = Mapping[str, type]

_MAX_NAME_LENGTH = 150
# Of estimators in estimators: scikit-learn takes exponential time to predict with nested pipelines.
_MAX_DEPTH = 10


def resolve_trusted(trusted: Iterable[type | str]) -> dict[str, type]:
    """Return the classes by full name; import those that are given by name."""
    if isinstance(trusted, str | type):
        raise ModelFileError(
            f"trusted must be a list of classes or of their names; got {trusted!r}"
        )
    classes = [_import_class(each) if isinstance(each, str) else each for each in trusted]
    for each in classes:
        if not isinstance(each, type):
            raise ModelFileError(f"trusted must contain classes or their names; got {each!r}")
    return {full_name(each): each for each in classes}


def full_name(kind: type) -> str:
    """Return the name of a class with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _import_class(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"trusted contains {name!r}, which cannot be imported; give the class or its full name,"
            " such as 'sklearn.svm.LinearSVC'"
        ) from error


class ModelEncoder:
    """Converts a fitted estimator to JSON and arrays, after checking it."""

    def __init__(
        self, arrays: ArrayWriter, *, is_compact: bool, bundles_encoder: bool, trusted: Trusted
    ) -> None:
        self.is_compact = is_compact
        self.bundles_encoder = bundles_encoder
        self.input_norm: float | None = None
        self.interface_of = Interfaces().of
        self._depth = 0
        self.encode_value = ValueEncoder(arrays, self.encode).encode
        self.add_array, self.add_strings = arrays.add, arrays.add_strings
        self.spend = arrays.budget.spend
        self._trusted = trusted

    def encode(self, model: Any) -> dict[str, Any]:
        """Convert an estimator; raise Rejected if `load` would not accept it."""
        with _nest(self):
            return self._encode(model)

    def _encode(self, model: Any) -> dict[str, Any]:
        schema = BY_CLASS.get(type(model))
        if schema is None:
            return self._encode_trusted(model)
        params = schema.params(model)
        _check_params(schema, params, model, full_name(schema.cls) in self._trusted)
        defaults = schema.defaults()
        node: dict[str, Any] = {
            "class": schema.name,
            "params": {
                name: self._encode_param(schema, name, value)
                for name, value in params.items()
                if not _is_default(value, defaults[name])
            },
        }
        for name, each in schema.nested.items():
            node.setdefault("nested", {})[name] = each.encode(getattr(model, name), self, model)
        if schema.is_fitted(model):
            schema.check_fitted(model, self.interface_of)
            node["fitted"] = {
                name: each.encode(getattr(model, name, None), self, model)
                for name, each in schema.fitted.items()
                if each.is_stored(name, model, self)
            }
        return node

    def _encode_param(self, schema: Schema, name: str, value: Any) -> Any:
        try:
            return self.encode_value(value)
        except Rejected as reason:
            raise Rejected(f"has a {schema.cls.__name__} whose parameter {name} {reason}") from None

    def _encode_trusted(self, model: Any) -> dict[str, Any]:
        name = full_name(type(model))
        if name not in self._trusted:
            raise Rejected(_explain_unknown(name, "to save and to load"))
        if not hasattr(model, "__dict__"):
            raise Rejected(f"contains a {name}, which has no attributes that could be stored")
        state = {
            attribute: self.encode_value(_to_storable(attribute, value))
            for attribute, value in vars(model).items()
        }
        return {"class": name, "state": state}


class ModelDecoder:
    """Builds estimators from JSON and arrays of an untrusted file."""

    def __init__(self, arrays: ArrayReader, *, trusted: Trusted) -> None:
        self.decode_value = ValueDecoder(arrays, self.decode).decode
        self.get_array, self.get_strings = arrays.get, arrays.get_strings
        self.interface_of = Interfaces().of
        self.spend = arrays.budget.spend
        self.parts: list[Any] = []  # all objects that were built
        self._depth = 0
        self._trusted = trusted

    def trusts(self, kind: type) -> bool:
        """Return whether the caller trusts a class."""
        return full_name(kind) in self._trusted

    def decode(self, node: Any) -> Any:
        """Build an estimator; raise an exception if it is not valid."""
        with _nest(self):
            return self._decode(node)

    def _decode(self, node: Any) -> Any:
        if not isinstance(node, dict) or not isinstance(name := node.get("class"), str):
            raise Rejected("has an object without a class")
        schema = BY_NAME.get(name)
        if schema is None:
            return self._decode_trusted(name, node)
        _check_keys(node, {"class", "params"}, {"nested", "fitted"})
        params = schema.defaults()
        stored = _expect_mapping(node["params"])
        if unknown := set(stored) - set(params):
            raise Rejected(f"has a {schema.cls.__name__} with a parameter {shorten(min(unknown))}")
        params.update({param: self.decode_value(value) for param, value in stored.items()})
        model = _make_bare(schema.cls)
        nested = _expect_mapping(node.get("nested", {}))
        if set(nested) != set(schema.nested):
            raise Rejected(f"has a {schema.cls.__name__} with invalid parameters")
        vars(model).update(params)
        for param, each in schema.nested.items():
            value = each.decode(nested[param], self, model)
            if problem := each.check(value, {}):
                raise Rejected(f"has a {schema.cls.__name__} whose {param} must be {problem}")
            vars(model)[param] = value
        # Values that a file does not contain, such as n_jobs, are replaced as in `save`.
        params = schema.params(model)
        vars(model).update(params)
        _check_params(schema, params, model, self.trusts(schema.cls))
        if "fitted" in node or not schema.required:
            self._decode_fitted(schema, model, _expect_mapping(node.get("fitted", {})))
        self.parts.append(model)
        return model

    def _decode_fitted(self, schema: Schema, model: Any, fitted: Mapping[str, Any]) -> None:
        _check_keys(fitted, set(schema.required), set(schema.fitted))
        for name, each in schema.fitted.items():
            if name in fitted:
                vars(model)[name] = each.decode(fitted[name], self, model)
        schema.check_fitted(model, self.interface_of)
        schema.finish(model)

    def _decode_trusted(self, name: str, node: Mapping[str, Any]) -> Any:
        kind = self._trusted.get(name)
        if kind is None:
            raise Rejected(_explain_unknown(name, "if you trust the file"))
        _check_keys(node, {"class", "state"})
        state = _expect_mapping(node["state"])
        model = _make_bare(kind)
        vars(model).update({key: self.decode_value(value) for key, value in state.items()})
        return model


@contextmanager
def _nest(converter: ModelEncoder | ModelDecoder) -> Iterator[None]:
    """Count an object and the level at which it is nested, before it is converted."""
    if converter._depth == _MAX_DEPTH:
        raise Rejected(f"has estimators that are nested in more than {_MAX_DEPTH} levels")
    converter.spend(OBJECT_COST)
    converter._depth += 1
    yield
    converter._depth -= 1


def _make_bare(kind: Any) -> Any:
    """Make an object without calling its constructor."""
    return kind.__new__(kind)


def _check_params(schema: Schema, params: Mapping[str, Any], model: Any, is_trusted: bool) -> None:
    """Validate the parameters that are stored, on an object that has nothing else."""
    probe = _make_bare(schema.cls)
    nested = {name: getattr(model, name) for name in schema.nested}
    vars(probe).update({**nested, **params})
    schema.check_params(probe, is_trusted)


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default)
        and isinstance(value, bool | int | float | str | tuple)
        and bool(value == default)
    )


def _to_storable(attribute: str, value: Any) -> Any:
    """Replace a random generator, which a file cannot contain, and the number of jobs by None."""
    is_generator = isinstance(value, np.random.RandomState | np.random.Generator)
    is_dropped = attribute == "n_jobs" or (attribute == "random_state" and is_generator)
    return None if is_dropped else value


def _explain_unknown(name: str, when: str) -> str:
    shown = shorten(name, _MAX_NAME_LENGTH)
    return (
        f"contains {shown}, which is not one of the classes that a model file may contain; {when},"
        f" pass trusted=[{shown!r}]"
    )


def _expect_mapping(node: Any) -> Mapping[str, Any]:
    if not isinstance(node, dict):
        raise Rejected("has a value of the wrong structure")
    return node


def _check_keys(
    node: Mapping[str, Any], required: Set[str], optional: Set[str] = frozenset()
) -> None:
    keys = set(node)
    if not required <= keys <= required | optional:
        different = min(keys ^ required)
        raise Rejected(f"has an object with a missing or unexpected entry {shorten(different)}")
