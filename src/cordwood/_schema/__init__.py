"""Schemas: what a model file contains of each class, and what is valid.

A schema lists the fitted attributes that prediction needs, each with a `Field` that converts it to
JSON and back and checks its type, shape and range. Schemas are next to their estimators, in modules
named `schema`. `cordwood.persist` collects them, and runs the same checks when it writes and when
it loads a file.
"""

from cordwood._schema.errors import Rejected, expect_list, shorten
from cordwood._schema.fields import (
    FLOATS,
    MAX_NUMBER,
    Array,
    Decoder,
    Encoder,
    FeatureNames,
    Field,
    Labels,
    Plain,
    Size,
    Sizes,
    choice,
    integer,
    match_sizes,
    number,
    text,
    to_object_array,
)
from cordwood._schema.interface import Interface, InterfaceOf, chain_interface
from cordwood._schema.matrices import Coefficients
from cordwood._schema.nested import Estimator, EstimatorList, NamedEstimators
from cordwood._schema.schema import Schema, check_label_indices, check_transformer_weights

__all__ = [
    "FLOATS",
    "MAX_NUMBER",
    "Array",
    "Coefficients",
    "Decoder",
    "Encoder",
    "Estimator",
    "EstimatorList",
    "FeatureNames",
    "Field",
    "Interface",
    "InterfaceOf",
    "Labels",
    "NamedEstimators",
    "Plain",
    "Rejected",
    "Schema",
    "Size",
    "Sizes",
    "chain_interface",
    "check_label_indices",
    "check_transformer_weights",
    "choice",
    "expect_list",
    "integer",
    "match_sizes",
    "number",
    "shorten",
    "text",
    "to_object_array",
]
