"""Binarization of samples, merging of duplicates, and assignment to calibration folds."""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.csr import MAX_DENSE_FEATURES, take_columns, to_csr
from cordwood._base.duplicates import assign_folds
from cordwood.rules.records import BinaryProblem, Float64Array


class UniqueSamples(NamedTuple):
    """Unique binarized samples, in a pseudo-random order that depends on the samples alone."""

    # (n_samples, n_features): ones where a feature is present in a sample, in CSC format.
    present: sp.csc_matrix
    labels: NDArray[np.bool_]  # (n_samples, n_labels): label indicators
    weight: Float64Array  # (n_samples,): sum of the weights of the duplicates
    # (n_samples,): group of each sample; samples that differ in their labels only are in the same
    # group.
    group: NDArray[np.intp]
    # (n_columns,): feature of each column of `present`, if there are too many features for a column
    # each. Features that are present in no sample are all alike, so `columns` contains the first of
    # them only.
    columns: NDArray[np.int32] | None = None

    def take(self, mask: NDArray[np.bool_]) -> "UniqueSamples":
        """Return the samples in a mask."""
        present = sp.csc_matrix(sp.csr_matrix(self.present)[mask])
        return self._replace(
            present=present,
            labels=self.labels[mask],
            weight=self.weight[mask],
            group=self.group[mask],
        )


def binarize(X: Any) -> sp.csr_matrix:
    """Return float64 ones where `X` is positive, with sorted indices."""
    present = sp.csr_matrix(to_csr(X) > 0, dtype=np.float64)
    present.sum_duplicates()
    return present


def merge_duplicates(
    present: sp.csr_matrix, labels: NDArray[np.bool_], weights: Float64Array
) -> UniqueSamples:
    """Merge samples with the same features and labels; drop samples of weight zero.

    The result depends neither on the order of the samples nor on whether duplicates are given as
    weights, so that the fitted model does not depend on them either.
    """
    weighted = np.flatnonzero(weights > 0)
    features = memoryview(present.indices.astype("<i8").tobytes())
    ends = (8 * present.indptr.astype(np.int64)).tolist()
    digests = b"".join(
        blake2b(features[ends[i] : ends[i + 1]], digest_size=16).digest() for i in weighted.tolist()
    )
    # Features before labels: the order within a class must not depend on the names of the labels.
    feature_keys = np.frombuffer(digests, np.uint8).reshape(-1, 16)
    keys = np.hstack([feature_keys, np.packbits(labels[weighted], axis=1)])
    _, first, unique = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    kept = weighted[first]
    weight = np.bincount(unique.reshape(-1), weights[weighted]).astype(np.float64)
    _, group = np.unique(feature_keys[first], axis=0, return_inverse=True)
    unique_samples, columns = _select_columns(present[kept])
    return UniqueSamples(
        sp.csc_matrix(unique_samples), labels[kept], weight, group.reshape(-1), columns
    )


def _select_columns(present: sp.csr_matrix) -> tuple[sp.csr_matrix, NDArray[np.int32] | None]:
    """With too many features, select those that are present, and the first that is not."""
    if present.shape[1] <= MAX_DENSE_FEATURES:
        return present, None
    columns = np.unique(present.indices)
    is_next = columns == np.arange(len(columns))
    first_absent = len(columns) if is_next.all() else int(is_next.argmin())
    if first_absent < present.shape[1]:
        columns = np.union1d(columns, first_absent).astype(np.int32)
    return take_columns(present, columns), columns


def one_vs_rest(samples: UniqueSamples, is_positive: NDArray[np.bool_]) -> BinaryProblem:
    """Return the binary problem of the samples in a mask against all others."""
    by_feature = samples.present.T
    order = np.concatenate([np.flatnonzero(is_positive), np.flatnonzero(~is_positive)])
    n_positive = int(is_positive.sum())
    positive, negative = (
        sp.csr_matrix(by_feature[:, part]) for part in np.split(order, [n_positive])
    )
    return BinaryProblem(positive, negative, samples.weight[order])


def assign_calibration_folds(samples: UniqueSamples, n_folds: int) -> NDArray[np.intp]:
    """Assign samples to folds, stratified by their rarest label."""
    # Samples with the same features are in the same fold, whatever their labels: otherwise a
    # classifier is evaluated on samples that it was trained on. The result does not depend on the
    # order of the labels, and for one label not on which of the two classes is positive.
    has_none = ~samples.labels.any(axis=1, keepdims=True)
    strata = np.hstack([samples.labels, has_none])
    n_groups = int(samples.group.max()) + 1
    members = [np.unique(samples.group[mask]) for mask in strata.T]
    # The order of the labels must not matter, so ties are broken by the samples.
    rarest_first = sorted(members, key=lambda groups: (len(groups), groups.tolist()))
    stratum = np.full(n_groups, len(members))
    for rank, groups in reversed(list(enumerate(rarest_first))):
        stratum[groups] = rank
    all_groups = np.arange(n_groups)
    return assign_folds(stratum, all_groups, n_folds, all_groups)[samples.group]
