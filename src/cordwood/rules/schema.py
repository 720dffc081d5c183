"""Schemas of the rule ensembles."""

from typing import Any

import numpy as np

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood._schema.fields import MAX_NUMBER, Array, choice, classifier_fields
from cordwood._schema.interface import InterfaceOf
from cordwood._schema.schema import Schema, check_label_indices
from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.rules.records import RuleSet, check_rules

_BYTES_PER_FEATURE = 16
# Of the record and its array objects, without their content, and of the time to check them.
_BYTES_PER_RULE_SET = 1_000
_DTYPES = {"feature": "int32", "present": "float64", "absent": "float64", "weight": "float64"}


class _RuleSets(Field):
    """One list of rule sets, whose arrays are concatenated."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        lengths = np.array([len(rules.feature) for rules in value], np.int64)
        node = {"lengths": encoder.add_array(lengths)}
        for name, dtype in _DTYPES.items():
            arrays = [getattr(rules, name) for rules in value]
            node[name] = encoder.add_array(np.concatenate([np.empty(0, dtype), *arrays]))
        encoder.spend(_BYTES_PER_RULE_SET * len(value))
        return node

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict) or set(node) != {"lengths", *_DTYPES}:
            raise Rejected("has rules of the wrong structure")
        lengths = decoder.get_array(node["lengths"])
        arrays = [decoder.get_array(node[name]) for name in _DTYPES]
        decoder.spend(_BYTES_PER_RULE_SET * lengths.size)
        n_rules = len(arrays[0]) if arrays[0].ndim == 1 else -1
        is_valid = lengths.ndim == 1 and lengths.dtype == np.int64
        if not is_valid or any(array.shape != (n_rules,) for array in arrays):
            raise Rejected("has rules of the wrong structure")
        if ((lengths < 0) | (lengths > n_rules)).any() or lengths.sum() != n_rules:
            raise Rejected("has rules of the wrong structure")
        ends = np.cumsum(lengths)
        return [
            RuleSet._make(array[start:end] for array in arrays)
            for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True)
        ]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list):
            return "a list of rules"
        for rules in value:
            check_rules(rules, sizes["n_features"])
            if any((np.abs(array) > MAX_NUMBER).any() for array in rules[1:]):
                return "rules with votes and weights that are not too large"
        return None


class _Stages(_RuleSets):
    """For each class, a list of rule sets."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        flat = [rules for stages in value for rules in stages]
        return [[len(stages) for stages in value], super().encode(flat, encoder, owner)]

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, list) or len(node) != 2 or not isinstance(node[0], list):
            raise Rejected("has rules of the wrong structure")
        sizes, flat = node[0], super().decode(node[1], decoder, owner)
        if not all(type(n) is int and n >= 0 for n in sizes) or sum(sizes) != len(flat):
            raise Rejected("has rules of the wrong structure")
        ends = np.cumsum([0, *sizes]).tolist()
        return [flat[start:end] for start, end in zip(ends, ends[1:], strict=False)]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list) or not all(isinstance(stages, list) for stages in value):
            return "a list of lists of rules"
        return super().check([rules for stages in value for rules in stages], sizes)


def _check_problems(model: Any, interface_of: InterfaceOf) -> None:
    n_classes = len(model.classes_)
    n_problems = 1 if n_classes == 2 and not model.multilabel_ else n_classes
    if model.multilabel_:
        check_label_indices(model)
    if {len(model._rule_sets), len(model._stages), len(model.temperatures_)} != {n_problems}:
        raise Rejected(f"has a {type(model).__name__} without one list of rules for each class")


_RULES = {
    **classifier_fields(bytes_per_feature=_BYTES_PER_FEATURE),
    "multilabel_": choice(True, False),
    "_rule_sets": _RuleSets(),
    "_stages": _Stages(),
    "n_iter_": Array("int64", "n_problems", low=0, high=10**6),
    "converged_": Array("bool", "n_problems"),
    "temperatures_": Array("float64", "n_problems", 2, low=1e-100, high=np.inf),
}

SCHEMAS = (
    Schema(cls=AdaUBoostClassifier, fitted=_RULES, check=_check_problems),
    Schema(
        cls=LPUBoostClassifier,
        fitted={
            **_RULES,
            "margin_": Array("float64", "n_problems", allow_nan=True),
            "duality_gap_": Array("float64", "n_problems", allow_nan=True),
        },
        check=_check_problems,
    ),
)
