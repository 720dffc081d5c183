"""Schema of nearest neighbors; other classifiers that keep their training samples share it."""

from typing import Any

import numpy as np

from cordwood._base.csr import check_labelled_csr
from cordwood._schema.base import FileDecoder, FileEncoder
from cordwood._schema.errors import Rejected
from cordwood._schema.fields import Array, choice, classifier_fields
from cordwood._schema.interface import InterfaceOf
from cordwood._schema.schema import Schema
from cordwood.neighbors.index import METRICS
from cordwood.neighbors.k_neighbors import NeighborsClassifier

# Of the index, and of the tables of a lazy forest.
_BYTES_PER_FEATURE = 48
# Of the index and of the copies of the samples that it is built from.
_BYTES_PER_ENTRY = 24


class _SortedIndices(Array):
    """The features of each sample, stored as differences."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        encoder.spend(_BYTES_PER_ENTRY * len(value))
        gaps = np.diff(value, prepend=np.int32(0))
        starts = owner._indptr[:-1][np.diff(owner._indptr) > 0]
        gaps[starts] = value[starts]
        return encoder.add_array(gaps)

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        gaps, indptr = decoder.get_array(node), owner._indptr
        decoder.spend(_BYTES_PER_ENTRY * gaps.size)
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


def check_samples(model: Any, interface_of: InterfaceOf) -> None:
    """Raise unless the training samples that a model keeps are valid."""
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


SAMPLES = {
    **classifier_fields(bytes_per_feature=_BYTES_PER_FEATURE),
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
        fitted={**SAMPLES, "_weights": _WEIGHTS},
        check=check_samples,
        finish=lambda model: model._prepare(),
    ),
)
