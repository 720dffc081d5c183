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


class Interfaces:
    """Interfaces of objects that do not change; that of a class without a schema is unknown."""

    def __init__(self) -> None:
        # By identity, with the object, so that no other object has its identity.
        self._found: dict[int, tuple[Any, Interface]] = {}

    def of(self, model: Any) -> Interface:
        """Return the interface of an object, which is computed once: objects are nested."""
        if id(model) not in self._found:
            self._found[id(model)] = model, self._find(model)
        return self._found[id(model)][1]

    def _find(self, model: Any) -> Interface:
        schema = BY_CLASS.get(type(model))
        if schema is None or not schema.is_fitted(model):
            return Interface(is_fitted=None if schema is None else False)
        interface = schema.interface(model, self.of)
        return interface._replace(is_fitted=True) if schema.required else interface
