"""Schemas of all classes that a model file may contain, by family."""

from cordwood.persist._objects import Registry
from cordwood.persist.schemas import (
    _bayes,
    _column_encoders,
    _compose,
    _linear,
    _multilabel,
    _neighbors,
    _pretrained,
    _rules,
    _stacking,
    _text,
    _trees,
)

_FAMILIES = (
    _compose,
    _column_encoders,
    _text,
    _pretrained,
    _linear,
    _bayes,
    _neighbors,
    _trees,
    _rules,
    _stacking,
    _multilabel,
)

REGISTRY = Registry(schema for family in _FAMILIES for schema in family.SCHEMAS)
