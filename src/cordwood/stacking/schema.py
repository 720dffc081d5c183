"""Schemas of the stack and of its final estimators."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes, match_sizes
from cordwood._schema.errors import Rejected, expect_list
from cordwood._schema.fields import (
    MAX_NUMBER,
    Array,
    FeatureNames,
    Labels,
    Plain,
    Size,
    classifier_fields,
    integer,
)
from cordwood._schema.interface import Interface, InterfaceOf, chain_interface, check_classifier
from cordwood._schema.nested import Estimator, NamedEstimators
from cordwood._schema.schema import Schema
from cordwood.oof.schema import SOURCES
from cordwood.stacking.combiners import (
    SCANN,
    DecisionTemplates,
    LogarithmicPool,
    MultiResponseRegression,
    VariationalGaussian,
    Voting,
)
from cordwood.stacking.oob_stacking import OOBStackingClassifier

_DEFAULT_CV = 5
_METHOD_NAMES = {"predict_proba", "decision_function", "predict"}


class _SharedSteps(Field):
    """Lists of steps, each shared by several members."""

    _steps = NamedEstimators(is_chain=True, keywords=("passthrough", None))

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return [self._steps.encode(steps, encoder, owner) for steps in value]

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return [self._steps.decode(steps, decoder, owner) for steps in expect_list(node)]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list) or not value or value[0]:
            return "a list of lists of steps, the first of which is empty"
        problems = [self._steps.check(steps, sizes) for steps in value]
        return next((problem for problem in problems if problem), None)


def encode_after(steps: Sequence[tuple[str, Any]], model: Any, encoder: FileEncoder) -> Any:
    """Convert an estimator that takes the output of shared steps, or the samples without any."""
    outer_norm = encoder.input_norm
    if steps:
        chain = chain_interface([step for _, step in steps], encoder.interface_of)
        encoder.input_norm = chain.norm
    node = encoder.encode(model)
    encoder.input_norm = outer_norm
    return node


class _Members(Field):
    """The members: whole estimators, or the last step after some shared steps."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        nodes = []
        for member, position in zip(value, owner._step_index, strict=True):
            name, last = member.steps[-1] if position else (None, member)
            nodes.append([name, encode_after(owner._shared_steps[position], last, encoder)])
        return nodes

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        index, shared = owner._step_index, owner._shared_steps
        if not isinstance(node, list) or len(node) != len(index):
            raise Rejected("has a stack without one member for each name")
        members = []
        for pair, position in zip(node, index, strict=True):
            if not isinstance(pair, list) or len(pair) != 2 or not 0 <= position < len(shared):
                raise Rejected("has a stack with a member of the wrong structure")
            name, member = pair[0], decoder.decode(pair[1])
            if position:
                if not isinstance(name, str):
                    raise Rejected("has a stack with a member of the wrong structure")
                member = Pipeline([*shared[position], (name, member)])
            members.append(member)
        return members

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list) or not value:
            return "a list of estimators"
        return match_sizes(("n_members",), (len(value),), sizes)


class _Gaussians(Field):
    """A list of arrays, one for each class, whose second dimension may be the features."""

    def __init__(self, *, has_features: bool, low: float) -> None:
        self._has_features = has_features
        self._low = low

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return [encoder.add_array(array) for array in value]

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return [decoder.get_array(number) for number in expect_list(node)]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list):
            return "a list of arrays"
        if problem := match_sizes(("n_classes",), (len(value),), sizes):
            return problem
        features = ("n_features",) if self._has_features else ()
        for code, array in enumerate(value):
            axes = Array("float64", f"n_axes_{code}", *features, low=self._low)
            if problem := axes.check(array, sizes):
                return problem
        return None


def _check_stack(model: Any, interface_of: InterfaceOf) -> None:
    classes, n_classes = model.classes_, len(model.classes_)
    names = model._names
    lengths = {len(names), len(model.estimators_), len(model._step_index), len(model.stack_method_)}
    if len(lengths) > 1 or n_classes < 2:
        raise Rejected("has a stack without one name for each member")
    if not {*names, *model.pruned_} == set(model.oof_source_) == set(model.oof_scores_):
        raise Rejected("has a stack without scores of each member")
    inputs = {_check_member(member, classes, interface_of) for member in model.estimators_}
    merge_kinds([interface_of(member) for member in model.estimators_])
    inputs.discard((None, False))
    if len(inputs) > 1:
        raise Rejected("has a stack whose members take different features")
    n_passed = _count_passed_features(model, inputs)
    final = interface_of(model.final_estimator_)
    if final.is_fitted is None:
        return
    if final.classes is None or final.is_multilabel or final.takes_text or final.takes_counts:
        raise Rejected("has a stack whose final estimator is not a fitted classifier")
    n_meta_features = len(names) * n_classes + n_passed
    if final.n_features != n_meta_features or not np.array_equal(final.classes, classes):
        raise Rejected("has a stack whose final estimator has other features or classes")


def _count_passed_features(model: Any, inputs: set[tuple[int | None, bool]]) -> int:
    """Check the number of features; return how many the final estimator takes of them."""
    n_features = getattr(model, "n_features_in_", None)
    if n_features is not None and inputs - {(n_features, False)}:
        raise Rejected("has a stack whose members take other features than the stack")
    if n_features is None and inputs:  # fitted on texts or on a list
        [(n_features, _)] = inputs
    if not model.passthrough:
        return 0
    if n_features is None:
        raise Rejected("has a stack that passes its features through but has no features")
    return int(n_features)


def _check_member(member: Any, classes: Any, interface_of: InterfaceOf) -> tuple[int | None, bool]:
    """Check the classes of a member and return what it takes."""
    interface = check_classifier(member, interface_of, "stack")
    if interface.classes is not None and not np.isin(interface.classes, classes).all():
        raise Rejected("has a stack with a member that predicts other classes")
    return interface.n_features, interface.takes_text


def _stack_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    members = [interface_of(member) for member in model.estimators_]
    # A stack that was fitted on a list of rows does not know their number of features.
    found = [each.n_features for each in members if each.n_features is not None]
    n_features = getattr(model, "n_features_in_", found[0] if found else None)
    return Interface(
        n_features=n_features,
        takes_text=any(each.takes_text for each in members),
        takes_counts=any(each.takes_counts for each in members),
        classes=model.classes_,
        input_kinds=merge_kinds(members),
    )


def merge_kinds(members: Sequence[Interface]) -> tuple[str | None, ...] | None:
    """Return the kinds of the columns that the members take; raise if they contradict each other.

    Members are whole pipelines.
    """
    if any(member.is_table for member in members):
        raise Rejected("has a stack with a member that converts a table")
    kinds = [member.input_kinds for member in members]
    known = [each for each in kinds if each is not None]
    if not known:
        return None
    if len(known) < len(kinds) or len({len(each) for each in known}) > 1:
        raise Rejected("has a stack whose members take different kinds of columns")
    merged: list[str | None] = []
    for column in zip(*known, strict=True):
        found = {kind for kind in column if kind is not None}
        if len(found) > 1:
            raise Rejected("has a stack whose members take different kinds of columns")
        merged.append(next(iter(found), None))
    return tuple(merged)


class _Distribution(Array):
    """An array of probabilities that sum to one."""

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if problem := super().check(value, sizes):
            return problem
        return None if abs(value.sum() - 1) < 1e-6 else "probabilities that sum to one"


def _check_blocks(model: Any, interface_of: InterfaceOf) -> None:
    if model.n_features_in_ % len(model.classes_):
        raise Rejected(f"has a {type(model).__name__} without a block of features for each member")


def _check_pool(model: Any, interface_of: InterfaceOf) -> None:
    if model.coef_.size != model.n_features_in_:
        raise Rejected("has a LogarithmicPool whose coef_ does not match its features")


def _check_regression(model: Any, interface_of: InterfaceOf) -> None:
    if model.features == "same_class":
        _check_blocks(model, interface_of)


def _is_string_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_string_mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _mapping_of(what: str, accepts: Callable[[Any], bool]) -> Plain:
    return Plain(
        f"a mapping of names to {what}",
        lambda value: _is_string_mapping(value) and all(map(accepts, value.values())),
    )


def _are_scores(value: Any, keys: set[str], low: float, high: float) -> bool:
    """Return whether a value contains the same scores of several members."""
    return _is_string_mapping(value) and all(
        isinstance(scores, dict)
        and set(scores) == keys
        and all(_is_number(each, low, high) for each in scores.values())
        for scores in value.values()
    )


def _is_number(value: Any, low: float, high: float = MAX_NUMBER) -> bool:
    return type(value) is float and low <= value <= high


def _is_index_list(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) is int for each in value)


def _to_storable_cv(cv: Any) -> Any:
    return cv if isinstance(cv, str) or type(cv) is int else _DEFAULT_CV


def _to_storable_names(use_oob: Any) -> Any:
    return use_oob if isinstance(use_oob, bool | str) else list(use_oob)


_COMBINER = {
    **classifier_fields(),
    "class_prior_": _Distribution("float64", "n_classes", low=0, high=1),
}
STRINGS = Plain("a list of strings", _is_string_list)
SOURCE_MAPPING = _mapping_of("sources of predictions", lambda each: each in SOURCES)
_METHODS = Plain(
    "a list of methods", lambda value: _is_string_list(value) and set(value) <= _METHOD_NAMES
)
_COUNTS = _mapping_of("numbers of samples", lambda each: isinstance(each, int | np.integer))
_NUMBERS = _mapping_of("numbers", lambda each: isinstance(each, float))
_TIMES = _mapping_of("seconds", lambda each: _is_number(each, 0))
_SCORES = Plain(
    "a mapping of names to scores", lambda value: _are_scores(value, {"accuracy", "macro_f1"}, 0, 1)
)
_ABLATION = Plain(
    "a mapping of names to changes of scores, or None",
    lambda value: (
        value is None or _are_scores(value, {"accuracy", "log_loss"}, -MAX_NUMBER, MAX_NUMBER)
    ),
)
INDEX_LIST = Plain("a list of integers", _is_index_list)
SHARED_STEPS = _SharedSteps()

SCHEMAS = (
    Schema(
        cls=OOBStackingClassifier,
        fitted={
            "classes_": Labels(),
            "n_features_in_": Size("n_features", optional=True),
            "feature_names_in_": FeatureNames(),
            "_names": STRINGS,
            "stack_method_": _METHODS,
            "pruned_": STRINGS,
            "oof_source_": SOURCE_MAPPING,
            "n_imputed_": _COUNTS,
            "oof_optimism_": _NUMBERS,
            "oof_scores_": _SCORES,
            "oof_disagreement_": Array("float64", "n_members", "n_members", low=0, high=1),
            "_ablation": _ABLATION,
            "fit_times_": _TIMES,
            "_shared_steps": SHARED_STEPS,
            "_step_index": INDEX_LIST,
            "estimators_": _Members(),
            "final_estimator_": Estimator(),
        },
        nested={
            "estimators": NamedEstimators(keywords=("drop",)),
            "final_estimator": Estimator(nullable=True),
        },
        storable={"cv": _to_storable_cv, "use_oob": _to_storable_names},
        check=_check_stack,
        interface=_stack_interface,
    ),
    Schema(
        cls=LogarithmicPool,
        fitted={
            **_COMBINER,
            "coef_": Array("float64", "n_members", "n_classes", low=-1e30, high=1e30),
            "intercept_": Array("float64", "n_classes", low=-1e30, high=1e30),
        },
        check=_check_pool,
    ),
    Schema(
        cls=MultiResponseRegression,
        fitted={**_COMBINER, "coef_": Array("float64", "n_classes", "n_features")},
        check=_check_regression,
    ),
    Schema(
        cls=DecisionTemplates,
        fitted={
            **_COMBINER,
            "templates_": Array("float64", "n_classes", "n_features", low=-0.1, high=1.1),
        },
    ),
    Schema(
        cls=SCANN,
        fitted={
            **_COMBINER,
            "singular_values_": Array("float64", "n_axes", low=0),
            "decisions_": Array("float64", "n_features", "n_axes"),
            "prototypes_": Array("float64", "n_classes", "n_axes"),
        },
        check=_check_blocks,
    ),
    Schema(cls=Voting, fitted=_COMBINER, check=_check_blocks),
    Schema(
        cls=VariationalGaussian,
        fitted={
            **_COMBINER,
            "class_weight_": Array("float64", "n_classes", low=0),
            "means_": Array("float64", "n_classes", "n_features"),
            "axes_": _Gaussians(has_features=True, low=-1.1),
            "variances_": _Gaussians(has_features=False, low=1e-100),
            "residual_variances_": Array("float64", "n_classes", low=1e-100),
            "n_iter_": integer(0, 2**31),
        },
    ),
)
