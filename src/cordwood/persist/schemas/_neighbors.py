"""Schemas of the classifiers that store their training set."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cordwood._base.csr import check_labelled_csr
from cordwood._kernels.random import MAX_SEED
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.neighbors.index import METRICS
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.persist._class_schema import InterfaceOf, Schema
from cordwood.persist._errors import Rejected
from cordwood.persist._fields import Array, FeatureNames, Labels, Size, choice, integer

if TYPE_CHECKING:
    from cordwood.persist._objects import ModelDecoder, ModelEncoder

# Of the index, and of the tables of a lazy forest.
_BYTES_PER_FEATURE = 48
# Of the index and of the copies of the samples that it is built from.
_BYTES_PER_ENTRY = 24

_MAX_TREES = 10_000


class _SortedIndices(Array):
    """The features of each sample, stored as differences."""

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Store the differences."""
        encoder.budget.spend(_BYTES_PER_ENTRY * len(value))
        gaps = np.diff(value, prepend=np.int32(0))
        starts = owner._indptr[:-1][np.diff(owner._indptr) > 0]
        gaps[starts] = value[starts]
        return encoder.arrays.add(gaps)

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Sum the differences of each sample."""
        gaps, indptr = decoder.arrays.get(node), owner._indptr
        decoder.budget.spend(_BYTES_PER_ENTRY * gaps.size)
        lengths = np.diff(indptr)
        is_partition = gaps.ndim == indptr.ndim == 1 and len(indptr) and indptr[0] == 0
        if not is_partition or indptr[-1] != len(gaps) or (lengths < 0).any():
            raise Rejected("has samples whose indptr does not partition their entries")
        if gaps.dtype != np.int32 or (gaps < 0).any():
            raise Rejected("has samples whose features are not sorted")
        sums = np.cumsum(gaps, dtype=np.int64)
        starts = indptr[:-1][lengths > 0]
        sums -= np.repeat(sums[starts] - gaps[starts], lengths[lengths > 0])
        if len(sums) and sums.max() >= 2**31:
            raise Rejected("has samples with features that are out of range")
        return sums.astype(np.int32)


def _check_samples(model: Any, interface_of: InterfaceOf) -> None:
    check_labelled_csr(
        model._indptr,
        model._indices,
        model._data,
        model._codes,
        int(model.n_features_in_),
        len(model.classes_),
    )
    if model.metric_ == "tfidf_cosine" and (model._data < 1).any():
        raise Rejected(f"has a {type(model).__name__} whose samples are not counts")
    model._count_neighbors(model.n_neighbors)


def _check_lazy_params(model: Any, is_trusted: bool) -> None:
    model._validate_params()
    if model.n_estimators > _MAX_TREES and not is_trusted:
        raise Rejected(
            f"has a LazyForestClassifier with n_estimators={model.n_estimators}, more than "
            f"{_MAX_TREES}, which it grows for each sample; if you trust it, pass "
            "trusted=['cordwood.ensemble.lazy_forest.LazyForestClassifier']"
        )


_SAMPLES = {
    "classes_": Labels(),
    "n_features_in_": Size("n_features", bytes_each=_BYTES_PER_FEATURE),
    "feature_names_in_": FeatureNames(),
    "metric_": choice(*METRICS),
    "_indptr": Array("int64", "n_offsets"),
    "_indices": _SortedIndices("int32", "n_entries"),
    "_data": Array("float32", "n_entries"),
    "_codes": Array("uint32", "n_samples"),
}
# Relative to the largest weight.
_WEIGHTS = Array("float64", "n_samples", low=0, high=1, nullable=True)

SCHEMAS = (
    Schema(
        cls=NeighborsClassifier,
        # Relative to the largest weight.
        fitted={
            **_SAMPLES,
            "_weights": Array("float64", "n_samples", low=0, high=1, nullable=True),
        },
        check=_check_samples,
        finish=lambda model: model._prepare(),
    ),
    Schema(
        cls=LazyForestClassifier,
        fitted={**_SAMPLES, "seed_": integer(0, MAX_SEED)},
        check=_check_samples,
        check_params=_check_lazy_params,
        finish=lambda model: model._prepare(),
    ),
)
