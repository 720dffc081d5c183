"""The classes that a model file may contain, with their schemas."""

from collections.abc import Iterable
from typing import Any

from cordwood._schema.interface import Interface
from cordwood._schema.schema import Schema
from cordwood.columns import schema as _columns
from cordwood.ensemble import schema as _ensemble
from cordwood.linear_model import schema as _linear_model
from cordwood.multilabel import schema as _multilabel
from cordwood.naive_bayes import schema as _naive_bayes
from cordwood.neighbors import schema as _neighbors
from cordwood.persist import _compose
from cordwood.rules import schema as _rules
from cordwood.stacking import schema as _stacking
from cordwood.text import pretrained_schema as _pretrained
from cordwood.text import schema as _text

_MODULES = (
    *(_compose, _text, _pretrained, _columns, _linear_model, _naive_bayes),
    *(_neighbors, _rules, _ensemble, _stacking, _multilabel),
)

BY_CLASS: dict[type, Schema] = {}
BY_NAME: dict[str, Schema] = {}


def register(schemas: Iterable[Schema]) -> None:
    """Add the schemas of a package; those above this one call it when they are imported."""
    for schema in schemas:
        BY_CLASS[schema.cls] = BY_NAME[schema.name] = schema


for _module in _MODULES:
    register(_module.SCHEMAS)


def interface_of(model: Any) -> Interface:
    """Return the interface of an object; that of other classes and unfitted ones is unknown."""
    schema = BY_CLASS.get(type(model))
    if schema is None or not schema.is_fitted(model):
        return Interface(is_fitted=None if schema is None else False)
    interface = schema.interface(model, interface_of)
    return interface._replace(is_fitted=True) if schema.required else interface
