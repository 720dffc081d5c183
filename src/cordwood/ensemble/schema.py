"""Schemas of tree ensembles."""

from typing import Any

import numpy as np

from cordwood._kernels.random import MAX_SEED
from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes, match_sizes
from cordwood._schema.errors import Rejected
from cordwood._schema.fields import Array, Plain, classifier_fields, integer, text
from cordwood._schema.interface import InterfaceOf
from cordwood._schema.schema import Schema
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.ensemble.tree_engine.forest import Forest, check_forest, freeze, take_trees
from cordwood.neighbors.schema import SAMPLES, check_samples

# Of each thread, see `apply.RowBlock`.
_BYTES_PER_FEATURE = 20

_NODES_PER_CHECK = 2**18
# Of a node while its tree is checked.
_TEMPORARY_PER_NODE = 64

_MAX_TREES = 10_000


class _Trees(Field):
    """The trees: exact arrays, with the far child relative to its node."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        encoder.spend(0, temporary=_TEMPORARY_PER_NODE * len(value.far_child))
        arrays = value._asdict()
        arrays["far_child"] = _make_relative(value.far_child, value.node_start, -1)
        return {name: encoder.add_array(array) for name, array in arrays.items()}

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict) or set(node) != set(Forest._fields):
            raise Rejected("has a forest of the wrong structure")
        arrays = {name: decoder.get_array(node[name]) for name in Forest._fields}
        start, far_child = arrays["node_start"], arrays["far_child"]
        decoder.spend(0, temporary=_TEMPORARY_PER_NODE * far_child.size)
        is_valid = start.ndim == far_child.ndim == 1 and start.dtype == np.int64 and len(start)
        if not is_valid or far_child.dtype.kind != "i":
            raise Rejected("has a forest of the wrong structure")
        if start[0] != 0 or start[-1] != len(far_child) or (np.diff(start) < 0).any():
            raise Rejected("has a forest of the wrong structure")
        arrays["far_child"] = _make_relative(far_child, start, 1)
        return freeze(Forest(**arrays))

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check that no path leaves the arrays and that leaves have samples."""
        if problem := _check_ends(value):
            return problem
        # In parts, because the check takes several times the memory of the trees that it checks.
        n_trees = value.n_trees
        n_parts = min(n_trees, 1 + len(value.far_child) // _NODES_PER_CHECK)
        for part in range(n_parts):
            first, last = part * n_trees // n_parts, (part + 1) * n_trees // n_parts
            check_forest(take_trees(value, first, last), sizes["n_classes"], sizes["n_features"])
        if len(value.impure_weight):
            totals = np.add.reduceat(value.impure_weight, value.impure_entry_start[:-1])
            if not (totals > 0).all():
                return "a forest without empty leaves"
        return match_sizes(("n_trees", "n_leaves"), (value.n_trees, value.n_leaves), sizes)


def _check_ends(forest: Any) -> str | None:
    """Check what the parts of a forest do not show: that they are the whole forest."""
    if not isinstance(forest, Forest) or not all(
        isinstance(array, np.ndarray) and array.ndim == 1 for array in forest
    ):
        return "a forest"
    lengths = {
        "node_start": len(forest.far_child),
        "leaf_start": np.count_nonzero(forest.far_child < 0),
        "impure_leaf_start": len(forest.impure_entry_start) - 1,
        "impure_entry_start": len(forest.impure_class),
    }
    for name, length in lengths.items():
        start = getattr(forest, name)
        if start.dtype != np.int64 or not len(start) or start[0] != 0 or start[-1] != length:
            return f"a forest whose {name} begins at 0 and ends at {length}"
    starts = (forest.node_start, forest.leaf_start, forest.impure_leaf_start)
    if len({len(start) for start in starts}) > 1 or forest.n_trees < 1:
        return "a forest of at least one tree, with one start for each tree"
    n_stats = forest.n_leaves if len(forest.leaf_size) else 0
    nodes = (forest.feature_and_side, forest.threshold, forest.far_child)
    if {len(array) for array in nodes} != {lengths["node_start"]}:
        return "a forest with as many features and thresholds as nodes"
    if len(forest.leaf_size) != n_stats or len(forest.leaf_weight) != n_stats:
        return "a forest with the statistics of all leaves or of none"
    if len(forest.impure_weight) != len(forest.impure_class):
        return "a forest with one weight for each class of an impure leaf"
    return None


def _make_relative(far_child: Any, node_start: Any, sign: int) -> Any:
    """Add or subtract the position of each node in its tree, except for leaves."""
    start = node_start[:-1].astype(np.int32)
    position = np.arange(len(far_child), dtype=np.int32) - np.repeat(start, np.diff(node_start))
    moved = np.where(far_child >= 0, far_child + sign * position, far_child)
    limits = np.iinfo(far_child.dtype)
    if len(moved) and not limits.min <= moved.min() <= moved.max() <= limits.max:
        raise Rejected("has a forest whose far_child is out of range")
    return moved.astype(far_child.dtype)


def _check_boosted(model: Any, interface_of: InterfaceOf) -> None:
    n_rounds = len(model.estimator_weights_)
    if not n_rounds or model.forest_.n_trees % n_rounds:
        raise Rejected("has a BoostedForestClassifier whose rounds have different numbers of trees")
    columns, n_features = model._columns, model.n_features_in_
    is_whole = columns is None and len(model._importances) == n_features
    if not is_whole and (columns is None or columns.max(initial=0) >= n_features):
        raise Rejected("has a BoostedForestClassifier with importances of other features")


def _check_plausible(model: Any, interface_of: InterfaceOf) -> None:
    n_classes = len(model.classes_)
    if model.plausible_.shape[1] != -(-n_classes // 8):
        raise Rejected("has an AdaBoostM2Classifier whose plausible_ does not match its classes_")
    bits = np.unpackbits(model.plausible_, axis=1, bitorder="little")
    if not bits[:, :n_classes].any(axis=1).all() or bits[:, n_classes:].any():
        raise Rejected("has an AdaBoostM2Classifier with leaves without a plausible class")


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(n) is int for n in value)


def _check_lazy_params(model: Any, is_trusted: bool) -> None:
    model._validate_params()
    if model.n_estimators > _MAX_TREES and not is_trusted:
        raise Rejected(
            f"has a LazyForestClassifier with n_estimators={model.n_estimators}, more than "
            f"{_MAX_TREES}, which it grows for each sample; if you trust it, pass "
            "trusted=['cordwood.ensemble.lazy_forest.LazyForestClassifier']"
        )


_FOREST = {
    **classifier_fields(bytes_per_feature=_BYTES_PER_FEATURE),
    "forest_": _Trees(),
}
_BAGGED = {
    **_FOREST,
    # `warm_start` continues from them.
    "_bootstrap_seeds": Array("int64", "n_trees", low=0, nullable=True),
    "_bootstrap_shape": Plain("a pair of integers", _is_pair),
    "oob_score_": Plain("a float", lambda value: isinstance(value, float), optional=True),
}

SCHEMAS = (
    *(
        Schema(cls=cls, fitted=_BAGGED, storable={"oob_score": bool})
        for cls in (RandomForestClassifier, ExtraTreesClassifier)
    ),
    Schema(
        cls=BoostedForestClassifier,
        fitted={
            **_FOREST,
            "tree_weights_": Array("float64", "n_trees", low=1e-100),
            "estimator_weights_": Array("float64", "n_rounds"),
            "estimator_errors_": Array("float64", "n_rounds", allow_nan=True),
            "staged_oob_score_": Array("float64", "n_rounds", allow_nan=True),
            "stop_reason_": text(),
            "_columns": Array("int32", "n_columns", low=0, nullable=True),
            "_importances": Array("float64", "n_columns", low=0),
        },
        check=_check_boosted,
    ),
    Schema(
        cls=AdaBoostM2Classifier,
        fitted={
            **_FOREST,
            "plausible_": Array("uint8", "n_leaves", "n_bytes"),
            "estimator_weights_": Array("float64", "n_trees", low=1e-100),
            "estimator_errors_": Array("float64", "n_trees"),
            "stop_reason_": text(),
        },
        check=_check_plausible,
    ),
    Schema(
        cls=LazyForestClassifier,
        fitted={**SAMPLES, "seed_": integer(0, MAX_SEED)},
        check=check_samples,
        check_params=_check_lazy_params,
        finish=lambda model: model._prepare(),
    ),
)
